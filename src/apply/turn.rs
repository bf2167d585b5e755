//! Turns: how many changes of a lane read and send at the same time.

use std::cell::Cell;

use tokio::sync::{Semaphore, SemaphorePermit};

/// The right of a change to read, to judge and to send. The next change of its lane waits for it.
pub(super) struct Turn<'a>(Cell<Option<SemaphorePermit<'a>>>);

impl<'a> Turn<'a> {
    /// Waits for a turn: turns are given in the order in which they are asked for.
    pub(super) async fn wait(turns: &'a Semaphore) -> Self {
        let permit = turns.acquire().await;
        Self(Cell::new(Some(permit.expect("because nothing closes the semaphore of a lane"))))
    }

    /// Lets the next change begin while the effect of this one settles.
    pub(super) fn pass(&self) {
        self.0.take();
    }
}

//! Turns: how many changes of a lane read and send at the same time.

use std::cell::Cell;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// The turns of a lane of changes.
pub(super) struct LaneTurns {
    turns: Semaphore,
    /// How many changes have not ended their first turn.
    left: Cell<usize>,
    all_had_one: Notify,
}

impl LaneTurns {
    /// Returns the turns of this many changes.
    pub(super) fn new(turns: usize, changes: usize) -> Self {
        let all_had_one = Notify::new();
        Self { turns: Semaphore::new(turns), left: Cell::new(changes), all_had_one }
    }
}

/// The right of a change to read, to judge and to send. The next change of its lane waits for it.
pub(super) struct Turn<'a> {
    lane: &'a LaneTurns,
    permit: Cell<Option<SemaphorePermit<'a>>>,
    is_first: Cell<bool>,
}

impl<'a> Turn<'a> {
    /// Waits for a turn: turns are given in the order in which they are asked for.
    pub(super) async fn wait(lane: &'a LaneTurns) -> Self {
        let turn = Self { lane, permit: Cell::new(None), is_first: Cell::new(true) };
        turn.wait_again().await;
        turn
    }

    /// Waits for another turn, if this one was passed.
    pub(super) async fn wait_again(&self) {
        if let Some(held) = self.permit.take() {
            self.permit.set(Some(held));
            return;
        }
        let permit = self.lane.turns.acquire().await;
        self.permit.set(Some(permit.expect("because nothing closes the semaphore of a lane")));
    }

    /// Lets the next change begin while the effect of this one settles.
    pub(super) fn pass(&self) {
        self.permit.take();
        if self.is_first.replace(false) {
            self.lane.left.set(self.lane.left.get().saturating_sub(1));
            if self.lane.left.get() == 0 {
                self.lane.all_had_one.notify_waiters();
            }
        }
    }

    /// Waits until every change of the lane has had a turn, but not longer than this: for what is not
    /// to delay them.
    pub(super) async fn all_had_one(&self, longest: Duration) {
        let all_had_one = self.lane.all_had_one.notified();
        if self.lane.left.get() > 0 {
            // Elapsed: it may delay them then.
            let _ = timeout(longest, all_had_one).await;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.pass();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt as _;

    use super::{LaneTurns, Turn};

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn a_turn_that_was_passed_is_waited_for_again() {
        let lane = LaneTurns::new(1, 2);
        let first = Turn::wait(&lane).await;
        first.wait_again().await;
        assert!(Turn::wait(&lane).now_or_never().is_none(), "it was not passed");
        first.pass();
        let second = Turn::wait(&lane).await;
        assert!(first.wait_again().now_or_never().is_none(), "the second has it");
        drop(second);
        first.wait_again().await;
        assert!(Turn::wait(&lane).now_or_never().is_none(), "the first has it again");
    }

    #[tokio::test]
    async fn what_may_wait_waits_for_the_first_turn_of_every_change() {
        let lane = LaneTurns::new(2, 2);
        let first = Turn::wait(&lane).await;
        first.pass();
        first.wait_again().await;
        first.pass();
        assert!(first.all_had_one(LONG).now_or_never().is_none(), "the second had none");
        first.all_had_one(Duration::from_millis(1)).await;
        let second = Turn::wait(&lane).await;
        let waiting = first.all_had_one(LONG);
        let mut waiting = std::pin::pin!(waiting);
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(second);
        waiting.await;
        first.all_had_one(LONG).await;
    }
}

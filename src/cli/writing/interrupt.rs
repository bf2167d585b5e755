//! Signals during writes: the first ends the run after the current step, the second at once.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// What signals and writing commands know of each other. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    writing: AtomicBool,
    asked: AtomicBool,
}

impl Interrupt {
    /// Says that writing begins: from now on a signal asks first.
    pub(super) fn begin(&self) {
        self.0.writing.store(true, Ordering::SeqCst);
    }

    /// Says that writing has ended: there is nothing to finish any more.
    pub(super) fn finish(&self) {
        self.0.writing.store(false, Ordering::SeqCst);
    }

    /// Whether somebody has asked for the end.
    pub(super) fn asked(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst)
    }

    /// Takes a signal; `true` when the current step is to be finished first.
    pub fn signal(&self) -> bool {
        let first = !self.0.asked.swap(true, Ordering::SeqCst);
        first && self.0.writing.load(Ordering::SeqCst)
    }
}

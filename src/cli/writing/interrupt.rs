//! Signals: during writes the first ends the run after the current step, the second at once; what
//! watches is told first.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::Notify;

/// What signals, and commands that do not end at once, know of each other. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    writing: AtomicBool,
    ordered: AtomicBool,
    asked: AtomicBool,
    stopped: AtomicBool,
    signals: Notify,
}

/// How a command ends after a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// At once.
    Now,
    /// By itself, without delay: it waits for signals.
    Ordered,
    /// After the current step.
    AfterStep,
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

    /// Whether somebody has asked for the end, or it has come.
    pub(in crate::cli) fn asked(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst) || self.0.stopped.load(Ordering::SeqCst)
    }

    /// Says that the command ends without a signal: nothing else is to begin. The first signal is still the first.
    pub(in crate::cli) fn stop(&self) {
        self.0.stopped.store(true, Ordering::SeqCst);
    }

    /// Says that the command waits for [signals](Self::ordered) and ends by itself.
    pub(in crate::cli) fn order(&self) {
        self.0.ordered.store(true, Ordering::SeqCst);
    }

    /// Waits for a signal.
    pub(in crate::cli) async fn ordered(&self) {
        self.0.signals.notified().await;
    }

    /// Takes a signal.
    pub fn signal(&self) -> Ending {
        let first = !self.0.asked.swap(true, Ordering::SeqCst);
        self.0.signals.notify_one();
        match first {
            true if self.0.writing.load(Ordering::SeqCst) => Ending::AfterStep,
            true if self.0.ordered.load(Ordering::SeqCst) => Ending::Ordered,
            _ => Ending::Now,
        }
    }
}

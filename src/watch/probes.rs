//! What a kubelet asks: whether the loop turns, and whether the first look is over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a turn of the loop may take before it counts as stuck. It waits for ten seconds at
/// most, and for answers of a silent server for some more.
const STUCK: Duration = Duration::from_secs(180);

/// What a kubelet asks, and what a leader must be: ready and alive.
#[derive(Debug)]
pub(crate) struct Probes {
    turned: Mutex<Instant>,
    ready: AtomicBool,
    stuck: Duration,
}

impl Default for Probes {
    fn default() -> Self {
        Self::stuck_after(STUCK)
    }
}

impl Probes {
    /// Those of a loop that counts as stuck when one turn takes so long.
    pub(super) fn stuck_after(stuck: Duration) -> Self {
        Self { turned: Mutex::new(Instant::now()), ready: AtomicBool::new(false), stuck }
    }

    /// Notes that the loop turns.
    pub(super) fn turned(&self) {
        *self.turned.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Notes that every kind was listed, or is known as a gap: the first look is over.
    pub(super) fn looked(&self) {
        self.ready.store(true, Ordering::Relaxed);
    }

    /// Whether every kind was listed or is known as a gap.
    pub(super) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// Whether the loop turns. What the API server does is no part of it.
    pub(super) fn is_alive(&self) -> bool {
        self.is_alive_at(Instant::now())
    }

    fn is_alive_at(&self, now: Instant) -> bool {
        let turned = *self.turned.lock().unwrap_or_else(PoisonError::into_inner);
        now.saturating_duration_since(turned) < self.stuck
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_turns_no_more_is_dead() {
        let probes = Probes::default();
        let now = Instant::now();
        assert!(probes.is_alive_at(now + STUCK / 2));
        assert!(!probes.is_alive_at(now + STUCK * 2));
        probes.turned();
        assert!(probes.is_alive() && !probes.is_ready());
    }
}

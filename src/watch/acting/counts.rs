//! `ActingCounts`: what came of acting, for metrics. Clones share the numbers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Work;
use crate::journal::Outcome;
use crate::model::Time;

/// What came of acting. Clones share the numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActingCounts(Arc<Mutex<ActingNumbers>>);

/// The numbers of now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ActingNumbers {
    /// Changes since the process has begun, by reconciler and outcome.
    pub(crate) changes: BTreeMap<(&'static str, &'static str), u64>,
    /// Volumes by what is known of their announcement; `None` until that was looked at.
    pub(crate) announcements: Option<AnnouncementCounts>,
    /// When something was changed last.
    pub(crate) last_change: Option<Time>,
    /// Whether nothing may be changed, and whether the breaker is open; `None` where nothing acts.
    pub(crate) paused: Option<bool>,
    pub(crate) breaker_open: Option<bool>,
}

/// Volumes by what is known of their announcement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AnnouncementCounts {
    /// The grace period runs.
    pub(crate) announced: u64,
    /// The grace period is over.
    pub(crate) due: u64,
    /// Somebody objected.
    pub(crate) vetoed: u64,
}

impl ActingCounts {
    /// The numbers of now.
    pub(crate) fn now(&self) -> ActingNumbers {
        self.numbers().clone()
    }

    /// Counts a change.
    pub(crate) fn count(&self, work: Work, outcome: Outcome) {
        let key = (work.reconciler().name(), outcome.name());
        *self.numbers().changes.entry(key).or_default() += 1;
    }

    /// Notes when something was changed.
    pub(crate) fn changed(&self, at: Option<Time>) {
        let mut numbers = self.numbers();
        numbers.last_change = at.max(numbers.last_change);
    }

    /// Notes what is announced.
    pub(crate) fn announced(&self, counts: AnnouncementCounts) {
        self.numbers().announcements = Some(counts);
    }

    /// Notes whether it may act.
    pub(crate) fn pause(&self, paused: bool) {
        self.numbers().paused = Some(paused);
    }

    /// Notes that nothing acts any more.
    pub(crate) fn rest(&self) {
        let mut numbers = self.numbers();
        (numbers.paused, numbers.breaker_open) = (None, None);
    }

    /// Notes that nothing is announced or reclaimed any more.
    pub(crate) fn no_announcements(&self) {
        let mut numbers = self.numbers();
        (numbers.announcements, numbers.breaker_open) = (None, None);
    }

    /// Notes whether the breaker is open.
    pub(crate) fn break_circuit(&self, open: bool) {
        self.numbers().breaker_open = Some(open);
    }

    fn numbers(&self) -> MutexGuard<'_, ActingNumbers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! What is done, and within which bounds.

use std::time::Duration;

use crate::model::Settings;
use crate::watch::acting::{ActingBounds, Work, WorkTerms};

/// How soon other findings are looked at after a look.
pub(super) const PAUSE: Duration = Duration::from_secs(5);
/// How often the same findings are looked at again: ages grow, and what was refused may not be any more.
const AGAIN: Duration = Duration::from_secs(600);

/// What is done, and within which bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct ActingTerms {
    /// The work that is switched on, and whether it acts rather than reports.
    pub(in crate::cli) works: Vec<(Work, bool)>,
    pub(in crate::cli) terms: WorkTerms,
    /// The settings of judgements.
    pub(in crate::cli) judged: Settings,
    pub(in crate::cli) bounds: ActingBounds,
}

impl ActingTerms {
    /// The work that is switched on.
    pub(in crate::cli) fn on(&self) -> Vec<Work> {
        self.works.iter().map(|it| it.0).collect()
    }

    /// Whether anything is changed by it.
    pub(in crate::cli) fn acts(&self) -> bool {
        self.works.iter().any(|it| it.1)
    }

    /// How soon a work is looked at again for the same findings. A short grace period is looked at more often than
    /// a long one.
    pub(super) fn again(&self, work: Work) -> Duration {
        match work {
            Work::Announce => (self.terms.older_than / 6).clamp(PAUSE, AGAIN),
            Work::Reclaim => (self.terms.grace / 6).clamp(PAUSE, AGAIN),
            Work::Rescue | Work::Retention | Work::Finalizers => AGAIN,
        }
    }
}

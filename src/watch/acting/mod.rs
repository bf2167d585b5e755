//! What `watch` and `-w` do in the background, and when: decided here, without a clock or I/O.
//!
//! - [`Work`]: the kinds of it, each with the plan of one command.
//! - `candidates`: proposals that stood unchanged for several judgements.
//! - `bounds`: how many changes there is room for, and the circuit breaker.
//! - `plans`: the plan of each work, and what it counts.
//! - `repeats`: what somebody else undoes again and again.
//! - `wanted`: for which of it there are findings, and when it is looked at again.
//! - `counts`: what came of it, for metrics.

mod bounds;
mod candidates;
mod counts;
mod plans;
mod repeats;
mod wanted;

pub(crate) use bounds::{ActingBounds, Breaker, room};
pub(crate) use candidates::Candidates;
pub(crate) use counts::{ActingCounts, ActingNumbers, AnnouncementCounts};
pub(crate) use plans::{LeftAlone, WorkTerms, breaker, left_alone, take_out_what_was_taken_back};
pub(crate) use repeats::Repeats;
pub(crate) use wanted::{Wanted, WorkSchedule};

use super::policy::acting::ReconcilerName;
use crate::model::RuleId;

/// What a reconciler does, as one command would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Work {
    /// Keeps data that is about to be lost.
    Rescue,
    /// `retention apply`, without flags.
    Retention,
    /// `fix-finalizers`, without flags.
    Finalizers,
    /// `gc --announce`.
    Announce,
    /// `gc --announced`.
    Reclaim,
}

impl Work {
    /// All, in the order in which they are done: what saves data first.
    pub(crate) const ALL: [Self; 5] =
        [Self::Rescue, Self::Retention, Self::Finalizers, Self::Announce, Self::Reclaim];

    /// What is done side by side, one reconciler each: what one of them waits for, no other waits for. Whether anything
    /// is reclaimed depends on what was found when something was to be announced.
    pub(crate) const APART: [&[Self]; 4] = [
        &[Self::Rescue],
        &[Self::Retention],
        &[Self::Finalizers],
        &[Self::Announce, Self::Reclaim],
    ];

    /// The reconciler of a policy that does it.
    pub(crate) const fn reconciler(self) -> ReconcilerName {
        match self {
            Self::Rescue => ReconcilerName::Rescue,
            Self::Retention => ReconcilerName::Retention,
            Self::Finalizers => ReconcilerName::Finalizers,
            Self::Announce | Self::Reclaim => ReconcilerName::Reclaim,
        }
    }

    /// Its name in plans, in the journal and in logs.
    pub(crate) const fn command(self) -> &'static str {
        match self {
            Self::Rescue => "watch-rescue",
            Self::Retention => "watch-retention",
            Self::Finalizers => "watch-finalizers",
            Self::Announce => "watch-announce",
            Self::Reclaim => "watch-reclaim",
        }
    }

    /// The findings that call for it.
    pub(crate) const fn findings(self) -> &'static [RuleId] {
        match self {
            Self::Reclaim => &["pv-reclaim-announced"],
            // Whether the breaker is open is found out here, and nothing is reclaimed before that.
            Self::Announce => &["pv-released-past-threshold", "pv-reclaim-announced"],
            Self::Rescue | Self::Retention | Self::Finalizers => self.reconciler().answers(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_done_is_done_by_one_of_those_apart() {
        assert_eq!(Work::APART.concat(), Work::ALL);
        for works in Work::APART {
            let reconcilers: Vec<_> = works.iter().map(|it| it.reconciler()).collect();
            assert!(reconcilers.iter().all(|it| *it == reconcilers[0]), "{works:?}");
        }
    }
}

//! Bounds of changes: the room that is left for them, the circuit breaker, and changes that another client undoes again
//! and again.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use chrono::TimeDelta;

use super::Work;
use crate::apply::Unattended;
use crate::model::{ObjectRef, Time, format_duration, format_time};

/// Largest number of volumes that is no flood in a cluster of any size.
const FEW: usize = 5;

/// Bounds of changes: how many, and after how many judgements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ActingBounds {
    /// Number of changes above which all are refused; `None` where they wait for their turn.
    pub(crate) most: Option<usize>,
    /// Largest number of changes of one run.
    pub(crate) per_run: usize,
    /// Largest number of changes of one work within an hour, by any process.
    pub(crate) per_hour: usize,
    /// Number of judgements for which a proposal stands unchanged before it is carried out.
    pub(crate) judgements: u32,
    /// Interval between these judgements.
    pub(crate) interval: Duration,
    /// Percentage of all volumes that may become eligible within an hour.
    pub(crate) newly_eligible_percent: u8,
}

impl Default for ActingBounds {
    fn default() -> Self {
        Self {
            most: None,
            per_run: 10,
            per_hour: 20,
            judgements: 3,
            interval: Duration::from_secs(5),
            newly_eligible_percent: 10,
        }
    }
}

/// Returns how many more changes may be made in a run, within its own bound and that of the hour, of which some were
/// made.
pub(crate) fn room(per_run: usize, per_hour: usize, made: usize) -> usize {
    per_hour.saturating_sub(made).min(per_run)
}

/// Circuit breaker: the reason for which nothing is announced or reclaimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Breaker {
    /// A flood of volumes that can be reclaimed: more likely a mistake, such as a deleted namespace or a restored cluster,
    /// than garbage.
    Flood {
        /// Volumes that became eligible within an hour.
        newly: usize,
        /// All volumes.
        all: usize,
        /// Percentage of all volumes that may become eligible.
        percent: u8,
    },
    /// There may be a flood: this number of volumes could not be judged, for this reason.
    Unseen { count: usize, reason: String },
    /// There was no leader for this long. In a cluster that was restored from a backup, vetoes are lost that are
    /// younger than that.
    Unattended(Unattended),
    /// The clock of the API server is this much ahead of the clock of this machine, or behind it if less than zero.
    /// Grace periods, and what an hour is, go by the former.
    Clock(TimeDelta),
}

/// Largest difference of two clocks that can both show the time.
const MOST_SKEW: TimeDelta = TimeDelta::minutes(10);

/// The volumes that a breaker counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Eligible<'a> {
    /// Volumes that became eligible within an hour.
    pub(crate) newly: usize,
    /// Volumes that could not be judged.
    pub(crate) unseen: usize,
    /// The reason for which the first of these could not be judged.
    pub(crate) reason: &'a str,
    /// All volumes.
    pub(crate) all: usize,
}

impl Breaker {
    /// Returns the breaker that opens where more than this share of all volumes became eligible within an hour, or may
    /// have.
    pub(crate) fn of(eligible: Eligible<'_>, percent: u8) -> Option<Self> {
        let Eligible { newly, unseen, reason, all } = eligible;
        let is_flood =
            |it: usize| it > FEW && it.saturating_mul(100) > all.saturating_mul(percent.into());
        if is_flood(newly) {
            return Some(Self::Flood { newly, all, percent });
        }
        let may_be = is_flood(newly.saturating_add(unseen));
        may_be.then(|| Self::Unseen { count: unseen, reason: reason.to_owned() })
    }

    /// Returns the breaker that opens where the API server and this machine do not agree what time it is.
    pub(crate) fn of_clocks(server: Time, here: Time) -> Option<Self> {
        let ahead = server - here;
        (ahead.abs() > MOST_SKEW).then_some(Self::Clock(ahead))
    }
}

impl Breaker {
    /// Returns the advice against what stopped the changes.
    pub(crate) fn help(&self) -> &'static str {
        match self {
            Self::Flood { .. } => "after a look at them, `gc --announce` announces them",
            Self::Unseen { .. } => "`audit` says what is not read",
            Self::Unattended(_) => {
                "if the cluster was restored from a backup, announce and veto again what was since; then `watch resume`"
            }
            Self::Clock(_) => "set the clocks of the control plane and of this machine",
        }
    }
}

impl fmt::Display for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flood { newly, all, percent } => write!(
                f,
                "{newly} of {all} volumes became eligible within an hour, more than {percent} %"
            ),
            Self::Unseen { count, reason } => write!(
                f,
                "{count} volumes that may have become eligible could not be judged: {reason}"
            ),
            Self::Unattended(Unattended { from, until }) => write!(
                f,
                "there was no leader from {} to {}, or this cluster was restored",
                format_time(from),
                format_time(until)
            ),
            Self::Clock(ahead) => {
                let minutes = (ahead.abs() + TimeDelta::seconds(30)).num_minutes().unsigned_abs();
                let by = format_duration(Duration::from_secs(minutes.saturating_mul(60)));
                let how = if *ahead < TimeDelta::zero() { "behind" } else { "ahead of" };
                write!(f, "the clock of the API server is {by} {how} that of this machine")
            }
        }
    }
}

/// Duration for which a change counts.
const WINDOW: Duration = Duration::from_secs(3600);
/// Largest number of changes of an object by one work within [`WINDOW`].
const MOST: usize = 3;

/// Times of recent changes, by work and object.
#[derive(Debug, Default)]
pub(crate) struct Repeats(BTreeMap<(Work, ObjectRef), Vec<Duration>>);

impl Repeats {
    /// Notes that an object was changed, by a clock that is never set.
    pub(crate) fn note(&mut self, work: Work, object: &ObjectRef, at: Duration) {
        self.0.retain(|_, times| {
            times.retain(|then| at.saturating_sub(*then) < WINDOW);
            !times.is_empty()
        });
        self.0.entry((work, object.clone())).or_default().push(at);
    }

    /// Whether an object was changed so often that another client must undo it.
    pub(crate) fn are_enough(&self, work: Work, object: &ObjectRef, at: Duration) -> bool {
        let times = self.0.get(&(work, object.clone())).map_or(&[][..], Vec::as_slice);
        times.iter().filter(|then| at.saturating_sub(**then) < WINDOW).count() >= MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, ObjectKey};

    #[test]
    fn there_is_room_for_a_run_and_for_an_hour() {
        assert_eq!(room(10, 20, 0), 10);
        assert_eq!(room(10, 20, 15), 5);
        assert_eq!(room(10, 20, 20), 0);
        assert_eq!(room(10, 20, 30), 0);
    }

    #[test]
    fn a_share_opens_the_breaker_and_a_few_volumes_never_do() {
        let of = |newly, all, percent| {
            Breaker::of(Eligible { newly, all, ..Eligible::default() }, percent)
        };
        assert_eq!(of(5, 5, 10), None);
        assert!(of(6, 6, 10).is_some());
        assert_eq!(of(6, 60, 10), None);
        assert!(of(7, 60, 10).is_some());
        assert_eq!(of(1000, 1000, 100), None);
        assert!(of(usize::MAX, 10, 100).is_some());
        let told = of(30, 100, 10).map(|it| it.to_string());
        let expected = "30 of 100 volumes became eligible within an hour, more than 10 %";
        assert_eq!(told.as_deref(), Some(expected));
    }

    #[test]
    fn what_was_not_judged_may_be_part_of_a_flood() {
        let of = |newly, unseen| {
            let eligible = Eligible { newly, unseen, reason: "pods were not read", all: 100 };
            Breaker::of(eligible, 10).map(|it| it.to_string())
        };
        assert_eq!(of(10, 0), None);
        assert_eq!(of(4, 6), None);
        let told =
            "7 volumes that may have become eligible could not be judged: pods were not read";
        assert_eq!(of(4, 7).as_deref(), Some(told));
        assert!(of(11, 50).is_some_and(|it| it.starts_with("11 of 100")));
    }

    #[test]
    fn clocks_that_disagree_open_the_breaker() {
        let here = Time::from_timestamp(1_800_000_000, 0).expect("a time");
        let of = |ahead| Breaker::of_clocks(here + ahead, here).map(|it| it.to_string());
        assert_eq!(of(TimeDelta::minutes(10)), None);
        assert_eq!(of(-TimeDelta::minutes(10)), None);
        let told = of(TimeDelta::hours(80));
        let expected = "the clock of the API server is 3d8h ahead of that of this machine";
        assert_eq!(told.as_deref(), Some(expected));
        assert!(of(-TimeDelta::minutes(11)).is_some_and(|it| it.contains("11m behind that of")));
    }

    #[test]
    fn three_times_an_hour_is_enough() {
        let volume = |name| ObjectRef {
            key: ObjectKey::cluster_wide(Kind::PersistentVolume, name),
            uid: None,
        };
        let (fought, other) = (volume("fought"), volume("other"));
        let at = |minutes: u64| Duration::from_secs(minutes * 60);
        let mut repeats = Repeats::default();
        for minutes in [0, 1, 2] {
            assert!(!repeats.are_enough(Work::Rescue, &fought, at(minutes)));
            repeats.note(Work::Rescue, &fought, at(minutes));
        }
        assert!(repeats.are_enough(Work::Rescue, &fought, at(3)));
        assert!(!repeats.are_enough(Work::Rescue, &other, at(3)));
        assert!(!repeats.are_enough(Work::Retention, &fought, at(3)));
        assert!(!repeats.are_enough(Work::Rescue, &fought, at(60)));
        repeats.note(Work::Rescue, &other, at(200));
        assert_eq!(repeats.0.len(), 1);
    }
}

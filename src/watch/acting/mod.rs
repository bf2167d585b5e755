//! Background work of `watch` and `-w`, and when it is done: decided here, without a clock or I/O.
//!
//! - here: [`Work`], the kinds of it, each with the plan of one command; for which of it there are
//!   findings, and when it is looked at again; what came of it, for metrics.
//! - `plans`: the plan of each work, what it counts, and which proposals stood unchanged for several
//!   judgements.
//! - `bounds`: how many changes there is room for, the circuit breaker, and what another client undoes
//!   again and again.

mod bounds;
mod plans;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(crate) use self::bounds::{ActingBounds, Breaker, Repeats, room};
pub(crate) use self::plans::{
    Candidates, LeftAlone, WorkTerms, breaker, left_alone, take_out_what_was_taken_back,
};

use super::policy::acting::ReconcilerName;
use crate::journal::Outcome;
use crate::model::{ObjectRef, RuleId, Time};

/// Kind of work of a reconciler, which does what one command would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Work {
    /// Sets volumes to Retain whose data is about to be lost.
    Rescue,
    /// Does what `retention reconcile` does without flags.
    Retention,
    /// Does what `fix-finalizers` does without flags.
    Finalizers,
    /// Does what `gc --announce` does.
    Announce,
    /// Does what `gc --announced` does.
    Reclaim,
}

impl Work {
    /// All works, in the order in which they are done: what saves data first.
    pub(crate) const ALL: [Self; 5] =
        [Self::Rescue, Self::Retention, Self::Finalizers, Self::Announce, Self::Reclaim];

    /// Groups of work that run side by side, one reconciler each: what one of them waits for, no other waits for. Whether anything
    /// is reclaimed depends on what was found when something was to be announced.
    pub(crate) const APART: [&[Self]; 4] = [
        &[Self::Rescue],
        &[Self::Retention],
        &[Self::Finalizers],
        &[Self::Announce, Self::Reclaim],
    ];

    /// Returns the reconciler of a policy that does the work.
    pub(crate) const fn reconciler(self) -> ReconcilerName {
        match self {
            Self::Rescue => ReconcilerName::Rescue,
            Self::Retention => ReconcilerName::Retention,
            Self::Finalizers => ReconcilerName::Finalizers,
            Self::Announce | Self::Reclaim => ReconcilerName::Reclaim,
        }
    }

    /// Returns the name of the work in plans, in the journal and in logs.
    pub(crate) const fn command(self) -> &'static str {
        match self {
            Self::Rescue => "watch-rescue",
            Self::Retention => "watch-retention",
            Self::Finalizers => "watch-finalizers",
            Self::Announce => "watch-announce",
            Self::Reclaim => "watch-reclaim",
        }
    }

    /// Returns the rules whose findings call for the work.
    pub(crate) const fn findings(self) -> &'static [RuleId] {
        match self {
            Self::Reclaim => &["pv-reclaim-announced"],
            // Whether the breaker is open is found out here, and nothing is reclaimed before that.
            Self::Announce => &["pv-released-past-threshold", "pv-reclaim-announced"],
            Self::Rescue | Self::Retention | Self::Finalizers => self.reconciler().answers(),
        }
    }
}

/// Work for which there are findings. Two that are equal ask for the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted(BTreeMap<Work, u64>);

impl Wanted {
    /// Returns the work that findings call for, as far as it is switched on.
    pub(crate) fn by<'a>(
        on: &[Work],
        findings: impl Iterator<Item = (RuleId, &'a ObjectRef)>,
    ) -> Self {
        let mut wanted = BTreeMap::new();
        for (rule, object) in findings {
            for work in on.iter().filter(|it| it.findings().contains(&rule)) {
                let mut hasher = DefaultHasher::new();
                (rule, object).hash(&mut hasher);
                // In whichever order they come.
                let digest: &mut u64 = wanted.entry(*work).or_default();
                *digest = digest.wrapping_add(hasher.finish());
            }
        }
        Self(wanted)
    }

    /// Reduces the work to these kinds.
    pub(crate) fn only(mut self, works: &[Work]) -> Self {
        self.0.retain(|work, _| works.contains(work));
        self
    }

    /// Whether there are findings for a work.
    pub(crate) fn has(&self, work: Work) -> bool {
        self.0.contains_key(&work)
    }
}

/// Schedule of works: when each was looked at, and when it will be again.
#[derive(Debug, Default)]
pub(crate) struct WorkSchedule(BTreeMap<Work, Served>);

#[derive(Debug)]
struct Served {
    digest: u64,
    /// Time after which the work is looked at again, although the findings are the same.
    again: Duration,
    /// Time before which the work is not looked at again, although the findings are others.
    pause: Duration,
}

impl WorkSchedule {
    /// Returns the next work and its time, by a clock that is never set: that which has waited longest, and what saves
    /// data first.
    pub(crate) fn next(&self, wanted: &Wanted, at: Duration) -> Option<(Work, Duration)> {
        let due = |(work, digest): (&Work, &u64)| match self.0.get(work) {
            None => (*work, Duration::ZERO),
            Some(served) if served.digest == *digest => (*work, served.again),
            Some(served) => (*work, served.pause),
        };
        let first = wanted.0.iter().map(due).min_by_key(|(work, due)| (*due, *work))?;
        Some((first.0, first.1.max(at)))
    }

    /// Notes that a work was looked at for what is wanted, and when that is to be repeated: at the latest, and at the
    /// earliest if other findings come.
    pub(crate) fn served(&mut self, work: Work, wanted: &Wanted, again: Duration, pause: Duration) {
        let digest = wanted.0.get(&work).copied().unwrap_or_default();
        self.0.insert(work, Served { digest, again, pause });
    }

    /// Forgets all times, so that every work is looked at again.
    pub(crate) fn reset(&mut self) {
        self.0.clear();
    }
}

/// Counters of changes and announcements. Clones share the numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActingCounts(Arc<Mutex<ActingNumbers>>);

/// Current numbers of the counters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ActingNumbers {
    /// Changes since the process has begun, by reconciler and outcome.
    pub(crate) changes: BTreeMap<(&'static str, &'static str), u64>,
    /// Numbers of volumes by the status of their announcement; `None` until that was looked at.
    pub(crate) announcements: Option<AnnouncementCounts>,
    /// Time of the last change.
    pub(crate) last_change: Option<Time>,
    /// Whether nothing may be changed; `None` where nothing acts.
    pub(crate) paused: Option<bool>,
    pub(crate) breaker_open: Option<bool>,
}

/// Numbers of volumes by the status of their announcement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AnnouncementCounts {
    /// Volumes whose grace period runs.
    pub(crate) announced: u64,
    /// Volumes whose grace period is over.
    pub(crate) due: u64,
    /// Volumes whose announcement was vetoed.
    pub(crate) vetoed: u64,
}

impl ActingCounts {
    /// Returns the current numbers.
    pub(crate) fn now(&self) -> ActingNumbers {
        self.numbers().clone()
    }

    /// Counts a change.
    pub(crate) fn count(&self, work: Work, outcome: Outcome) {
        let key = (work.reconciler().name(), outcome.name());
        *self.numbers().changes.entry(key).or_default() += 1;
    }

    /// Notes the time of a change.
    pub(crate) fn changed(&self, at: Option<Time>) {
        let mut numbers = self.numbers();
        numbers.last_change = at.max(numbers.last_change);
    }

    /// Notes the numbers of announced volumes.
    pub(crate) fn announced(&self, counts: AnnouncementCounts) {
        self.numbers().announcements = Some(counts);
    }

    /// Notes whether the reconcilers are paused.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, ObjectKey};

    #[test]
    fn all_that_is_done_is_done_by_one_of_those_apart() {
        assert_eq!(Work::APART.concat(), Work::ALL);
        for works in Work::APART {
            let reconcilers: Vec<_> = works.iter().map(|it| it.reconciler()).collect();
            assert!(reconcilers.iter().all(|it| *it == reconcilers[0]), "{works:?}");
        }
    }

    fn volume(name: &str) -> ObjectRef {
        ObjectRef { key: ObjectKey::cluster_wide(Kind::PersistentVolume, name), uid: None }
    }

    fn wanted(findings: &[(RuleId, &str)]) -> Wanted {
        let objects: Vec<_> = findings.iter().map(|(rule, name)| (*rule, volume(name))).collect();
        Wanted::by(&Work::ALL, objects.iter().map(|(rule, object)| (*rule, object)))
    }

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    const IN_USE: RuleId = "pvc-terminating-in-use";
    const RELEASED: RuleId = "pv-released-past-threshold";

    #[test]
    fn findings_call_for_work_in_any_order() {
        assert_eq!(wanted(&[]), Wanted::default());
        assert_eq!(wanted(&[("pv-failed", "a")]), Wanted::default());
        let (a, b) = ((IN_USE, "a"), (RELEASED, "b"));
        assert_eq!(wanted(&[a, b]), wanted(&[b, a]));
        assert_ne!(wanted(&[a]), wanted(&[b]));
        assert_ne!(wanted(&[a]), wanted(&[(IN_USE, "c")]));
        let off = volume("a");
        let none = Wanted::by(&[Work::Reclaim], [(IN_USE, &off)].into_iter());
        assert_eq!(none, Wanted::default());
    }

    #[test]
    fn what_saves_data_comes_first_and_nothing_twice_for_the_same() {
        let mut schedule = WorkSchedule::default();
        let both = wanted(&[(IN_USE, "a"), (RELEASED, "b")]);
        assert_eq!(schedule.next(&Wanted::default(), seconds(9)), None);
        assert_eq!(schedule.next(&both, seconds(9)), Some((Work::Rescue, seconds(9))));
        schedule.served(Work::Rescue, &both, seconds(600), seconds(20));
        assert_eq!(schedule.next(&both, seconds(10)), Some((Work::Announce, seconds(10))));
        schedule.served(Work::Announce, &both, seconds(300), seconds(20));
        assert_eq!(schedule.next(&both, seconds(11)), Some((Work::Announce, seconds(300))));
        // Another finding is looked at soon, and not at once.
        let more = wanted(&[(IN_USE, "a"), (IN_USE, "c"), (RELEASED, "b")]);
        assert_eq!(schedule.next(&more, seconds(11)), Some((Work::Rescue, seconds(20))));
        assert_eq!(schedule.next(&more, seconds(40)), Some((Work::Rescue, seconds(40))));
        // Whoever has waited longest is next, whatever comes again and again.
        assert_eq!(schedule.next(&both, seconds(700)), Some((Work::Announce, seconds(700))));
        // What is over is not looked at.
        let over = wanted(&[(RELEASED, "b")]);
        assert_eq!(schedule.next(&over, seconds(400)), Some((Work::Announce, seconds(400))));
        schedule.reset();
        assert_eq!(schedule.next(&over, seconds(41)), Some((Work::Announce, seconds(41))));
    }
}

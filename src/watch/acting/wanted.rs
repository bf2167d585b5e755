//! `Wanted`: for which work there are findings; `WorkSchedule`: when it is looked at again.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use super::Work;
use crate::model::{ObjectRef, RuleId};

/// For which work there are findings. Two that are equal ask for the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted(BTreeMap<Work, u64>);

impl Wanted {
    /// What findings call for, of the work that is switched on.
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

    /// The same of this work only.
    pub(crate) fn only(mut self, works: &[Work]) -> Self {
        self.0.retain(|work, _| works.contains(work));
        self
    }

    /// Whether there are findings for a work.
    pub(crate) fn has(&self, work: Work) -> bool {
        self.0.contains_key(&work)
    }
}

/// When each work was looked at, and when it will be again.
#[derive(Debug, Default)]
pub(crate) struct WorkSchedule(BTreeMap<Work, Served>);

#[derive(Debug)]
struct Served {
    digest: u64,
    /// It is looked at again then, although the findings are the same.
    again: Duration,
    /// And not before then, although they are others.
    pause: Duration,
}

impl WorkSchedule {
    /// The next work and when, by a clock that is never set: that which has waited longest, and what saves data first.
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

    /// Forgets when: everything is looked at again.
    pub(crate) fn reset(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, ObjectKey};

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

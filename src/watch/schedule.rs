//! When to judge what has changed.
//!
//! Times are durations since the loop began, by a clock that is never set: whoever calls reads it.

use std::time::Duration;

use crate::cluster::Dirty;

/// How soon, and how often, the loop judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// How long nothing may have changed before what changed is judged.
    pub quiet: Duration,
    /// The longest that a change waits, however much goes on changing.
    pub longest: Duration,
    /// The time between two full passes, which must change nothing.
    pub full_pass: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            quiet: Duration::from_secs(2),
            longest: Duration::from_secs(30),
            full_pass: Duration::from_secs(30 * 60),
        }
    }
}

/// The changes that wait to be judged, and the last full pass.
#[derive(Debug)]
pub(super) struct Schedule {
    pace: Pace,
    pending: Option<PendingChanges>,
    last_full_pass: Duration,
}

#[derive(Debug)]
struct PendingChanges {
    first: Duration,
    last: Duration,
    extent: DirtyExtent,
}

/// How much is dirty: whether everything is, and how many subjects.
type DirtyExtent = (bool, usize);

impl Schedule {
    pub(super) fn new(pace: Pace) -> Self {
        Self { pace, pending: None, last_full_pass: Duration::ZERO }
    }

    /// Notes what waits to be judged.
    ///
    /// A change that makes no further subject dirty does not prolong the wait: Leases are renewed
    /// every few seconds, and nothing would ever be quiet.
    pub(super) fn note(&mut self, dirty: &Dirty, at: Duration) {
        if dirty.is_empty() {
            return;
        }
        let extent = (dirty.everything || dirty.all_drivers, dirty.subjects.len());
        match &mut self.pending {
            None => self.pending = Some(PendingChanges { first: at, last: at, extent }),
            Some(pending) if pending.extent != extent => {
                pending.last = at;
                pending.extent = extent;
            }
            Some(_) => {}
        }
    }

    /// When what waits is to be judged; `None` if nothing waits.
    pub(super) fn due(&self) -> Option<Duration> {
        let PendingChanges { first, last, .. } = self.pending.as_ref()?;
        Some((*last + self.pace.quiet).min(*first + self.pace.longest))
    }

    /// Notes that everything that waited was judged.
    pub(super) fn judged(&mut self) {
        self.pending = None;
    }

    /// When the next full pass is due.
    pub(super) fn full_pass_due(&self) -> Duration {
        self.last_full_pass + self.pace.full_pass
    }

    /// Notes a full pass.
    pub(super) fn passed(&mut self, at: Duration) {
        self.last_full_pass = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Subject;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn drivers(count: u32) -> Dirty {
        let subjects = (0..count).map(|it| Subject::Driver(it.to_string().into())).collect();
        Dirty { subjects, ..Dirty::default() }
    }

    #[test]
    fn what_changed_waits_until_it_is_quiet() {
        let mut schedule = Schedule::new(Pace::default());
        schedule.note(&Dirty::default(), at(0));
        assert_eq!(schedule.due(), None);
        schedule.note(&drivers(1), at(1));
        schedule.note(&drivers(2), at(2));
        assert_eq!(schedule.due(), Some(at(4)));
        schedule.judged();
        assert_eq!(schedule.due(), None);
    }

    #[test]
    fn nothing_waits_longer_than_the_longest() {
        let mut schedule = Schedule::new(Pace::default());
        for second in 0..100 {
            schedule.note(&drivers(second + 1), at(second.into()));
        }
        assert_eq!(schedule.due(), Some(at(30)));
    }

    #[test]
    fn a_renewed_lease_prolongs_no_wait() {
        let mut schedule = Schedule::new(Pace::default());
        let renewed = Dirty { drivers: ["a".into()].into(), ..drivers(1) };
        for second in 0..10 {
            schedule.note(&renewed, at(second));
        }
        assert_eq!(schedule.due(), Some(at(2)));
    }

    #[test]
    fn full_passes_follow_each_other() {
        let mut schedule = Schedule::new(Pace::default());
        assert_eq!(schedule.full_pass_due(), at(1800));
        schedule.passed(at(2000));
        assert_eq!(schedule.full_pass_due(), at(3800));
    }
}

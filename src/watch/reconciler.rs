//! `Reconciler`, which keeps findings in step with a cluster that changes, and decides when to judge what has changed.
//!
//! It has no clock and waits for nothing: it is told what has changed and how late it is, by a clock
//! that is never set and by that of the API server.
//!
//! Times are durations since the loop began, by a clock that is never set: the caller reads it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::judging;
use super::known_findings::{GapNews, KnownFindings, KnownGaps};
use crate::cluster::{Cluster, Coverage, Dirty, Subject};
use crate::model::{FindingEvent, Question, Settings, Time};
use crate::rules::Assessor;

/// Changes since the last report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// Findings that have appeared, changed or cleared, worst first.
    pub findings: Vec<FindingEvent>,
    /// Gaps of what is not read any more, and of what is read again.
    pub gaps: GapNews,
}

impl News {
    /// Whether there is no news.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty() && self.gaps.is_empty()
    }
}

/// State of findings, which is kept in step with a cluster that changes.
#[derive(Debug)]
pub struct Reconciler {
    settings: Settings,
    assessor: Assessor,
    findings: KnownFindings,
    gaps: KnownGaps,
    schedule: Schedule,
    /// The subjects that were judged since the last report.
    judged: BTreeSet<Subject>,
    /// Number of judgements of subjects that were reported.
    count_judged: u64,
    full_passes: u64,
    /// Time at which the next exemption ends, by the server's clock.
    exemption_end: Option<Time>,
}

/// The shortest wait for a time of the server's clock, which has whole seconds.
const SHORTEST_WAIT: Duration = Duration::from_millis(250);
/// The longest wait: the server's clock may be set.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

impl Reconciler {
    /// Returns a reconciler that goes on with what was judged so far. Nothing of it counts as reported.
    pub fn new(settings: Settings, assessor: Assessor, cluster: &Cluster, pace: Pace) -> Self {
        let judged = crate::rules::subjects(cluster);
        let exemption_end = cluster.clock().and_then(|now| settings.scope.next_end(now));
        Self {
            settings,
            assessor,
            findings: KnownFindings::default(),
            gaps: KnownGaps::default(),
            schedule: Schedule::new(pace),
            judged,
            count_judged: 0,
            full_passes: 0,
            exemption_end,
        }
    }

    /// Replaces the settings. Everything has to be judged anew, which is left to the caller: it makes the cluster
    /// dirty.
    pub fn adopt(&mut self, settings: Settings) {
        self.settings = settings;
        self.exemption_end = None;
    }

    /// Returns the settings of the user.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the assessor with all judgements.
    pub fn assessor(&self) -> &Assessor {
        &self.assessor
    }

    /// Returns the number of findings that were reported and have not cleared.
    pub fn count(&self) -> usize {
        self.findings.count()
    }

    /// Whether all findings that stand can be judged now: nothing is a gap, and nothing is being listed again.
    pub fn sees_all(&self, cluster: &Cluster) -> bool {
        let is_listing = |it: &Coverage| matches!(it, Coverage::Listing { .. });
        self.gaps.is_empty()
            && !cluster.coverages().any(|(_, it)| is_listing(it))
            && self.assessor.unread(cluster).is_empty()
    }

    /// Returns the number of judgements of subjects that were reported. As long as it stays the same, so do the totals.
    pub fn judgements(&self) -> u64 {
        self.count_judged
    }

    /// Returns the number of times that everything was judged from scratch.
    pub fn full_passes(&self) -> u64 {
        self.full_passes
    }

    /// Notes changes that are to be judged.
    pub fn note(&mut self, dirty: &Dirty, at: Duration) {
        self.schedule.note(dirty, at);
    }

    /// Returns how long nothing needs to be judged unless something changes. `clock` is that of the server.
    pub fn wait(&self, at: Duration, clock: Option<Time>) -> Duration {
        let pending = self.schedule.due().map(|due| due.saturating_sub(at));
        let full_pass = self.schedule.full_pass_due().saturating_sub(at);
        let wake = self.wake().zip(clock).map(|(wake, clock)| {
            let left = (wake - clock).to_std().unwrap_or_default();
            left.max(SHORTEST_WAIT)
        });
        pending.into_iter().chain(wake).fold(full_pass.min(LONGEST_WAIT), Duration::min)
    }

    /// Whether something has to be judged now: changes have waited long enough, or the time has come
    /// at which a judgement may differ. `clock` is that of the cluster.
    pub fn is_due(&self, at: Duration, clock: Option<Time>) -> bool {
        let wake = self.wake().zip(clock).is_some_and(|(wake, clock)| wake <= clock);
        wake || self.schedule.due().is_some_and(|due| due <= at)
    }

    /// Returns when a report may differ without any change.
    fn wake(&self) -> Option<Time> {
        self.assessor.wake().into_iter().chain(self.exemption_end).min()
    }

    /// Judges what a change touched, and what has become due.
    pub fn judge(&mut self, cluster: &Cluster, dirty: Dirty) {
        if dirty.everything {
            self.judged.extend(self.findings.subjects().cloned());
        } else {
            // A driver that nothing references any more is dirty, and is not judged.
            self.judged.extend(self.findings.drivers().cloned());
        }
        let judged = judging::update(&mut self.assessor, cluster, &self.settings, dirty);
        self.judged.extend(judged);
        let now = cluster.clock();
        if self.exemption_end.zip(now).is_some_and(|(end, now)| end <= now) {
            // Nothing is judged otherwise, but what was exempted is reported.
            self.judged.extend(crate::rules::subjects(cluster));
        }
        self.exemption_end = now.and_then(|now| self.settings.scope.next_end(now));
        self.schedule.judged();
    }

    /// Returns the questions that have no answer yet.
    pub fn questions(&self) -> &BTreeSet<Question> {
        self.assessor.questions()
    }

    /// Whether everything that was noted is judged, and every question has an answer.
    pub fn is_settled(&self) -> bool {
        self.schedule.due().is_none() && self.questions().is_empty()
    }

    /// Returns the news since the last report.
    pub fn report(&mut self, cluster: &Cluster) -> News {
        let judged = std::mem::take(&mut self.judged);
        self.count_judged += judged.len() as u64;
        let findings = self.findings.compare(&self.assessor, cluster, &self.settings, &judged);
        let gaps = self.gaps.compare(&self.assessor.unread(cluster), cluster);
        News { findings, gaps }
    }

    /// Whether it is time for a full pass.
    pub fn is_full_pass_due(&self, at: Duration) -> bool {
        self.schedule.full_pass_due() <= at
    }

    /// Judges everything from scratch, and returns what that changes. Nothing waits to be judged
    /// when this is called, so that whatever is returned is a defect of this program.
    pub fn full_pass(&mut self, cluster: &Cluster, at: Duration) -> Vec<FindingEvent> {
        let mut subjects: BTreeSet<_> = self.findings.subjects().cloned().collect();
        self.assessor = Assessor::default();
        let everything = Dirty::everything();
        subjects.extend(judging::update(&mut self.assessor, cluster, &self.settings, everything));
        self.schedule.passed(at);
        self.full_passes += 1;
        self.count_judged += subjects.len() as u64;
        self.findings.compare(&self.assessor, cluster, &self.settings, &subjects)
    }
}

/// Pace of the loop: how soon, and how often, it judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Time without a change before what changed is judged.
    pub quiet: Duration,
    /// Longest time that a change waits, however much goes on changing.
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

/// Extent of what is dirty: whether everything is, and the number of subjects.
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

    /// Returns when the waiting changes are to be judged; `None` if nothing waits.
    pub(super) fn due(&self) -> Option<Duration> {
        let PendingChanges { first, last, .. } = self.pending.as_ref()?;
        Some((*last + self.pace.quiet).min(*first + self.pace.longest))
    }

    /// Notes that everything that waited was judged.
    pub(super) fn judged(&mut self) {
        self.pending = None;
    }

    /// Returns when the next full pass is due.
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

//! `Reconciler`: keeps findings in step with a cluster that changes.
//!
//! It has no clock and waits for nothing: it is told what has changed and how late it is, by a clock
//! that is never set and by that of the API server.

use std::collections::BTreeSet;
use std::time::Duration;

use super::judging;
use super::known_findings::KnownFindings;
use super::known_gaps::{GapNews, KnownGaps};
use super::schedule::{Pace, Schedule};
use crate::cluster::{Cluster, Dirty, Subject};
use crate::model::{FindingEvent, Question, Settings, Time};
use crate::rules::Assessor;

/// What is new since the last report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// Findings that have appeared, changed or cleared, worst first.
    pub findings: Vec<FindingEvent>,
    /// What is not read any more, and what is read again.
    pub gaps: GapNews,
}

impl News {
    /// Whether nothing is new.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty() && self.gaps.is_empty()
    }
}

/// Keeps findings in step with a cluster that changes.
#[derive(Debug)]
pub struct Reconciler {
    settings: Settings,
    assessor: Assessor,
    findings: KnownFindings,
    gaps: KnownGaps,
    schedule: Schedule,
    /// The subjects that were judged since the last report.
    judged: BTreeSet<Subject>,
    /// How many judgements of subjects were reported.
    count_judged: u64,
    full_passes: u64,
    /// When the next exemption ends, by the server's clock.
    exemption_end: Option<Time>,
}

/// The shortest wait for a time of the server's clock, which has whole seconds.
const SHORTEST_WAIT: Duration = Duration::from_millis(250);
/// The longest wait: the server's clock may be set.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

impl Reconciler {
    /// Goes on with what was judged so far. Nothing of it counts as reported.
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

    /// Goes on with other settings. Everything has to be judged anew, which is left to the caller:
    /// it makes the cluster dirty.
    pub fn adopt(&mut self, settings: Settings) {
        self.settings = settings;
        self.exemption_end = None;
    }

    /// What the user asked for.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What was judged.
    pub fn assessor(&self) -> &Assessor {
        &self.assessor
    }

    /// Whether something was not read, as far as that was reported.
    pub fn has_gaps(&self) -> bool {
        self.gaps.any()
    }

    /// How many findings were reported and have not cleared.
    pub fn count(&self) -> usize {
        self.findings.count()
    }

    /// How many judgements of subjects were reported. As long as it stays the same, so do the
    /// totals.
    pub fn judgements(&self) -> u64 {
        self.count_judged
    }

    /// How often everything was judged from scratch.
    pub fn full_passes(&self) -> u64 {
        self.full_passes
    }

    /// Notes that changes were taken in.
    pub fn note(&mut self, dirty: &Dirty, at: Duration) {
        self.schedule.note(dirty, at);
    }

    /// How long nothing needs to be judged unless something changes. `clock` is that of the server.
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

    /// When a report may differ without any change.
    fn wake(&self) -> Option<Time> {
        self.assessor.wake().into_iter().chain(self.exemption_end).min()
    }

    /// Judges what a change touched, and what the time has come for.
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

    /// The questions that have no answer yet.
    pub fn questions(&self) -> &BTreeSet<Question> {
        self.assessor.questions()
    }

    /// Whether everything that was noted is judged, and every question has an answer.
    pub fn is_settled(&self) -> bool {
        self.schedule.due().is_none() && self.questions().is_empty()
    }

    /// Returns what is new since the last report.
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

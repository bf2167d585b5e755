//! `KnownFindings`: which findings were reported, and what has become of them.
//!
//! Findings are not kept: of each a fingerprint tells whether it has changed.

use std::collections::{BTreeMap, BTreeSet, hash_map::DefaultHasher};
use std::fmt::{self, Debug, Write as _};
use std::hash::Hasher as _;

use crate::cluster::{Cluster, Subject};
use crate::model::{
    ClearedFinding, Finding, FindingEvent, ObjectRef, RuleId, Settings, Severity, Text,
    VerdictState,
};
use crate::rules::{self, Assessor};

/// What was reported last, by subject and rule.
#[derive(Debug, Default)]
pub(super) struct KnownFindings(BTreeMap<Subject, BTreeMap<RuleId, ReportedFinding>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct ReportedFinding {
    severity: Severity,
    object: ObjectRef,
    facts: u64,
    verdict: u64,
}

impl ReportedFinding {
    fn of(finding: &Finding) -> Self {
        let age = finding.age.map(|age| (age.since, age.trust));
        Self {
            severity: finding.severity,
            object: finding.object.clone(),
            facts: fingerprint(&(&finding.severity, &finding.summary, &age, &finding.volume)),
            verdict: fingerprint(&(&finding.verdict, &finding.offer)),
        }
    }

    fn cleared(self, rule: RuleId, left_out: bool) -> FindingEvent {
        let Self { severity, object, .. } = self;
        FindingEvent::Cleared(ClearedFinding { rule, severity, object, left_out })
    }
}

impl KnownFindings {
    /// The subjects with findings that were reported.
    pub(super) fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.0.keys()
    }

    /// The drivers among them.
    pub(super) fn drivers(&self) -> impl Iterator<Item = &Subject> {
        // They are sorted by what they are.
        let from = self.0.range(Subject::Driver(Text::default())..).map(|it| it.0);
        from.take_while(|it| matches!(it, Subject::Driver(_)))
    }

    /// How many findings were reported.
    pub(super) fn count(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    /// Compares what was reported of some subjects with how they are judged now: worst first, what
    /// has cleared before what has appeared in its place.
    ///
    /// What cannot be judged now is no news: a finding stands until it is known not to be there any
    /// more, and a verdict until it is known to be another one. That something is not read is told
    /// as a gap.
    pub(super) fn compare(
        &mut self,
        assessor: &Assessor,
        cluster: &Cluster,
        settings: &Settings,
        subjects: &BTreeSet<Subject>,
    ) -> Vec<FindingEvent> {
        let mut events = Vec::new();
        for subject in subjects {
            let mut before = self.0.remove(subject).unwrap_or_default();
            let mut now = BTreeMap::new();
            for finding in assessor.reported(cluster, settings, subject) {
                let rule = finding.rule;
                let mut reported = ReportedFinding::of(&finding);
                match before.remove(rule) {
                    Some(known) if known.object == reported.object => {
                        let undecided = finding.verdict.state == VerdictState::Unseen;
                        if undecided {
                            reported.verdict = known.verdict;
                        }
                        if reported != known {
                            events.push(FindingEvent::Changed(Box::new(finding)));
                        }
                    }
                    other => {
                        events.extend(other.map(|other| other.cleared(rule, false)));
                        events.push(FindingEvent::Appeared(Box::new(finding)));
                    }
                }
                now.insert(rule, reported);
            }
            for (rule, known) in before {
                match fate(assessor, cluster, settings, subject, rule, &known.object) {
                    Fate::Stands => drop(now.insert(rule, known)),
                    Fate::LeftOut => events.push(known.cleared(rule, true)),
                    Fate::Gone => events.push(known.cleared(rule, false)),
                }
            }
            if !now.is_empty() {
                self.0.insert(subject.clone(), now);
            }
        }
        events.sort_by(|a, b| a.rank().cmp(&b.rank()));
        events
    }
}

/// What has become of a finding that is not reported now.
enum Fate {
    /// Nothing shows that it is not there any more: the rule cannot judge its object.
    Stands,
    /// It may still be there, and is left out of the report.
    LeftOut,
    /// It is not there any more.
    Gone,
}

fn fate(
    assessor: &Assessor,
    cluster: &Cluster,
    settings: &Settings,
    subject: &Subject,
    rule: RuleId,
    object: &ObjectRef,
) -> Fate {
    if rules::object(cluster, subject).as_ref() != Some(object) {
        return Fate::Gone;
    }
    let Some(rule) = rules::find(rule) else { return Fate::Gone };
    let judged = assessor.judge(cluster, settings, subject, rule);
    let is_undecided = judged.finding.is_none() && judged.unseen.is_some();
    match rules::is_left_out(cluster, settings, subject, rule.id) {
        true if is_undecided || judged.finding.is_some() => Fate::LeftOut,
        false if is_undecided => Fate::Stands,
        _ => Fate::Gone,
    }
}

/// A number that differs where texts differ, for as long as this program runs.
fn fingerprint(parts: &dyn Debug) -> u64 {
    struct Hashing(DefaultHasher);
    impl fmt::Write for Hashing {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut hashing = Hashing(DefaultHasher::new());
    write!(hashing, "{parts:?}").expect("because hashing does not fail");
    hashing.0.finish()
}

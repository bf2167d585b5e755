//! Findings that were reported, with their changes since then, and gaps that were reported.
//!
//! Findings are not kept: of each a fingerprint tells whether it has changed.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::{Debug, Write as _};
use std::hash::Hasher as _;

use crate::cluster::{Cluster, Gap, Subject};
use crate::model::{
    ClearedFinding, Finding, FindingEvent, ObjectRef, RuleId, Settings, Severity, Text,
    VerdictState,
};
use crate::rules;
use crate::rules::{Assessor, UnreadGap};

/// Findings that were reported last, by subject and rule.
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
    /// Returns the subjects with findings that were reported.
    pub(super) fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.0.keys()
    }

    /// Returns the drivers with findings that were reported.
    pub(super) fn drivers(&self) -> impl Iterator<Item = &Subject> {
        // They are sorted by what they are.
        let from = self.0.range(Subject::Driver(Text::default())..).map(|it| it.0);
        from.take_while(|it| matches!(it, Subject::Driver(_)))
    }

    /// Returns the number of findings that were reported.
    pub(super) fn count(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    /// Compares the reported findings of some subjects with how they are judged now: worst first, what has cleared
    /// before what has appeared in its place.
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

/// Fate of a finding that is not reported now.
enum Fate {
    /// The finding may still hold: the rule cannot judge its object.
    Stands,
    /// The finding may still hold, and is left out of the report.
    LeftOut,
    /// The finding has cleared.
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

/// Returns a number that differs where texts differ, for as long as this program runs.
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

/// Gaps that were reported to the user.
#[derive(Debug, Default)]
pub(super) struct KnownGaps(BTreeSet<Gap>);

/// Gaps that have appeared, and gaps that are none any more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GapNews {
    /// Gaps of what is not read any more, or for another reason than before.
    pub lost: Vec<Gap>,
    /// Gaps of what is read again.
    pub read_again: Vec<Gap>,
}

impl GapNews {
    /// Whether there is no news.
    pub fn is_empty(&self) -> bool {
        self.lost.is_empty() && self.read_again.is_empty()
    }
}

impl KnownGaps {
    /// Whether no gap was reported.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Compares the reported gaps with what is not read now.
    ///
    /// A kind that is just being listed again is read again only when that has succeeded.
    pub(super) fn compare(&mut self, unread: &[UnreadGap], cluster: &Cluster) -> GapNews {
        let now: BTreeSet<Gap> = unread.iter().map(|it| it.gap.clone()).collect();
        let mut news =
            GapNews { lost: now.difference(&self.0).cloned().collect(), read_again: Vec::new() };
        let known = std::mem::replace(&mut self.0, now);
        for gap in known {
            if self.0.contains(&gap) {
                continue;
            }
            let another_reason = |it: &Gap| it.kind == gap.kind && it.namespace == gap.namespace;
            let is_listed =
                !gap.kind.is_listed() || cluster.reach(gap.kind, gap.namespace.as_ref()).is_ok();
            if self.0.iter().any(another_reason) {
                // It was told with the new reason.
            } else if is_of_no_namespace(&gap, cluster) {
                // All namespaces are a gap, which is told, and this one is not among those that
                // were listed by themselves: it does not exist any more.
            } else if is_listed {
                news.read_again.push(gap);
            } else {
                self.0.insert(gap);
            }
        }
        // What failed, was tried and failed again for the same reason is not told twice.
        news.lost.retain(|gap| self.0.contains(gap));
        news
    }
}

/// Whether a gap is of one namespace of which nothing is reported by itself any more.
fn is_of_no_namespace(gap: &Gap, cluster: &Cluster) -> bool {
    let mut coverages = cluster.coverages().filter(|(reach, _)| reach.kind == gap.kind);
    gap.namespace.is_some()
        && cluster.gaps().any(|it| it.kind == gap.kind && it.namespace.is_none())
        && !coverages.any(|(reach, _)| reach.namespace == gap.namespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Change, Dirty, Reach};
    use crate::model::Kind;

    fn gap(reason: &str) -> Gap {
        Gap { kind: Kind::Pod, namespace: None, reason: reason.to_owned() }
    }

    #[test]
    fn a_namespace_that_does_not_exist_any_more_leaves_no_gap() {
        let (mut cluster, mut dirty) = (Cluster::default(), Dirty::default());
        let mut known = KnownGaps::default();
        let mut after = |changes: &[Change]| {
            for change in changes {
                cluster.apply(change.clone(), &mut dirty);
            }
            let news = known.compare(&unread(&cluster), &cluster);
            (news.lost.len(), news.read_again.len(), known.0.len())
        };
        let of = |name: &str| Gap { namespace: Some(name.into()), ..gap("forbidden") };
        let begin =
            |name: &str| Change::Begin(Reach { kind: Kind::Pod, namespace: Some(name.into()) });
        let lost = Change::Lost;
        let told = after(&[lost(gap("forbidden")), lost(of("a")), lost(of("b"))]);
        assert_eq!(told, (3, 0, 3));
        // All of it is tried again, and nothing is told twice.
        assert_eq!(after(&[Change::Begin(Reach::all(Kind::Pod))]), (0, 0, 3));
        let tried = [lost(gap("forbidden")), begin("a"), begin("b"), lost(of("a"))];
        assert_eq!(after(&tried), (0, 0, 3));
        assert_eq!(after(&[lost(of("b"))]), (0, 0, 3));
        // Without "b".
        let tried = [Change::Begin(Reach::all(Kind::Pod)), lost(gap("forbidden")), begin("a")];
        assert_eq!(after(&tried), (0, 0, 2));
        assert_eq!(after(&[lost(of("a"))]), (0, 0, 2));
        // And without the kind.
        assert_eq!(after(&[Change::NotServed(Kind::Pod)]), (0, 2, 0));
    }

    fn unread(cluster: &Cluster) -> Vec<UnreadGap> {
        cluster.gaps().map(|gap| UnreadGap { gap: gap.clone(), rules: Vec::new() }).collect()
    }

    #[test]
    fn a_gap_is_told_once_until_it_is_read_again() {
        let (mut cluster, mut dirty) = (Cluster::default(), Dirty::default());
        let mut known = KnownGaps::default();
        let mut after = |changes: &[Change]| {
            for change in changes {
                cluster.apply(change.clone(), &mut dirty);
            }
            known.compare(&unread(&cluster), &cluster)
        };
        let all = Reach::all(Kind::Pod);
        let lost = |reason: &str| GapNews { lost: vec![gap(reason)], ..GapNews::default() };
        assert_eq!(after(&[Change::Lost(gap("refused"))]), lost("refused"));
        assert_eq!(after(&[Change::Begin(all.clone())]), GapNews::default());
        assert_eq!(after(&[Change::Lost(gap("refused"))]), GapNews::default());
        assert_eq!(after(&[Change::Lost(gap("forbidden"))]), lost("forbidden"));
        assert_eq!(
            after(&[Change::Begin(all.clone()), Change::Complete(all)]),
            GapNews { read_again: vec![gap("forbidden")], ..GapNews::default() }
        );
        assert!(known.0.is_empty());
    }
}

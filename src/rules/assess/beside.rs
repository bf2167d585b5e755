//! The findings about one subject, and about the subjects beside it.

use std::collections::BTreeSet;

use super::{Assessor, about, exempt, in_scope, judge_with, worst_first};
use crate::cluster::{Cluster, Cx, Subject, Unseen};
use crate::model::{CausedBy, Finding, RuleId, Settings};

/// The findings about one subject, and the rules that could not judge it.
#[derive(Debug, Default)]
pub struct SubjectFindings {
    /// The findings, whatever the scope: those that no other explains first, then worst first.
    pub findings: Vec<Finding>,
    /// The rules that could not judge the subject, with the reasons.
    pub unseen: Vec<(RuleId, Unseen)>,
}

impl Assessor {
    /// Judges one subject by all rules, whatever the scope: causes first.
    pub fn findings_of(
        &self,
        cluster: &Cluster,
        settings: &Settings,
        subject: &Subject,
    ) -> SubjectFindings {
        let cx = Cx::new(cluster, settings, &self.facts);
        let mut found = SubjectFindings::default();
        let mut rules: Vec<_> = about(subject).iter().map(|(rule, _)| *rule).collect();
        // A rule may judge one kind in two ways.
        rules.dedup_by_key(|rule| rule.id);
        for rule in rules {
            let judged = judge_with(&cx, subject, rule);
            found.findings.extend(judged.finding);
            found.unseen.extend(judged.unseen.map(|unseen| (rule.id, unseen)));
        }
        for finding in &mut found.findings {
            finding.caused_by = self.caused_by(&cx, subject, finding.rule);
        }
        found.findings.sort_by_key(|finding| finding.severity);
        causes_first(&mut found.findings);
        found
    }

    /// The findings of some rules about one subject that are not exempted; only rules that found something are judged
    /// again.
    pub fn findings_by(
        &self,
        cluster: &Cluster,
        settings: &Settings,
        subject: &Subject,
        wanted: fn(RuleId) -> bool,
    ) -> SubjectFindings {
        let mut found = SubjectFindings::default();
        let Some(notes) = self.cases.get(subject) else { return found };
        let cx = Cx::new(cluster, settings, &self.facts);
        for (rule, _) in notes.found.iter().filter(|(rule, _)| wanted(rule.id)) {
            if exempt(cluster, settings, subject, rule.id) {
                continue;
            }
            found.findings.extend(self.judge_again(&cx, subject, rule));
        }
        found.findings.sort_by_key(|finding| finding.severity);
        let unseen = notes.unseen.iter().filter(|(id, _)| wanted(id));
        found.unseen = unseen.cloned().collect();
        found
    }

    /// The findings about one subject that a report contains, judged again.
    pub fn reported(
        &self,
        cluster: &Cluster,
        settings: &Settings,
        subject: &Subject,
    ) -> Vec<Finding> {
        match in_scope(cluster, settings, subject) {
            true => self.findings_by(cluster, settings, subject, |_| true).findings,
            false => Vec::new(),
        }
    }

    /// The worst findings about some subjects that are not exempted, `most` of them, and the number of all.
    pub fn findings_beside(
        &self,
        cluster: &Cluster,
        settings: &Settings,
        subjects: &BTreeSet<Subject>,
        most: usize,
    ) -> (Vec<Finding>, usize) {
        let cases = subjects.iter().filter_map(|it| Some((it, self.cases.get(it)?)));
        let cases = worst_first(cluster, settings, cases);
        let count = cases.len();
        let cx = Cx::new(cluster, settings, &self.facts);
        let worst = cases.into_iter().take(most);
        (worst.filter_map(|(rule, subject)| self.judge_again(&cx, subject, rule)).collect(), count)
    }
}

/// Moves each finding that explains others before the first of them.
fn causes_first(findings: &mut Vec<Finding>) {
    // Causes have causes, but not in a circle: as many rounds as findings suffice in any case.
    for _ in 0..findings.len() {
        let explains = |cause: &Finding, it: &Finding| {
            let same = |by: &CausedBy| by.rule == cause.rule && by.object == cause.object;
            it.caused_by.iter().any(same)
        };
        let misplaced = findings.iter().enumerate().find_map(|(index, cause)| {
            let first = findings[..index].iter().position(|it| explains(cause, it))?;
            Some((index, first))
        });
        let Some((index, first)) = misplaced else { return };
        let cause = findings.remove(index);
        findings.insert(first, cause);
    }
}

//! The findings about one subject, and about those beside it.

use std::collections::BTreeSet;

use super::{Assessor, about, exempt, judge, object_key};
use crate::cluster::{Cluster, Cx, Subject, Unseen};
use crate::model::{Finding, RuleId, Settings};

/// The findings about one subject, and what could not be judged about it.
#[derive(Debug, Default)]
pub struct SubjectFindings {
    /// Its findings, whatever the scope: those that no other explains first, then worst first.
    pub findings: Vec<Finding>,
    /// The rules that could not judge it, and why.
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
            let judged = judge(&cx, cluster, subject, rule);
            found.findings.extend(judged.finding);
            found.unseen.extend(judged.unseen.map(|unseen| (rule.id, unseen)));
        }
        for finding in &mut found.findings {
            finding.caused_by = self.caused_by(&cx, subject, finding.rule);
        }
        // What follows from another finding is repaired with that one.
        found.findings.sort_by_key(|finding| (!finding.caused_by.is_empty(), finding.severity));
        found
    }

    /// The findings about some subjects that no annotation exempts, worst first, at most so many;
    /// and how many there are.
    pub fn findings_beside(
        &self,
        cluster: &Cluster,
        settings: &Settings,
        subjects: &BTreeSet<Subject>,
        most: usize,
    ) -> (Vec<Finding>, usize) {
        let cases = subjects.iter().filter_map(|it| Some((it, self.cases.get(it)?)));
        let mut cases: Vec<_> = cases
            .flat_map(|(subject, notes)| {
                notes.found.iter().map(move |(rule, severity)| (*severity, *rule, subject))
            })
            .filter(|(_, rule, subject)| !exempt(cluster, settings, subject, rule.id))
            .collect();
        let key = |subject: &Subject| object_key(cluster, subject);
        cases.sort_by(|a, b| {
            (a.0, a.1.id).cmp(&(b.0, b.1.id)).then_with(|| key(a.2).cmp(&key(b.2)))
        });
        let count = cases.len();
        let cx = Cx::new(cluster, settings, &self.facts);
        let judged = cases.into_iter().take(most);
        let judged =
            judged.filter_map(|(_, rule, subject)| judge(&cx, cluster, subject, rule).finding);
        (judged.collect(), count)
    }
}

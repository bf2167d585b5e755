//! Findings that other findings explain.

use super::{Assessor, metadata, object_key};
use crate::cluster::{Cx, Subject};
use crate::model::{CausedBy, ObjectRef, RuleId};
use crate::rules::causes::causes;

impl Assessor {
    /// The findings that explain the finding of a rule about a subject: also those that are out of
    /// scope or exempted.
    pub fn caused_by(&self, cx: &Cx, subject: &Subject, rule: RuleId) -> Vec<CausedBy> {
        let cluster = cx.cluster();
        let found = |subject: &Subject, rule| self.found(subject, rule);
        let causes = causes(cx, subject, rule, found).into_iter();
        causes
            .filter_map(|(rule, subject)| {
                let key = object_key(cluster, &subject)?;
                let uid = metadata(cluster, &subject).and_then(|it| it.uid.clone());
                Some(CausedBy { rule, object: ObjectRef { key, uid } })
            })
            .collect()
    }

    /// Whether another finding explains the finding of a rule about a subject.
    pub(super) fn is_caused(&self, cx: &Cx, subject: &Subject, rule: RuleId) -> bool {
        !causes(cx, subject, rule, |subject, rule| self.found(subject, rule)).is_empty()
    }

    fn found(&self, subject: &Subject, rule: RuleId) -> bool {
        let notes = self.cases.get(subject);
        notes.is_some_and(|notes| notes.found.iter().any(|(found, _)| found.id == rule))
    }
}

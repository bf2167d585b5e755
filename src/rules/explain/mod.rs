//! Why one object is in the state it is in, who uses it, and what would happen if.
//!
//! Nothing is decided here: the words are put together from the facts that rules and remedies ask.

mod claim;
mod set;
mod volume;

use std::cell::RefCell;

use super::Assessor;
use crate::cluster::{Cluster, Cx, Seen, Subject, Unseen};
use crate::facts::Consequence;
use crate::model::{Evidence, Explanation, Kind, NotSeen, ObjectKey, ObjectRef, Outcome, Settings};

/// Explains an object; `None` when it is not there, or of a kind that cannot be explained.
pub fn explain(cluster: &Cluster, settings: &Settings, subject: &Subject) -> Option<Explanation> {
    let facts = RefCell::default();
    let cx = Cx::new(cluster, settings, &facts);
    match subject {
        Subject::Volume(id) => cluster.volume_at(*id).map(|it| volume::explain(&cx, it)),
        Subject::Claim(id) => cluster.claim_at(*id).map(|it| claim::explain(&cx, it)),
        Subject::StatefulSet(id) => cluster.set_at(*id).map(|it| set::explain(&cx, it)),
        Subject::Attachment(_)
        | Subject::Pod(_)
        | Subject::Class(_)
        | Subject::AttributesClass(_)
        | Subject::Snapshot(_)
        | Subject::Driver(_) => None,
    }
}

/// Finds the subject that an object is.
pub fn subject_of(cluster: &Cluster, key: &ObjectKey) -> Option<Subject> {
    match key.kind {
        Kind::PersistentVolume => cluster
            .volumes()
            .find(|(_, it)| it.object().key == *key)
            .map(|(id, _)| Subject::Volume(id)),
        Kind::PersistentVolumeClaim => cluster
            .claims()
            .find(|(_, it)| it.object().key == *key)
            .map(|(id, _)| Subject::Claim(id)),
        Kind::StatefulSet => cluster
            .sets()
            .find(|(_, it)| it.object().key == *key)
            .map(|(id, _)| Subject::StatefulSet(id)),
        _ => None,
    }
}

impl Assessor {
    /// Everything that is wrong with one subject, whatever was asked for, worst first.
    pub fn findings_of(
        &self,
        cluster: &Cluster,
        settings: &Settings,
        subject: &Subject,
    ) -> Vec<crate::model::Finding> {
        let judged =
            super::REGISTRY.iter().map(|rule| self.judge(cluster, settings, subject, rule));
        let mut findings: Vec<_> = judged.filter_map(|judged| judged.finding).collect();
        findings.sort_by_key(|finding| finding.severity);
        findings
    }
}

/// An explanation in the making.
struct Draft {
    explanation: Explanation,
    shown: String,
}

impl Draft {
    fn new(object: ObjectRef) -> Self {
        let shown = object.to_string();
        let explanation = Explanation {
            object,
            state: Vec::new(),
            because: Vec::new(),
            users: Vec::new(),
            looked_at: Vec::new(),
            outcomes: Vec::new(),
            unseen: Vec::new(),
        };
        Self { explanation, shown }
    }

    fn show(&mut self, field: &'static str, value: impl Into<String>) {
        let object = self.shown.clone();
        self.explanation.state.push(Evidence { object, field, value: value.into() });
    }

    fn because(&mut self, sentence: impl Into<String>) {
        self.explanation.because.push(sentence.into());
    }

    fn outcome(
        &mut self,
        when: &str,
        object: Option<ObjectRef>,
        then: &'static str,
        because: impl Into<String>,
    ) {
        let (when, because) = (when.to_owned(), because.into());
        self.explanation.outcomes.push(Outcome { when, object, then, because });
    }

    fn fate(&mut self, when: &str, object: Option<ObjectRef>, consequence: Consequence) {
        self.outcome(when, object, consequence.fate.name(), consequence.because);
    }

    /// Takes what was seen; notes what was not.
    fn seen<T>(&mut self, seen: Seen<T>) -> Option<T> {
        seen.map_err(|unseen| self.unseen(unseen)).ok()
    }

    fn unseen(&mut self, unseen: Unseen) {
        let Unseen { kind, namespace, reason } = unseen;
        let unseen = NotSeen { kind, namespace, reason };
        if !self.explanation.unseen.contains(&unseen) {
            self.explanation.unseen.push(unseen);
        }
    }

    fn done(self) -> Explanation {
        self.explanation
    }
}

//! Why one object is in the state it is in, who uses it, and what would happen if.
//!
//! Nothing is decided here: the words are put together from the facts that rules and remedies ask.

mod claim;
mod set;
mod volume;

use std::cell::RefCell;

use super::Assessor;
use crate::cluster::{Cluster, Cx, Seen, Subject, Unseen};
use crate::facts::DeletionEffect;
use crate::model::{Evidence, Kind, ObjectRef, Settings};

/// Everything there is to say about one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The object.
    pub object: ObjectRef,
    /// The fields that tell its state.
    pub state: Vec<Evidence>,
    /// Why it is in this state, each a sentence without a full stop.
    pub because: Vec<String>,
    /// Who uses it.
    pub users: Vec<User>,
    /// The kinds of users that were looked at; others may use it too.
    pub looked_at: Vec<Kind>,
    /// What would happen if.
    pub outcomes: Vec<ObjectEffect>,
    /// What could not be told, because it was not seen.
    pub unseen: Vec<Unseen>,
}

/// Somebody who uses an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Who.
    pub object: ObjectRef,
    /// How, in a few words: `pod, Running on node n0`.
    pub how: String,
    /// Whether Kubernetes itself waits for it when the object is deleted.
    pub holds: bool,
}

/// What would happen to one object if something were done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectEffect {
    /// What is done, in the form "it is deleted".
    pub when: String,
    /// What it happens to, where that is not the object itself.
    pub object: Option<ObjectRef>,
    /// What happens, in a word that scripts can rely on: `kept`, `deleted`, `deleted-later`,
    /// `destroyed`, `unknown`…
    pub then: &'static str,
    /// Why, as a sentence without a full stop.
    pub because: String,
}

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
        | Subject::Driver(_)
        | Subject::Backend(_) => None,
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
struct ExplanationDraft {
    explanation: Explanation,
    shown: String,
}

impl ExplanationDraft {
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
        self.explanation.outcomes.push(ObjectEffect { when, object, then, because });
    }

    fn deletion_effect(&mut self, when: &str, object: Option<ObjectRef>, effect: DeletionEffect) {
        self.outcome(when, object, effect.data.name(), effect.because);
    }

    /// Takes what was seen; notes what was not.
    fn seen<T>(&mut self, seen: Seen<T>) -> Option<T> {
        seen.map_err(|unseen| self.unseen(unseen)).ok()
    }

    fn unseen(&mut self, unseen: Unseen) {
        if !self.explanation.unseen.contains(&unseen) {
            self.explanation.unseen.push(unseen);
        }
    }

    fn done(self) -> Explanation {
        self.explanation
    }
}

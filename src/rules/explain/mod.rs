//! Explanations of one object: its state and the reasons, its users, and the effects of operations.
//!
//! Nothing is decided here: the texts are built from the facts that rules and remedies use.

mod claim;
mod driver;
mod set;
mod volume;

use std::cell::RefCell;

use super::Assessor;
use crate::cluster::{Cluster, Cx, Seen, Subject, Unseen};
use crate::facts::DeletionEffect;
use crate::model::{Evidence, Kind, ObjectRef, Settings, Text, migrated_driver};

/// The explanation of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The object.
    pub object: ObjectRef,
    /// The fields that show its state.
    pub state: Vec<Evidence>,
    /// Why it is in this state, each a sentence without a full stop.
    pub because: Vec<String>,
    /// Its users.
    pub users: Vec<User>,
    /// The kinds of users that were checked; others may use it too.
    pub looked_at: Vec<Kind>,
    /// The effects of operations.
    pub outcomes: Vec<ObjectEffect>,
    /// What is missing, because it was not read.
    pub unseen: Vec<Unseen>,
}

/// A user of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The user.
    pub object: ObjectRef,
    /// How, in a few words: `pod, Running on node n0`.
    pub how: String,
    /// Whether Kubernetes waits for it before it deletes the object.
    pub holds: bool,
}

/// The effect of an operation on one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectEffect {
    /// The operation, in the form "it is deleted".
    pub when: String,
    /// The affected object, if that is not the explained object.
    pub object: Option<ObjectRef>,
    /// The effect, in a word that scripts can rely on: `kept`, `deleted`, `deleted-later`,
    /// `destroyed`, `unknown`…
    pub then: &'static str,
    /// Why, as a sentence without a full stop.
    pub because: String,
}

/// Explains an object; `None` if it does not exist, or cannot be explained because of its kind.
pub fn explain(cluster: &Cluster, settings: &Settings, subject: &Subject) -> Option<Explanation> {
    let facts = RefCell::default();
    let cx = Cx::new(cluster, settings, &facts);
    match subject {
        Subject::Volume(id) => cluster.volume_at(*id).map(|it| volume::explain(&cx, it)),
        Subject::Claim(id) => cluster.claim_at(*id).map(|it| claim::explain(&cx, it)),
        Subject::Driver(name) => Some(driver::explain(&cx, name)),
        Subject::StatefulSet(id) => cluster.set_at(*id).map(|it| set::explain(&cx, it)),
        Subject::Attachment(_)
        | Subject::Pod(_)
        | Subject::Class(_)
        | Subject::AttributesClass(_)
        | Subject::Snapshot(_)
        | Subject::Backend(_) => None,
    }
}

/// A driver of the cluster, in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverLine {
    /// Its name.
    pub name: Text,
    /// The title of its family.
    pub title: &'static str,
    /// How many volumes reference it.
    pub volumes: usize,
    /// The state of its provisioner.
    pub provisioner: &'static str,
}

/// Returns every driver and provisioner that the cluster has.
pub fn drivers(cluster: &Cluster, settings: &Settings) -> Vec<DriverLine> {
    let facts = RefCell::default();
    let cx = Cx::new(cluster, settings, &facts);
    let line = |name: Text| DriverLine {
        title: driver::known_as(crate::drivers::family(&name)),
        volumes: cx.volumes_of_driver(&name).count(),
        provisioner: crate::facts::provisioner(&cx, &name).liveness.name(),
        name,
    };
    // Volumes of migrated plugins are those of their CSI driver.
    let drivers = cluster.drivers().into_iter().filter(|name| migrated_driver(name).is_none());
    drivers.map(line).collect()
}

impl Assessor {
    /// All findings about one subject, whatever the scope, worst first.
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
        let cx = self.cx(cluster, settings);
        for finding in &mut findings {
            finding.caused_by = self.caused_by(&cx, subject, finding.rule);
        }
        findings
    }
}

/// An explanation while it is built.
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

    /// Unwraps what was read; records what was not.
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

//! An explanation while it is built.

use super::{Explanation, ObjectEffect, User};
use crate::cluster::{Cx, Seen, Subject, Unseen};
use crate::facts::DeletionEffect;
use crate::model::{self, Age, Evidence, Kind, Metadata, ObjectRef, Time, Trust, format_age};

/// The operation of deleting the explained object.
pub(super) const DELETED: &str = "it is deleted";

/// An explanation that is being built.
pub(super) struct ExplanationDraft {
    pub(super) explanation: Explanation,
    shown: String,
}

impl ExplanationDraft {
    pub(super) fn new(object: ObjectRef) -> Self {
        let shown = object.to_string();
        let explanation = Explanation {
            object,
            subject: None,
            status: String::new(),
            fields: Vec::new(),
            state: Vec::new(),
            because: Vec::new(),
            notes: Vec::new(),
            errors: Vec::new(),
            controllers: Vec::new(),
            identities: Vec::new(),
            users: Vec::new(),
            looked_at: Vec::new(),
            outcomes: Vec::new(),
            unseen: Vec::new(),
            open: Vec::new(),
            neighbours: std::collections::BTreeSet::new(),
        };
        Self { explanation, shown }
    }

    /// Adds words to the status line; empty ones add nothing.
    pub(super) fn status(&mut self, words: impl Into<String>) {
        let words = words.into();
        let status = &mut self.explanation.status;
        if !status.is_empty() && !words.is_empty() {
            status.push_str(", ");
        }
        status.push_str(&words);
    }

    /// Adds the status Terminating, with its duration, if the object is Terminating.
    pub(super) fn terminating(&mut self, cx: &Cx, deleting: Option<Time>) {
        if deleting.is_some() {
            let lasting = lasting(cx, &Age::stamped(deleting)).unwrap_or_default();
            self.status(format!("Terminating{lasting}"));
        }
    }

    /// Adds a field that matters to a reader, under a short label.
    pub(super) fn field(&mut self, label: &'static str, value: impl Into<String>) {
        self.explanation.fields.push((label, value.into()));
    }

    /// Adds the finalizers of a Terminating object, or of one with other finalizers than usual for its kind.
    pub(super) fn finalizers(&mut self, metadata: &Metadata, usual: &[&str]) {
        let are_usual = metadata.finalizers.iter().all(|it| usual.contains(&&**it));
        if metadata.deleting.is_some() || !are_usual {
            let none = "none".to_owned();
            let shown = metadata.finalizers.join(", ");
            self.field("finalizers", if shown.is_empty() { none } else { shown });
        }
    }

    /// Adds a field to those that show the state.
    pub(super) fn show(&mut self, field: &'static str, value: impl Into<String>) {
        let object = self.shown.clone();
        self.explanation.state.push(Evidence { object, field, value: value.into() });
    }

    /// Adds a reason that a field shows as well.
    pub(super) fn because(&mut self, sentence: impl Into<String>) {
        self.explanation.because.push(sentence.into());
    }

    /// Adds a reason that no field shows.
    pub(super) fn note(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        self.explanation.notes.push(sentence.clone());
        self.explanation.because.push(sentence);
    }

    pub(super) fn user(&mut self, object: ObjectRef, how: impl Into<String>, holds: bool) {
        self.explanation.users.push(User { object, how: how.into(), holds });
    }

    pub(super) fn outcome(
        &mut self,
        when: &str,
        object: Option<ObjectRef>,
        then: &'static str,
        because: impl Into<String>,
    ) {
        let (when, because) = (when.to_owned(), because.into());
        let effect = ObjectEffect { when, object, then, because, capacity: None };
        self.explanation.outcomes.push(effect);
    }

    pub(super) fn deletion_effect(
        &mut self,
        when: &str,
        object: Option<ObjectRef>,
        effect: DeletionEffect,
    ) {
        self.outcome(when, object, effect.data.name(), effect.because);
    }

    /// Returns the value that was read, or records what was not.
    pub(super) fn seen<T>(&mut self, seen: Seen<T>) -> Option<T> {
        seen.map_err(|unseen| self.unseen(unseen)).ok()
    }

    pub(super) fn unseen(&mut self, unseen: Unseen) {
        if !self.explanation.unseen.contains(&unseen) {
            self.explanation.unseen.push(unseen);
        }
    }

    /// Adds an open question, although nothing that it needs was unread.
    pub(super) fn open(&mut self, question: &'static str) {
        if !self.explanation.open.contains(&question) {
            self.explanation.open.push(question);
        }
    }

    /// Adds objects on which the explained object depends.
    pub(super) fn hangs_on(&mut self, subjects: impl IntoIterator<Item = Subject>) {
        self.explanation.neighbours.extend(subjects);
    }

    pub(super) fn done(mut self, subject: Option<Subject>) -> Explanation {
        let explanation = &mut self.explanation;
        if let Some(subject) = &subject {
            explanation.neighbours.remove(subject);
        }
        explanation.subject = subject;
        let open = open_questions(explanation.object.key.kind, &explanation.unseen);
        explanation.open.extend(open);
        self.explanation
    }
}

/// Returns the duration of a state, with a space before it; `None` if it is unknown.
pub(super) fn lasting(cx: &Cx, age: &Age) -> Option<String> {
    let (since, now) = age.since.zip(cx.clock())?;
    let age_shown = format_age((now - since).num_seconds());
    Some(match age.trust {
        Trust::LowerBound => format!(" for at least {age_shown}"),
        Trust::Corroborated | Trust::Conflicting | Trust::SingleSource | Trust::Unknown => {
            format!(" for {age_shown}")
        }
    })
}

/// Formats a number of things, of which only the first word has a plural: `2 pods with claims`.
pub(super) fn counted(count: usize, what: &str) -> String {
    match what.split_once(' ') {
        Some((noun, rest)) => format!("{} {rest}", model::counted(count, noun)),
        None => model::counted(count, what),
    }
}

/// Returns the questions about an object of this kind that unread objects leave open, each once.
fn open_questions(about: Kind, unseen: &[Unseen]) -> Vec<&'static str> {
    let mut open = Vec::new();
    for unread in unseen.iter().map(|it| it.kind) {
        let question = question_of(about, unread);
        if !open.contains(&question) {
            open.push(question);
        }
    }
    open
}

/// The question about an object of one kind that objects of another kind answer.
const fn question_of(about: Kind, unread: Kind) -> &'static str {
    match unread {
        Kind::PersistentVolume => match about {
            Kind::PersistentVolume => "whether other volumes reference its backend volume",
            Kind::StorageClass | Kind::CsiDriver | Kind::Namespace => "which volumes it affects",
            _ => "the state of its volume",
        },
        Kind::PersistentVolumeClaim => match about {
            Kind::PersistentVolumeClaim => "whether it is the source of a clone",
            Kind::PersistentVolume | Kind::VolumeAttachment => "whether its claim exists",
            _ => "which claims it affects",
        },
        Kind::Pod => match about {
            Kind::CsiDriver | Kind::StorageClass => "whether its provisioner runs",
            Kind::Pod => "the state of pods beside it",
            _ => "which pods use it",
        },
        Kind::Node => "whether its node exists and is Ready",
        Kind::Namespace => "whether its namespace exists",
        Kind::StorageClass => "what its class says",
        Kind::CsiDriver | Kind::CsiNode => "whether its driver is registered",
        Kind::VolumeAttachment => "whether it is attached to a node",
        Kind::StatefulSet => match about {
            Kind::StatefulSet => "the state of other StatefulSets",
            _ => "which StatefulSet it belongs to",
        },
        Kind::Deployment
        | Kind::ReplicaSet
        | Kind::DaemonSet
        | Kind::ReplicationController
        | Kind::Job
        | Kind::CronJob => "which workloads use it",
        Kind::HorizontalPodAutoscaler => "whether an autoscaler scales it",
        Kind::Lease => "whether its controllers run",
        Kind::Event => "the last errors of its controllers",
        Kind::VolumeSnapshot | Kind::VolumeSnapshotContent | Kind::VolumeGroupSnapshotContent => {
            "which snapshots depend on it"
        }
        Kind::VolumeSnapshotClass => "whether a snapshot can be taken of it",
        Kind::VolumeAttributesClass => "what its attributes class says",
        Kind::ValidatingAdmissionPolicy | Kind::ValidatingAdmissionPolicyBinding => {
            "whether the guard is in force"
        }
        Kind::Secret => "whether its deletion Secret exists",
        Kind::ConfigMap => "whether it is announced",
        Kind::PartialObjectMetadata => "whether its owners exist",
        Kind::Rollout | Kind::CloneSet => "which custom resources use it",
        Kind::LonghornVolume
        | Kind::LvmVolume
        | Kind::ZfsVolume
        | Kind::TopoLvmVolume
        | Kind::LegacyTopoLvmVolume
        | Kind::DirectPvVolume
        | Kind::TridentVolume
        | Kind::BackendVolume => "which disks its provider has",
        Kind::SubjectAccessReview => "whether its provisioner may patch persistentvolumes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_is_asked_once() {
        let unseen = |kind| Unseen { kind, namespace: None, reason: "forbidden".to_owned() };
        let kinds = [Kind::Deployment, Kind::Job, Kind::VolumeAttachment];
        assert_eq!(
            open_questions(Kind::PersistentVolumeClaim, &kinds.map(unseen)),
            ["which workloads use it", "whether it is attached to a node"]
        );
    }

    #[test]
    fn every_kind_that_is_not_read_leaves_a_question() {
        for about in crate::rules::EXPLAINED {
            for unread in Kind::ALL {
                assert!(!question_of(about, unread).is_empty(), "{about} {unread}");
            }
        }
    }
}

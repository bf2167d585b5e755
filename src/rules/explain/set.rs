//! Explanation of a `StatefulSet`: the effects of operations on its claims.

use super::{Explanation, ExplanationDraft, User};
use crate::cluster::Cx;
use crate::facts::retention::{
    self, ClaimOutcome, DeletionCause, NoUpdateReason, Operation, Ordinals, OutcomeReason,
    Prediction, Propagation, ReferenceUpdate, SetSituation, VolumeEffect,
};
use crate::model::{Kind, ObjectKey, ObjectRef, StatefulSet, Text};

pub(super) fn explain(cx: &Cx, set: &StatefulSet) -> Explanation {
    let mut draft = ExplanationDraft::new(set.object());
    let replicas = set.replicas.map_or_else(|| "<none>".to_owned(), |n| n.to_string());
    draft.show("spec.replicas", replicas);
    draft.show("ordinals", range(set));
    let templates: Vec<_> = set.templates.iter().map(|it| &*it.name).collect();
    draft.show("spec.volumeClaimTemplates", templates.join(", "));
    match &set.retention {
        Some(policy) => draft.show(
            "spec.persistentVolumeClaimRetentionPolicy",
            format!("whenDeleted {}, whenScaled {}", policy.when_deleted, policy.when_scaled),
        ),
        None => draft.show("spec.persistentVolumeClaimRetentionPolicy", "<none>"),
    }
    if set.retention.is_none() {
        draft.because("the server shows no retention policy: it keeps every claim");
    }
    if set.observed_generation != set.generation {
        draft.because("its controller has not acted on its last change yet");
    }
    draft.explanation.looked_at =
        vec![Kind::Pod, Kind::PersistentVolumeClaim, Kind::HorizontalPodAutoscaler];
    if let Some(scalers) = draft.seen(cx.autoscalers_of(&set.namespace, &set.metadata.name)) {
        for scaler in scalers {
            let object = named(Kind::HorizontalPodAutoscaler, &set.namespace, &scaler.name);
            let how = "sets its number of replicas".to_owned();
            draft.explanation.users.push(User { object, how, holds: false });
        }
    }
    if let Some(situation) = draft.seen(SetSituation::of(cx, set)) {
        operations(set, &situation, &mut draft);
    }
    draft.done()
}

fn operations(set: &StatefulSet, situation: &SetSituation, draft: &mut ExplanationDraft) {
    let replicas = set.replicas.unwrap_or(1);
    let mut operations = vec![
        ("it is deleted".to_owned(), Operation::DeleteSet(Propagation::Background)),
        (
            "it is deleted with --cascade=orphan".to_owned(),
            Operation::DeleteSet(Propagation::Orphan),
        ),
    ];
    for to in [0, replicas.saturating_sub(1), replicas.saturating_add(1)] {
        let when = format!("it is scaled to {to}");
        if to != replicas && to >= 0 && !operations.iter().any(|(known, _)| *known == when) {
            operations.push((when, Operation::Scale(to)));
        }
    }
    for (when, operation) in operations {
        for prediction in retention::simulate(situation, &operation) {
            let object = named(Kind::PersistentVolumeClaim, &set.namespace, &prediction.claim);
            let (then, because) = describe_prediction(&prediction, &operation);
            draft.outcome(&when, Some(object), then, because);
        }
    }
}

fn named(kind: Kind, namespace: &Text, name: &str) -> ObjectRef {
    let namespace = Some(Text::clone(namespace));
    ObjectRef { key: ObjectKey { kind, namespace, name: name.into() }, uid: None }
}

/// The range of ordinals of a set, in words.
pub(super) fn range(set: &StatefulSet) -> String {
    Ordinals::of(set).to_string()
}

/// What the `StatefulSet` controller does next to the owners of a claim, in words.
pub(super) fn describe_update(update: &ReferenceUpdate) -> String {
    let because = match update {
        ReferenceUpdate::Writes(owners) if owners.is_empty() => {
            return "the set's controller is about to take its references off".to_owned();
        }
        ReferenceUpdate::Writes(owners) => {
            let owners: Vec<_> =
                owners.iter().map(|it| format!("{} {}", it.kind, it.name)).collect();
            let owners = owners.join(", ");
            return format!("the set's controller is about to make these its owners: {owners}");
        }
        ReferenceUpdate::Leaves(because) => because,
    };
    match because {
        NoUpdateReason::Matches => "it is owned as the set's policy says",
        NoUpdateReason::Podless => {
            "it has no pod: the set's controller leaves its owners as they are"
        }
        NoUpdateReason::Waits => "the set's controller waits until the pod that is going is gone",
        NoUpdateReason::Stale => {
            "it names an earlier set or pod of that name: the set's controller leaves it alone"
        }
        NoUpdateReason::ForeignController => {
            "somebody else is its managing controller: the set's controller leaves it alone"
        }
        NoUpdateReason::Unrecognised => {
            "its references have a form that the set's controller does not take for its own"
        }
    }
    .to_owned()
}

/// A prediction as a word and a sentence.
pub(super) fn describe_prediction(
    prediction: &Prediction,
    operation: &Operation,
) -> (&'static str, String) {
    match &prediction.outcome {
        ClaimOutcome::Kept => {
            let again = match operation {
                Operation::Scale(_) => {
                    "; a pod of its ordinal that is made again finds its old data"
                }
                Operation::Wait
                | Operation::DeleteSet(_)
                | Operation::SetPolicy(_)
                | Operation::DeletePod(_) => "",
            };
            ("kept", format!("{}{again}", prediction.reason))
        }
        ClaimOutcome::Reowned(owners) => {
            let owners: Vec<_> =
                owners.iter().map(|it| format!("{} {}", it.kind, it.name)).collect();
            let then = match &owners[..] {
                [] => "its references are taken off".to_owned(),
                _ => format!("then {} owns it", owners.join(", ")),
            };
            match prediction.reason {
                OutcomeReason::Unowned | OutcomeReason::Matrix => ("kept", then),
                // The reason contains this already.
                OutcomeReason::Orphaned if owners.is_empty() => {
                    ("kept", prediction.reason.to_string())
                }
                reason => ("kept", format!("{reason}; {then}")),
            }
        }
        ClaimOutcome::Deleted { by, recreated, .. } => {
            let whose = match by {
                DeletionCause::Set => "the garbage collector deletes it with its set",
                DeletionCause::Pod => "the garbage collector deletes it with its pod",
                DeletionCause::Dangling => {
                    "the garbage collector deletes it, since its owners are gone"
                }
                DeletionCause::Somebody => "it was deleted before",
            };
            let data = match prediction.volume {
                VolumeEffect::Destroyed => "destroyed",
                VolumeEffect::Scrubbed => "scrubbed",
                VolumeEffect::Released | VolumeEffect::None | VolumeEffect::Unknown => "deleted",
            };
            let empty =
                if *recreated { "; an empty claim of its name is made afterwards" } else { "" };
            let why = match prediction.reason {
                // The owners were mentioned already.
                OutcomeReason::OwnersGone => String::new(),
                reason => format!(" ({reason})"),
            };
            let held = match prediction.held_by.is_empty() {
                true => String::new(),
                false => format!("; it waits for {}", prediction.held_by.join(", ")),
            };
            (data, format!("{whose}{why}; {}{held}{empty}", prediction.volume.describe()))
        }
        ClaimOutcome::Unknown(why) => ("unknown", why.clone()),
    }
}

//! Explanation of a `StatefulSet`: the effects of operations on its claims.

use super::draft::{ExplanationDraft, counted};
use super::error;
use crate::cluster::Cx;
use crate::facts::retention::{
    self, ClaimOutcome, DependentFate, NoUpdateReason, Operation, Ordinals, OutcomeReason,
    Prediction, Propagation, ReferenceUpdate, SetSituation, UNLESS_IT_WAITS, VolumeEffect,
};
use crate::model::{Kind, ObjectKey, ObjectRef, StatefulSet, Text};

pub(super) fn explain(cx: &Cx, set: &StatefulSet) -> ExplanationDraft {
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
    status(cx, set, &mut draft);
    if set.retention.is_none() {
        draft.note("spec.persistentVolumeClaimRetentionPolicy is not set: every claim is kept");
    }
    if set.observed_generation != set.generation {
        draft.note(
            "its controller has not observed its last change yet (status.observedGeneration)",
        );
    }
    draft.explanation.looked_at =
        vec![Kind::Pod, Kind::PersistentVolumeClaim, Kind::HorizontalPodAutoscaler];
    if let Some(scalers) = draft.seen(cx.autoscalers_of(&set.namespace, &set.metadata.name)) {
        for scaler in scalers {
            let object = named(Kind::HorizontalPodAutoscaler, &set.namespace, &scaler.name);
            draft.user(object, "sets its number of replicas", false);
        }
    }
    if let Some(situation) = draft.seen(SetSituation::of(cx, set)) {
        operations(cx, set, &situation, &mut draft);
    }
    claims(cx, set, &mut draft);
    error::of_set(cx, set, &mut draft);
    draft
}

/// Adds the claims of the set, with their volumes, and its pods.
fn claims(cx: &Cx, set: &StatefulSet, draft: &mut ExplanationDraft) {
    let cluster = cx.cluster();
    for template in &set.templates {
        let stem = format!("{}-{}", template.name, set.metadata.name);
        let claims = draft.seen(cx.claims_of_stem(&set.namespace, &stem)).unwrap_or_default();
        for (_, claim) in claims {
            draft.hangs_on(cluster.subject(&claim.object().key));
            let volume = claim.volume_name.as_deref().and_then(|it| cx.volume(it).ok().flatten());
            draft.hangs_on(volume.and_then(|it| cluster.subject(&it.object().key)));
        }
    }
    let pods = draft.seen(cx.pods_named_after(&set.namespace, &set.metadata.name));
    for (_, pod) in pods.unwrap_or_default() {
        draft.hangs_on(cluster.subject(&pod.object().key));
    }
}

fn operations(cx: &Cx, set: &StatefulSet, situation: &SetSituation, draft: &mut ExplanationDraft) {
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
        let predictions = retention::simulate(situation, &operation);
        for prediction in &predictions {
            let object = named(Kind::PersistentVolumeClaim, &set.namespace, &prediction.claim);
            let (then, because) = describe_prediction(prediction, &operation);
            draft.outcome(&when, Some(object), then, because);
        }
        if let Operation::DeleteSet(propagation) = operation {
            dependents(cx, set, (&when, propagation), &predictions, draft);
        }
    }
}

/// Adds the claims that no template predicts, and the effect on each if the set is deleted.
fn dependents(
    cx: &Cx,
    set: &StatefulSet,
    (when, propagation): (&str, Propagation),
    predictions: &[Prediction],
    draft: &mut ExplanationDraft,
) {
    let found = draft.seen(retention::dependent_claims(cx, set, propagation, predictions));
    for dependent in found.unwrap_or_default() {
        draft.hangs_on(cx.cluster().subject(&dependent.claim.object().key));
        let effect = retention::volume_effect(cx, dependent.claim).0;
        let because = match dependent.fate {
            DependentFate::Kept(_) => dependent.reason(),
            DependentFate::Deleted | DependentFate::Unknown(_) => {
                format!("{}; {}", dependent.reason(), effect.describe())
            }
        };
        let then = match dependent.fate {
            DependentFate::Kept(_) => "kept",
            DependentFate::Deleted => deleted_word(effect),
            DependentFate::Unknown(_) => "unknown",
        };
        draft.outcome(when, Some(dependent.claim.object()), then, because);
    }
}

/// Returns the effect of a deletion on a claim and its data, in a word.
const fn deleted_word(effect: VolumeEffect) -> &'static str {
    match effect {
        VolumeEffect::Destroyed => "destroyed",
        VolumeEffect::Scrubbed => "scrubbed",
        VolumeEffect::Released
        | VolumeEffect::Forgotten
        | VolumeEffect::None
        | VolumeEffect::Unknown => "deleted",
    }
}

/// Adds the status line of the set, and the fields that matter.
fn status(cx: &Cx, set: &StatefulSet, draft: &mut ExplanationDraft) {
    let wanted = set.replicas.unwrap_or(1);
    let count = |n: i32, what| counted(usize::try_from(n).unwrap_or_default(), what);
    draft.status(format!("{}, {}", count(wanted, "replica wanted"), count(set.pods, "pod")));
    draft.terminating(cx, set.metadata.deleting);
    let templates: Vec<_> = set.templates.iter().map(|it| &*it.name).collect();
    let none = "none".to_owned();
    draft.field("templates", if templates.is_empty() { none } else { templates.join(", ") });
    draft.field("ordinals", range(set));
    if let Some(policy) = &set.retention {
        let shown =
            format!("whenDeleted {}, whenScaled {}", policy.when_deleted, policy.when_scaled);
        draft.field("claim retention", shown);
    }
    draft.finalizers(&set.metadata, &[]);
}

fn named(kind: Kind, namespace: &Text, name: &str) -> ObjectRef {
    let namespace = Some(Text::clone(namespace));
    ObjectRef { key: ObjectKey { kind, namespace, name: name.into() }, uid: None }
}

/// Formats the range of ordinals of a set.
pub(super) fn range(set: &StatefulSet) -> String {
    Ordinals::of(set).to_string()
}

/// Describes the next update of the owners of a claim by the `StatefulSet` controller.
pub(in crate::rules) fn describe_update(update: &ReferenceUpdate) -> String {
    let because = match update {
        ReferenceUpdate::Writes(owners) if owners.is_empty() => {
            return format!(
                "the StatefulSet controller removes its owner references, {UNLESS_IT_WAITS}"
            );
        }
        ReferenceUpdate::Writes(owners) => {
            let owners: Vec<_> =
                owners.iter().map(|it| format!("{} {}", it.kind, it.name)).collect();
            let owners = owners.join(", ");
            return format!(
                "the StatefulSet controller makes these its owners, {UNLESS_IT_WAITS}: {owners}"
            );
        }
        ReferenceUpdate::Leaves(because) => because,
    };
    match because {
        NoUpdateReason::Matches => "its owner references match the retention policy of its set",
        NoUpdateReason::Podless => {
            "it has no pod: the StatefulSet controller leaves its owner references unchanged"
        }
        NoUpdateReason::Waits => "the StatefulSet controller waits until its Terminating pod is deleted",
        NoUpdateReason::Stale => {
            "its owner reference has the uid of an earlier set or pod: the StatefulSet controller leaves it unchanged"
        }
        NoUpdateReason::ForeignController => {
            "another object is its managing controller: the StatefulSet controller leaves it unchanged"
        }
        NoUpdateReason::Unrecognised => {
            "its owner references have a form that the StatefulSet controller does not regard as its own"
        }
    }
    .to_owned()
}

/// Describes a prediction in a word and a sentence.
pub(super) fn describe_prediction(
    prediction: &Prediction,
    operation: &Operation,
) -> (&'static str, String) {
    match &prediction.outcome {
        ClaimOutcome::Kept => {
            let again = match operation {
                Operation::Scale(_) => "; a recreated pod of its ordinal finds the old data",
                Operation::Wait
                | Operation::DeleteSet(_)
                | Operation::SetPolicy(_)
                | Operation::Change(_)
                | Operation::DeletePod(_) => "",
            };
            ("kept", format!("{}{again}", prediction.reason))
        }
        ClaimOutcome::Reowned(owners) => {
            let owners: Vec<_> =
                owners.iter().map(|it| format!("{} {}", it.kind, it.name)).collect();
            let then = match &owners[..] {
                [] => "its owner references are removed".to_owned(),
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
            let whose = by.describe();
            let data = deleted_word(prediction.volume);
            let empty =
                if *recreated { "; an empty claim of its name is created afterwards" } else { "" };
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

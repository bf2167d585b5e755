//! The effects of operations on a claim and its data: its deletion, and that of its pods and its set.

use super::super::draft::ExplanationDraft;
use super::super::set;
use crate::cluster::Cx;
use crate::facts::{
    self, PVC_PROTECTION,
    retention::{self, Operation, Propagation, SetSituation, TemplateClaim},
};
use crate::model::Claim;

const DELETED: &str = "it is deleted";

/// Adds what happens to the claim and to its data if it is deleted.
pub(super) fn deleted(cx: &Cx, claim: &Claim, draft: &mut ExplanationDraft) {
    if claim.metadata.deleting.is_some() {
        draft.outcome(DELETED, None, "unaffected", "already Terminating");
    } else if let Some(holders) = draft.seen(facts::upstream_in_use(cx, claim)) {
        let protected = claim.metadata.has_finalizer(PVC_PROTECTION);
        match holders.first() {
            _ if !protected => draft.outcome(
                DELETED,
                None,
                "deleted",
                format!("it lacks finalizer {PVC_PROTECTION}: it is deleted immediately, also while a pod uses it"),
            ),
            Some(first) => draft.outcome(
                DELETED,
                None,
                "deleted-later",
                format!(
                    "it becomes Terminating (irreversible), and is deleted after the last of its pods is deleted: {}{}",
                    first.pod.object(),
                    if holders.len() > 1 { format!(" and {} more", holders.len() - 1) } else { String::new() }
                ),
            ),
            None => {
                let others = claim.metadata.finalizers.iter().filter(|it| &***it != PVC_PROTECTION);
                let others: Vec<_> = others.map(|it| &**it).collect();
                match &others[..] {
                    [] => draft.outcome(
                        DELETED,
                        None,
                        "deleted",
                        "no scheduled pod uses it, and no other finalizer blocks it: it is deleted immediately",
                    ),
                    some => draft.outcome(
                        DELETED,
                        None,
                        "deleted-later",
                        format!(
                            "it becomes Terminating (irreversible) until these finalizers are removed: {}",
                            some.join(", ")
                        ),
                    ),
                }
            }
        }
    }
    data(cx, claim, draft);
}

/// Adds what happens to the data if the claim is deleted.
fn data(cx: &Cx, claim: &Claim, draft: &mut ExplanationDraft) {
    let found = facts::data_effect(cx, claim);
    if let Some(volume) = found.volume() {
        let then = facts::when_claim_is_deleted(cx, volume);
        draft.deletion_effect(DELETED, Some(volume.object()), then);
        return;
    }
    let Some(name) = &claim.volume_name else {
        draft.outcome(DELETED, None, "no-data", "no volume is bound to it");
        return;
    };
    match cx.volume(name) {
        Ok(Some(volume)) => draft.outcome(
            DELETED,
            Some(volume.object()),
            "unaffected",
            "its spec.claimRef references another claim, or another uid",
        ),
        Ok(None) => draft.outcome(
            DELETED,
            None,
            "unknown",
            format!("PersistentVolume {name} does not exist; its backend volume may still exist, and this claim may be the last record of it"),
        ),
        Err(_) => draft.outcome(
            DELETED,
            None,
            "unknown",
            format!("PersistentVolume {name} was not read; its reclaim policy decides"),
        ),
    }
}

/// Adds the effects of operations on the `StatefulSet` of a claim.
pub(super) fn operations(
    cx: &Cx,
    claim: &Claim,
    member: &TemplateClaim,
    draft: &mut ExplanationDraft,
) {
    let Some(situation) = draft.seen(SetSituation::of(cx, member.set)) else { return };
    let replicas = i64::from(member.set.replicas.unwrap_or(1));
    let mut operations = vec![
        ("its pod is deleted".to_owned(), Operation::DeletePod(member.ordinal)),
        ("its set is deleted".to_owned(), Operation::DeleteSet(Propagation::Background)),
        (
            "its set is deleted with --cascade=orphan".to_owned(),
            Operation::DeleteSet(Propagation::Orphan),
        ),
    ];
    if replicas > 0 {
        operations.push(("its set is scaled to 0".to_owned(), Operation::Scale(0)));
    }
    if !member.is_wanted()
        && let Some(enough) = i64::from(member.ordinal)
            .checked_sub(i64::from(member.set.start))
            .filter(|it| *it >= 0)
            .and_then(|it| i32::try_from(it + 1).ok())
    {
        operations.push((format!("its set is scaled to {enough}"), Operation::Scale(enough)));
    }
    for (when, operation) in operations {
        let predictions = retention::simulate(&situation, &operation);
        let own = predictions.iter().find(|it| *it.claim == *claim.metadata.name);
        if let Some(prediction) = own {
            let (then, because) = set::describe_prediction(prediction, &operation);
            draft.outcome(&when, None, then, because);
        }
    }
}

/// Adds the effect on a claim without a `StatefulSet` when the pods that use it are deleted.
pub(super) fn pods_deleted(cx: &Cx, claim: &Claim, draft: &mut ExplanationDraft) {
    const WHEN: &str = "the pods that use it are deleted";
    let Some(pods) = draft.seen(facts::pod_users(cx, claim)) else { return };
    if pods.is_empty() {
        return;
    }
    let ephemeral = pods.iter().any(|it| it.usage == facts::PodUsage::Ephemeral);
    if ephemeral {
        draft.outcome(
            WHEN,
            None,
            "deleted",
            "it is an ephemeral volume of its pod: the garbage collector deletes it with the pod",
        );
    } else if claim.metadata.deleting.is_some() {
        draft.outcome(
            WHEN,
            None,
            "deleted",
            "its deletion was requested before, and only waits for them",
        );
    } else {
        draft.outcome(
            WHEN,
            None,
            "kept",
            "no controller deletes a claim because its pods are deleted",
        );
        return;
    }
    if let Some(volume) = facts::data_effect(cx, claim).volume() {
        draft.deletion_effect(
            WHEN,
            Some(volume.object()),
            facts::when_claim_is_deleted(cx, volume),
        );
    }
}

//! Explanation of a claim.

use super::super::finding::shown_uid;
use super::{Explanation, ExplanationDraft, User, set};
use crate::cluster::Cx;
use crate::facts::{
    self, Ownership, PVC_PROTECTION, UnsafeReason,
    retention::{self, Operation, Propagation, SetSituation, TemplateClaim},
};
use crate::model::{Claim, ClaimPhase, Kind, Volume, format_time};

const DELETED: &str = "it is deleted";

pub(super) fn explain(cx: &Cx, claim: &Claim) -> Explanation {
    let mut draft = ExplanationDraft::new(claim.object());
    let volume = state(cx, claim, &mut draft);
    why(cx, claim, &mut draft);
    users(cx, claim, &mut draft);
    let member = draft.seen(retention::membership(cx, claim));
    if let Some(found) = &member {
        match (&found.decided, found.pairs.len()) {
            (Some(member), _) => membership(cx, claim, member, &mut draft),
            (None, 0) => {}
            (None, _) => {
                let pairs = found.pairs.iter();
                let pairs = pairs
                    .map(|it| format!("template {} of set {}", it.template, it.set.metadata.name));
                let pairs: Vec<_> = pairs.collect();
                draft.because(format!(
                    "its name fits {}: whose it is cannot be told",
                    pairs.join(" as well as ")
                ));
            }
        }
    }
    deleted(cx, claim, volume, &mut draft);
    if let Some(member) = member.and_then(|it| it.decided) {
        operations(cx, claim, &member, &mut draft);
    } else {
        pods_deleted(cx, claim, volume, &mut draft);
    }
    draft.done()
}

fn state<'a>(cx: &Cx<'a>, claim: &Claim, draft: &mut ExplanationDraft) -> Option<&'a Volume> {
    draft.show("status.phase", claim.phase.to_string());
    draft.show("spec.volumeName", claim.volume_name.as_deref().unwrap_or("<none>"));
    let volume = claim.volume_name.as_deref().and_then(|it| draft.seen(cx.volume(it)).flatten());
    if let Some(volume) = volume {
        draft.show("reclaim policy of its volume", volume.reclaim_policy.to_string());
    }
    if let Some(time) = &claim.metadata.deleting {
        draft.show("metadata.deletionTimestamp", format_time(time));
    }
    draft.show("metadata.finalizers", claim.metadata.finalizers.join(", "));
    for owner in &claim.metadata.owners {
        let uid = shown_uid(owner.uid.as_ref());
        let controller = if owner.controller { ", managing controller" } else { "" };
        let value = format!("{} {} uid {uid}{controller}", owner.kind, owner.name);
        draft.show("metadata.ownerReferences", value);
    }
    volume
}

fn why(cx: &Cx, claim: &Claim, draft: &mut ExplanationDraft) {
    match &claim.phase {
        ClaimPhase::Lost => {
            draft.because("the volume that it was bound to is gone, or belongs to another claim");
        }
        ClaimPhase::Pending if claim.volume_name.is_none() => {
            draft.because("no volume was found or made for it yet");
        }
        ClaimPhase::Pending | ClaimPhase::Bound | ClaimPhase::Other(_) => {}
    }
    if claim.metadata.deleting.is_some() {
        let holders = draft.seen(facts::upstream_in_use(cx, claim)).unwrap_or_default();
        if holders.is_empty() {
            draft.because("somebody deleted it, and no scheduled pod names it: it goes when its finalizers are gone");
        } else {
            let pods: Vec<_> = holders.iter().map(|it| it.pod.object().to_string()).collect();
            draft.because(format!(
                "somebody deleted it, which nothing takes back; it waits for {}",
                pods.join(", ")
            ));
        }
    }
    for owner in &claim.metadata.owners {
        match facts::ownership(cx, claim, owner) {
            Ok(Ownership::Solid) => {}
            Ok(Ownership::Dangling) => draft.because(format!(
                "its owner {} {} is gone, or another one has its name",
                owner.kind, owner.name
            )),
            Err(unseen) => draft.unseen(unseen),
        }
    }
}

/// Adds everything that counts as a user by R-PVCP-9.
fn users(cx: &Cx, claim: &Claim, draft: &mut ExplanationDraft) {
    let found = facts::unsafe_to_delete(cx, claim);
    draft.explanation.looked_at = [Kind::Pod]
        .into_iter()
        .chain(Kind::WORKLOADS)
        .chain([Kind::PersistentVolumeClaim, Kind::VolumeSnapshot, Kind::VolumeAttachment])
        .collect();
    for reason in &found.reasons {
        let holds = matches!(reason, UnsafeReason::Pod(user) if user.holds_protection());
        // A volume is no user of its claim.
        if let (Some(object), false) =
            (reason.object(), matches!(reason, UnsafeReason::DataLost(_)))
        {
            // The object is printed next to it.
            let words = reason.words();
            let how = words.strip_prefix(&format!("{object} ")).unwrap_or(&words).to_owned();
            draft.explanation.users.push(User { object, how, holds });
        }
    }
    for unseen in found.unseen {
        draft.unseen(unseen);
    }
    if let Some(unused) = claim.condition("Unused") {
        let since = unused.since.as_ref().map_or_else(|| "<unknown>".to_owned(), format_time);
        draft.because(format!(
            "the server says that no pod has used it since {since}: evidence, not proof, since it ignores finished pods and began when the feature was switched on"
        ));
    }
}

fn membership(cx: &Cx, claim: &Claim, member: &TemplateClaim, draft: &mut ExplanationDraft) {
    let set = member.set;
    let range = set::range(set);
    let wanted = if member.is_wanted() { "wants" } else { "does not want" };
    draft.because(format!(
        "it is the claim of template {} and ordinal {} of {}, which {wanted} that ordinal ({range})",
        member.template,
        member.ordinal,
        set.object()
    ));
    if let Some(pod) = draft.seen(member.pod(cx)).flatten() {
        let next = retention::expected_ownership(
            &claim.metadata.owners,
            member.owner(),
            set.retention.as_ref(),
            &member.pod_state(&pod.name, Some(pod)),
            retention::ReferenceForm::of(cx.server()),
        );
        draft.because(set::describe_update(&next));
    }
}

fn deleted(cx: &Cx, claim: &Claim, volume: Option<&Volume>, draft: &mut ExplanationDraft) {
    if claim.metadata.deleting.is_some() {
        draft.outcome(DELETED, None, "unaffected", "it is being deleted already");
    } else if let Some(holders) = draft.seen(facts::upstream_in_use(cx, claim)) {
        let protected = claim.metadata.has_finalizer(PVC_PROTECTION);
        match holders.first() {
            _ if !protected => draft.outcome(
                DELETED,
                None,
                "deleted",
                format!("finalizer {PVC_PROTECTION} is missing: it goes at once, under a running pod too"),
            ),
            Some(first) => draft.outcome(
                DELETED,
                None,
                "deleted-later",
                format!(
                    "it becomes Terminating, which nothing takes back, and goes when the last pod is gone: {}{}",
                    first.pod.object(),
                    if holders.len() > 1 { format!(" and {} more", holders.len() - 1) } else { String::new() }
                ),
            ),
            None => draft.outcome(
                DELETED,
                None,
                "deleted",
                "no scheduled pod names it, and Kubernetes waits for no others: it goes at once",
            ),
        }
    }
    match volume {
        Some(volume) => {
            let then = facts::when_claim_is_deleted(cx, volume);
            draft.deletion_effect(DELETED, Some(volume.object()), then);
        }
        None => draft.outcome(DELETED, None, "no-data", "no volume is known that would go with it"),
    }
}

/// Adds the effects of operations on the `StatefulSet` of a claim.
fn operations(cx: &Cx, claim: &Claim, member: &TemplateClaim, draft: &mut ExplanationDraft) {
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
fn pods_deleted(cx: &Cx, claim: &Claim, volume: Option<&Volume>, draft: &mut ExplanationDraft) {
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
        draft.outcome(WHEN, None, "deleted", "it was deleted before, and only waits for them");
    } else {
        draft.outcome(WHEN, None, "kept", "nothing deletes a claim because its pods are gone");
        return;
    }
    if let Some(volume) = volume {
        draft.deletion_effect(
            WHEN,
            Some(volume.object()),
            facts::when_claim_is_deleted(cx, volume),
        );
    }
}

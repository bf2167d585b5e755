//! Explanation of a claim, and of the effects of operations on it, on its pods and on its set.

use super::super::finding::shown_uid;
use super::draft::{DELETED, ExplanationDraft, lasting};
use super::{controller, error, neighbours, set};
use crate::cluster::Cx;
use crate::facts::{
    self, LostCause, Ownership, PVC_PROTECTION, UnsafeReason, fullness,
    retention::{self, Operation, Propagation, SetSituation, TemplateClaim},
};
use crate::model::{Age, Claim, ClaimPhase, Kind, StorageClass, format_bytes, format_time};

pub(super) fn explain(cx: &Cx, claim: &Claim) -> ExplanationDraft {
    let mut draft = ExplanationDraft::new(claim.object());
    status(cx, claim, &mut draft);
    state(cx, claim, &mut draft);
    let class = fields(cx, claim, &mut draft);
    why(cx, claim, &mut draft);
    users(cx, claim, &mut draft);
    let member = draft.seen(retention::membership(cx, claim));
    if let Some(found) = &member {
        match (&found.decided, found.pairs.len()) {
            (Some(member), _) => membership(cx, claim, member, &mut draft),
            (None, 0) => {}
            (None, _) => {
                let pairs = found.pairs.iter();
                let pairs = pairs.map(|it| {
                    let but = it.contradicted_by(claim).map_or_else(String::new, |it| {
                        format!(", but its label {}={} contradicts its selector", it.key, it.value)
                    });
                    format!("template {} of set {}{but}", it.template, it.set.metadata.name)
                });
                let pairs: Vec<_> = pairs.collect();
                draft.note(format!(
                    "its name fits {}; which of them it belongs to is unknown",
                    pairs.join(" as well as ")
                ));
            }
        }
    }
    deleted(cx, claim, &mut draft);
    if let Some(member) = member.and_then(|it| it.decided) {
        operations(cx, claim, &member, &mut draft);
    } else {
        pods_deleted(cx, claim, &mut draft);
    }
    controller::of_claim(cx, claim, class, &mut draft);
    neighbours::around_claim(cx, claim, &mut draft);
    error::of_claim(cx, claim, &mut draft);
    draft
}

fn status(cx: &Cx, claim: &Claim, draft: &mut ExplanationDraft) {
    // A claim that was never bound has been Pending since its creation; of later changes of the
    // phase nothing keeps the time.
    let since = match (&claim.phase, claim.bind_completed, claim.metadata.deleting) {
        (ClaimPhase::Pending, false, None) => lasting(cx, &Age::stamped(claim.metadata.created)),
        _ => None,
    };
    draft.status(format!("{}{}", claim.phase, since.unwrap_or_default()));
    draft.terminating(cx, claim.metadata.deleting);
}

fn state(cx: &Cx, claim: &Claim, draft: &mut ExplanationDraft) {
    draft.show("status.phase", claim.phase.to_string());
    draft.show("spec.volumeName", claim.volume_name.as_deref().unwrap_or("<none>"));
    let volume = claim.volume_name.as_deref().and_then(|it| draft.seen(cx.volume(it)).flatten());
    if let Some(volume) = volume {
        draft.show("reclaim policy of its volume", volume.reclaim_policy.to_string());
    }
    if let Some(requested) = claim.requested {
        draft.show("spec.resources.requests.storage", format_bytes(requested));
    }
    if let Some(capacity) = claim.capacity {
        draft.show("status.capacity.storage", format_bytes(capacity));
    }
    for condition in claim.conditions.iter().filter(|it| it.holds) {
        draft.show("status.conditions", condition_words(&condition.kind, &condition.message));
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
}

fn condition_words(kind: &str, message: &str) -> String {
    if message.is_empty() { kind.to_owned() } else { format!("{kind}; {message}") }
}

/// Adds the fields that matter, and returns the class.
fn fields<'a>(
    cx: &Cx<'a>,
    claim: &Claim,
    draft: &mut ExplanationDraft,
) -> Option<&'a StorageClass> {
    let volume = match &claim.volume_name {
        None => "none".to_owned(),
        Some(name) => match draft.seen(cx.volume(name)) {
            None => format!("{name} (not read)"),
            Some(None) => format!("{name} (does not exist)"),
            Some(Some(volume)) => {
                let terminating =
                    if volume.metadata.deleting.is_some() { ", Terminating" } else { "" };
                format!("{name} ({}{terminating}, policy {})", volume.phase, volume.reclaim_policy)
            }
        },
    };
    draft.field("volume", volume);
    // Whoever recreates its volume has to write it into spec.claimRef.
    if claim.phase == ClaimPhase::Lost
        && let Some(uid) = &claim.metadata.uid
    {
        draft.field("uid", uid.to_string());
    }
    let class = claim.class.as_ref().filter(|it| !it.is_empty());
    let class = class.and_then(|name| {
        let found = draft.seen(cx.claimed_class(name));
        let state = match found {
            None => " (not read)".to_owned(),
            Some(None) => " (does not exist)".to_owned(),
            Some(Some(class)) => format!(" (provisioner {})", class.provisioner),
        };
        draft.field("class", format!("{name}{state}"));
        found.flatten()
    });
    match (claim.requested, claim.capacity) {
        (Some(requested), Some(capacity)) if requested != capacity => draft.field(
            "capacity",
            format!("{}, requested {}", format_bytes(capacity), format_bytes(requested)),
        ),
        (_, Some(size)) | (Some(size), None) => draft.field("capacity", format_bytes(size)),
        (None, None) => {}
    }
    if cx.figures().is_some()
        && let Some(fullness) = draft.seen(fullness(cx, claim))
    {
        draft.field("usage", fullness.told());
    }
    if claim.phase == ClaimPhase::Pending
        && let Some(name) = &claim.selected_node
    {
        let node = draft.seen(facts::node_state(cx, name, Kind::PersistentVolumeClaim));
        let state = match node {
            None => "not read".to_owned(),
            Some(None) => "does not exist".to_owned(),
            Some(Some(state)) => state,
        };
        draft.field("selected node", format!("{name} ({state})"));
    }
    for condition in claim.conditions.iter().filter(|it| it.holds && &*it.kind != "Unused") {
        draft.field("condition", condition_words(&condition.kind, &condition.message));
    }
    for owner in &claim.metadata.owners {
        let state = match facts::ownership(cx, claim, owner) {
            Ok(Ownership::Solid) => "exists",
            Ok(Ownership::Dangling) => "does not exist, or has another uid",
            Ok(Ownership::NotServed) => "its kind is not served",
            Err(_) => "whether it exists is unknown",
        };
        draft.field("owner", format!("{} {} ({state})", owner.kind, owner.name));
    }
    draft.finalizers(&claim.metadata, &[PVC_PROTECTION]);
    class
}

fn why(cx: &Cx, claim: &Claim, draft: &mut ExplanationDraft) {
    let lost = draft.seen(facts::lost_cause(cx, claim)).flatten();
    let changed = lost.as_ref().filter(|it| matches!(it, LostCause::Changed(_)));
    match (&claim.phase, changed) {
        (ClaimPhase::Lost, Some(cause)) => {
            draft.because(format!("{}; {}", cause.describe(claim), cause.advice(cx, claim)));
        }
        (ClaimPhase::Lost, None) => draft
            .because("the volume that it was bound to does not exist, or belongs to another claim"),
        (ClaimPhase::Pending, _) if claim.volume_name.is_none() => {
            draft.because("no volume was bound to it or provisioned for it yet");
        }
        (ClaimPhase::Pending | ClaimPhase::Bound | ClaimPhase::Other(_), _) => {}
    }
    if claim.metadata.deleting.is_some() {
        let holders = draft.seen(facts::upstream_in_use(cx, claim)).unwrap_or_default();
        if holders.is_empty() {
            draft.note("its deletion was requested, and no scheduled pod uses it; it remains until its finalizers are removed");
        } else {
            let pods: Vec<_> = holders.iter().map(|it| it.pod.object().to_string()).collect();
            draft.note(format!(
                "its deletion was requested (irreversible); it waits until these pods are deleted: {}",
                pods.join(", ")
            ));
        }
    }
    for owner in &claim.metadata.owners {
        match facts::ownership(cx, claim, owner) {
            Ok(Ownership::Solid) => {}
            Ok(Ownership::NotServed) => draft.note(format!(
                "the server does not serve the kind of its owner {} {}: once it is served again, the garbage collector deletes the claim unless that owner exists",
                owner.kind, owner.name
            )),
            Ok(Ownership::Dangling) => draft.because(format!(
                "its owner {} {} does not exist, or another object has its name",
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
            draft.user(object, how, holds);
        }
    }
    for unseen in found.unseen {
        draft.unseen(unseen);
    }
    if let Some(mark) = facts::operator_mark(&claim.metadata) {
        let (label, operator) = (mark.label(), mark.mark.operator);
        draft.note(match mark.makes_pods_on_demand() {
            true => format!(
                "label {label} is a mark of {operator}, which makes pods with the claim when they are wanted"
            ),
            false => format!("label {label} is a mark of {operator}, which may still need the claim"),
        });
    }
    for notice in found.notices {
        draft.note(notice);
    }
    if let Some(unused) = claim.condition("Unused") {
        let since = unused.since.as_ref().map_or_else(|| "<unknown>".to_owned(), format_time);
        draft.note(format!(
            "condition Unused: no pod has used it since {since}; finished pods do not count, nor does use before the server had this condition"
        ));
    }
}

fn membership(cx: &Cx, claim: &Claim, member: &TemplateClaim, draft: &mut ExplanationDraft) {
    let set = member.set;
    let range = set::range(set);
    let wanted = if member.is_wanted() { "in" } else { "outside" };
    let (template, ordinal) = (member.template, member.ordinal);
    draft.field(
        "set",
        format!(
            "{}, template {template}, ordinal {ordinal} ({wanted} its range {range})",
            set.object()
        ),
    );
    draft.because(format!(
        "it is the claim of template {template} and ordinal {ordinal} of {}, {wanted} its range {range}",
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
        draft.note(set::describe_update(&next));
    }
}

/// Adds the effect on the claim and on its data if it is deleted.
fn deleted(cx: &Cx, claim: &Claim, draft: &mut ExplanationDraft) {
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

/// Adds the effect on the data if the claim is deleted.
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
fn pods_deleted(cx: &Cx, claim: &Claim, draft: &mut ExplanationDraft) {
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

//! Explanation of a volume.

use super::super::finding::shown_claim_ref;
use super::draft::{DELETED, ExplanationDraft, lasting};
use super::{controller, error, neighbours};
use crate::cluster::{Cx, Placed};
use crate::facts::{self, ClaimState, PV_PROTECTION};
use crate::model::{
    Kind, NodeAffinity, ObjectKey, ObjectRef, Phase, Volume, format_bytes, format_time,
};

const CLAIM_DELETED: &str = "its claim is deleted";

pub(super) fn explain(cx: &Cx, volume: &Volume) -> ExplanationDraft {
    let mut draft = ExplanationDraft::new(volume.object());
    state(cx, volume, &mut draft);
    status(cx, volume, &mut draft);
    fields(cx, volume, &mut draft);
    why(cx, volume, &mut draft);
    users(cx, volume, &mut draft);
    draft.deletion_effect(DELETED, None, facts::when_volume_is_deleted(cx, volume));
    if volume.phase == Phase::Bound {
        draft.deletion_effect(CLAIM_DELETED, None, facts::when_claim_is_deleted(cx, volume));
    }
    controller::of_volume(cx, volume, &mut draft);
    neighbours::around_volume(cx, volume, &mut draft);
    error::of_volume(cx, volume, &mut draft);
    draft
}

fn state(cx: &Cx, volume: &Volume, draft: &mut ExplanationDraft) {
    draft.show("status.phase", volume.phase.to_string());
    draft.show("spec.persistentVolumeReclaimPolicy", volume.reclaim_policy.to_string());
    draft.show("reclaimed by", facts::describe_owner(volume, cx.server()));
    if volume.claim_ref.is_some() {
        draft.show("spec.claimRef", shown_claim_ref(volume));
    }
    if let Some(backend) = &volume.backend {
        draft.show("backend volume", backend.to_string());
    }
    if let Some(time) = &volume.metadata.deleting {
        draft.show("metadata.deletionTimestamp", format_time(time));
    }
    draft.show("metadata.finalizers", volume.metadata.finalizers.join(", "));
}

fn status(cx: &Cx, volume: &Volume, draft: &mut ExplanationDraft) {
    let deleting = volume.metadata.deleting;
    let since = match lasting(cx, &facts::phase_age(cx, volume)) {
        Some(since) => since,
        None if volume.phase == Phase::Released => " for an unknown time".to_owned(),
        None => String::new(),
    };
    // How long it has been Terminating matters more.
    let since = if deleting.is_some() { "" } else { &since };
    draft.status(format!("{}{since}", volume.phase));
    draft.terminating(cx, deleting);
}

fn fields(cx: &Cx, volume: &Volume, draft: &mut ExplanationDraft) {
    let claim = match (&volume.claim_ref, draft.seen(facts::claim_state(cx, volume))) {
        (None, _) => "none; any matching claim can bind it".to_owned(),
        (Some(named), state) => {
            let state = match state {
                None => "not read".to_owned(),
                Some(ClaimState::None | ClaimState::Reserved) => "reserved for it".to_owned(),
                Some(ClaimState::Live(claim)) => claim.phase.to_string(),
                Some(ClaimState::Absent) => "does not exist".to_owned(),
                Some(ClaimState::Changed(claim)) => {
                    format!("changed; its own claim is {}, {}", claim.object(), claim.phase)
                }
                Some(ClaimState::Recreated(claim)) => {
                    format!("recreated with another uid, {}", claim.phase)
                }
            };
            format!("{} ({state})", named.key)
        }
    };
    draft.field("claim", claim);
    draft.field("reclaim policy", volume.reclaim_policy.to_string());
    draft.field("reclaimed by", facts::describe_owner(volume, cx.server()));
    if let Some(backend) = &volume.backend {
        draft.field("backend volume", backend.to_string());
    }
    let size = volume.capacity.map(format_bytes);
    let class = volume.class.as_ref().map(|it| format!("class {it}"));
    let size: Vec<_> = size.into_iter().chain(class).collect();
    if !size.is_empty() {
        draft.field("capacity", size.join(", "));
    }
    if let Some(reading) = draft.seen(facts::last_reading(cx, volume)).flatten() {
        draft.field("last usage", reading.told());
    }
    if let Some(affinity) = &volume.node_affinity {
        nodes(cx, affinity, draft);
    }
    draft.finalizers(&volume.metadata, &[PV_PROTECTION]);
}

/// Adds the node of a volume that can be used on one node only.
fn nodes(cx: &Cx, affinity: &std::sync::Arc<NodeAffinity>, draft: &mut ExplanationDraft) {
    let hosts = affinity.terms.iter().flat_map(|term| &term.labels);
    let mut hosts: Vec<_> = hosts
        .filter(|it| &*it.key == "kubernetes.io/hostname" && &*it.operator == "In")
        .flat_map(|it| it.values.iter().map(|name| &**name))
        .collect();
    hosts.sort_unstable();
    hosts.dedup();
    let found = cx.node_matching(affinity, |_| true);
    let state = match (&found, cx.any_node_matches(affinity)) {
        (Ok(Some(node)), _) => facts::node_state(cx, &node.metadata.name, Kind::PersistentVolume)
            .ok()
            .flatten()
            .unwrap_or_default(),
        (_, Ok(false)) => "does not exist".to_owned(),
        (_, Ok(true)) => String::new(),
        (_, Err(unseen)) => {
            draft.unseen(unseen);
            "not read".to_owned()
        }
    };
    match &hosts[..] {
        // An affinity that names no host is that of a zone: it matters only if no node is left in it.
        [] if state != "does not exist" => {}
        [] => draft.field("node", "no node matches its node affinity"),
        [one] => draft.field("node", format!("{one} ({state})")),
        many if state == "does not exist" => {
            draft.field("node", format!("{} (none of them exists)", many.join(", ")));
        }
        many => draft.field("node", many.join(", ")),
    }
}

fn why(cx: &Cx, volume: &Volume, draft: &mut ExplanationDraft) {
    if volume.metadata.deleting.is_some() {
        draft.because(
            "its deletion was requested (irreversible); it remains until its finalizers are removed",
        );
    }
    if let Some(refusal) = facts::guard_refusal(cx, volume) {
        let controller = facts::owner(volume).describe();
        draft.because(format!(
            "the guard refuses {controller}, which retries for ever; {}",
            refusal.advice(&controller, &[])
        ));
    }
    if let Some(state) = draft.seen(facts::claim_state(cx, volume)) {
        draft.because(match state {
            ClaimState::None => {
                "spec.claimRef is empty: any matching claim can bind it".to_owned()
            }
            ClaimState::Reserved => {
                "it is reserved: only the claim that spec.claimRef names can bind it".to_owned()
            }
            ClaimState::Live(claim) => format!("{} is its claim, and exists", claim.object()),
            ClaimState::Absent => {
                "the claim that it was bound to does not exist; a new claim of that name never binds it, since its uid differs"
                    .to_owned()
            }
            ClaimState::Changed(claim) => format!(
                "spec.claimRef was changed: its uid is of no claim, and {} is the volume's own claim; {}",
                claim.object(),
                facts::giving_back(volume, claim)
            ),
            ClaimState::Recreated(claim) => format!(
                "the claim that it was bound to does not exist; {} is another one of the same name",
                claim.object()
            ),
        });
    }
    if volume.phase == Phase::Failed {
        let message = volume.message.as_deref().unwrap_or("no message");
        draft.because(format!("reclaim failed: {message}"));
    }
}

/// Adds the users of a volume.
fn users(cx: &Cx, volume: &Volume, draft: &mut ExplanationDraft) {
    draft.explanation.looked_at = vec![
        Kind::PersistentVolumeClaim,
        Kind::Pod,
        Kind::VolumeAttachment,
        Kind::Node,
        Kind::VolumeSnapshotContent,
    ];
    for claim in draft.seen(cx.claims_naming(volume.name())).unwrap_or_default() {
        draft.user(claim.object(), format!("claim, {}", claim.phase), true);
    }
    if let Some(claim) = &volume.claim_ref {
        for pod in draft.seen(cx.pods_of(&claim.key)).unwrap_or_default() {
            let node = pod.node.as_deref().map_or_else(String::new, |it| format!(" on node {it}"));
            let how = format!("pod that uses its claim, {}{node}", pod.phase.name());
            draft.user(pod.object(), how, false);
        }
    }
    for row in draft.seen(cx.attachments_of(volume.name())).unwrap_or_default() {
        let state = if row.attached { "attached" } else { "not attached" };
        let node = match draft.seen(facts::node_state(cx, &row.node, Kind::VolumeAttachment)) {
            None => String::new(),
            Some(None) => " (does not exist)".to_owned(),
            Some(Some(state)) => format!(" ({state})"),
        };
        let how = format!("attachment to node {}{node}, {state}", row.node);
        draft.user(row.object(), how, false);
    }
    let places = volume.places();
    for (node, _) in draft.seen(cx.nodes_at(&places)).unwrap_or_default() {
        let object = ObjectRef {
            key: ObjectKey::cluster_wide(Kind::Node, &node.metadata.name),
            uid: node.metadata.uid.clone(),
        };
        draft.user(object, "node that lists it in volumesInUse or volumesAttached", false);
    }
    for (snapshot, _) in draft.seen(cx.snapshots_at(&places)).unwrap_or_default() {
        let in_progress = snapshot.in_progress();
        let how = if in_progress { "snapshot that is not ready yet" } else { "snapshot of it" };
        draft.user(snapshot.object(), how, false);
    }
    for (other, overlap) in draft.seen(cx.volumes_at(&places)).unwrap_or_default() {
        if other.name() == volume.name() {
            continue;
        }
        draft.user(other.object(), facts::lies(&overlap), false);
    }
}

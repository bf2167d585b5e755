//! Explanation of a volume.

use super::super::finding::shown_uid;
use super::{Explanation, ExplanationDraft, User};
use crate::cluster::{Cx, Placed};
use crate::facts::{self, ClaimState};
use crate::model::{Kind, Phase, Volume, format_time};

const DELETED: &str = "it is deleted";
const CLAIM_GOES: &str = "its claim goes";

pub(super) fn explain(cx: &Cx, volume: &Volume) -> Explanation {
    let mut draft = ExplanationDraft::new(volume.object());
    draft.show("status.phase", volume.phase.to_string());
    draft.show("spec.persistentVolumeReclaimPolicy", volume.reclaim_policy.to_string());
    draft.show("reclaimed by", facts::owner(volume).describe());
    if let Some(claim) = &volume.claim_ref {
        let uid = shown_uid(claim.uid.as_ref());
        draft.show("spec.claimRef", format!("{} uid {uid}", claim.key));
    }
    if let Some(backend) = &volume.backend {
        draft.show("backend volume", backend.to_string());
    }
    if let Some(time) = &volume.metadata.deleting {
        draft.show("metadata.deletionTimestamp", format_time(time));
    }
    draft.show("metadata.finalizers", volume.metadata.finalizers.join(", "));
    why(cx, volume, &mut draft);
    users(cx, volume, &mut draft);
    draft.deletion_effect(DELETED, None, facts::when_volume_is_deleted(cx, volume));
    if volume.phase == Phase::Bound {
        draft.deletion_effect(CLAIM_GOES, None, facts::when_claim_is_deleted(cx, volume));
    }
    draft.done()
}

fn why(cx: &Cx, volume: &Volume, draft: &mut ExplanationDraft) {
    if volume.metadata.deleting.is_some() {
        draft.because(
            "somebody deleted it, which nothing takes back: it goes when its finalizers are gone",
        );
    }
    if let Some(state) = draft.seen(facts::claim_state(cx, volume)) {
        draft.because(match (state, &volume.phase) {
            (ClaimState::None, _) => "it names no claim: any claim that fits may bind it".to_owned(),
            (ClaimState::Reserved, _) => {
                "it is reserved: only the claim of the name that it gives can bind it".to_owned()
            }
            (ClaimState::Live(claim), _) => format!("{} is its claim, and exists", claim.object()),
            (ClaimState::Absent, _) => {
                "the claim that it was bound to is gone; a new claim of that name never binds it, since its uid differs"
                    .to_owned()
            }
            (ClaimState::Recreated(claim), _) => format!(
                "the claim that it was bound to is gone, and {} is another one of the same name",
                claim.object()
            ),
        });
    }
    if volume.phase == Phase::Failed {
        let message = volume.message.as_deref().unwrap_or("no message");
        draft.because(format!("reclaiming it failed: {message}"));
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
    if let Some(claims) = draft.seen(cx.claims_naming(volume.name())) {
        for claim in claims {
            let how = format!("claim, {}", claim.phase);
            draft.explanation.users.push(User { object: claim.object(), how, holds: true });
        }
    }
    if let Some(claim) = &volume.claim_ref
        && let Some(pods) = draft.seen(cx.pods_of(&claim.key))
    {
        for pod in pods {
            let node = pod.node.as_deref().map_or_else(String::new, |it| format!(" on node {it}"));
            let how = format!("pod that names its claim, {}{node}", pod.phase.name());
            draft.explanation.users.push(User { object: pod.object(), how, holds: false });
        }
    }
    if let Some(attachments) = draft.seen(cx.attachments_of(volume.name())) {
        for row in attachments {
            let state = if row.attached { "attached" } else { "not attached" };
            let how = format!("attachment to node {}, {state}", row.node);
            draft.explanation.users.push(User { object: row.object(), how, holds: false });
        }
    }
    let places = volume.places();
    if let Some(nodes) = draft.seen(cx.nodes_at(&places)) {
        for (node, _) in nodes {
            let object = crate::model::ObjectRef {
                key: crate::model::ObjectKey::cluster_wide(Kind::Node, &node.metadata.name),
                uid: node.metadata.uid.clone(),
            };
            let how = "node that says it has it in use".to_owned();
            draft.explanation.users.push(User { object, how, holds: false });
        }
    }
    if let Some(snapshots) = draft.seen(cx.snapshots_at(&places)) {
        for (snapshot, _) in snapshots {
            let how =
                if snapshot.in_progress() { "snapshot being taken" } else { "snapshot of it" };
            let user = User { object: snapshot.object(), how: how.to_owned(), holds: false };
            draft.explanation.users.push(user);
        }
    }
    if let Some(others) = draft.seen(cx.others_at(volume)) {
        for (other, overlap) in others {
            let how = facts::lies(&overlap).to_owned();
            draft.explanation.users.push(User { object: other.object(), how, holds: false });
        }
    }
}

//! Explanation of a `VolumeSnapshot`, and of its content.

use super::draft::{DELETED, ExplanationDraft};
use super::{controller, error, neighbours};
use crate::cluster::{Cx, Placed, Subject};
use crate::model::{
    ClaimKey, ClaimPhase, Kind, ObjectKey, SnapshotContent, SnapshotSource, Text, VolumeSnapshot,
    format_bytes,
};

/// Explains a `VolumeSnapshot`.
pub(super) fn explain(cx: &Cx, snapshot: &VolumeSnapshot) -> ExplanationDraft {
    let mut draft = ExplanationDraft::new(snapshot.object());
    draft.status(if snapshot.ready { "ready to use" } else { "not ready to use" });
    draft.terminating(cx, snapshot.metadata.deleting);
    draft.show("status.readyToUse", if snapshot.ready { "true" } else { "false" });
    draft.show("metadata.finalizers", snapshot.metadata.finalizers.join(", "));
    if let Some(source) = &snapshot.source_claim {
        let key = ClaimKey { namespace: Text::clone(&snapshot.namespace), name: source.clone() };
        let claim = draft.seen(cx.claim(&key));
        let state = match claim {
            None => "not read".to_owned(),
            Some(None) => "does not exist".to_owned(),
            Some(Some(claim)) => claim.phase.to_string(),
        };
        draft.show("spec.source.persistentVolumeClaimName", &**source);
        draft.field("source claim", format!("{source} ({state})"));
        if let Some(claim) = claim.flatten() {
            neighbours::around_claim(cx, claim, &mut draft);
        }
    }
    let content = snapshot.content.as_deref();
    draft.show("status.boundVolumeSnapshotContentName", content.unwrap_or("<none>"));
    let row = content.and_then(|name| {
        let key = ObjectKey::cluster_wide(Kind::VolumeSnapshotContent, name);
        match cx.cluster().subject(&key) {
            Some(Subject::Snapshot(id)) => cx.cluster().snapshot_at(id),
            _ => None,
        }
    });
    let read = draft.seen(cx.all_of(Kind::VolumeSnapshotContent)).is_some();
    draft.field(
        "content",
        match (content, row) {
            (None, _) => "none yet".to_owned(),
            (Some(name), Some(row)) => format!("{name} ({})", policy(row)),
            (Some(name), None) if read => format!("{name} (does not exist)"),
            (Some(name), None) => format!("{name} (not read)"),
        },
    );
    if let Some(row) = row {
        handle(row, &mut draft);
        draft.hangs_on(cx.cluster().subject(&row.object().key));
    }
    draft.finalizers(
        &snapshot.metadata,
        &[
            "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection",
            "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection",
        ],
    );
    users(cx, &snapshot.namespace, &snapshot.metadata.name, &mut draft);
    match (snapshot.metadata.deleting, row) {
        (Some(_), _) => draft.outcome(DELETED, None, "unaffected", "already Terminating"),
        (None, Some(row)) => deleted(row, &mut draft),
        (None, None) if !read => draft.outcome(
            DELETED,
            None,
            "unknown",
            "the deletion policy of its content decides, which was not read",
        ),
        (None, None) => {
            draft.outcome(DELETED, None, "deleted", "no content is bound to it");
        }
    }
    if !snapshot.ready || snapshot.metadata.deleting.is_some() {
        controller::of_snapshot(cx, &mut draft);
    }
    error::of_snapshot(snapshot, &mut draft);
    draft
}

/// Explains a `VolumeSnapshotContent` or a `VolumeGroupSnapshotContent`.
pub(super) fn of_content(cx: &Cx, content: &SnapshotContent) -> ExplanationDraft {
    let mut draft = ExplanationDraft::new(content.object());
    draft.status(if content.ready { "ready to use" } else { "not ready to use" });
    draft.terminating(cx, content.metadata.deleting);
    draft.show("status.readyToUse", if content.ready { "true" } else { "false" });
    draft.show("spec.deletionPolicy", content.deletion_policy.as_deref().unwrap_or("<none>"));
    draft.show("metadata.finalizers", content.metadata.finalizers.join(", "));
    if let Some((namespace, name)) = &content.snapshot {
        let state = match draft.seen(cx.volume_snapshot(namespace, name)) {
            None => "not read",
            Some(None) => "does not exist",
            Some(Some(found)) if content.snapshot_uid != found.metadata.uid => {
                "another one of this name"
            }
            Some(Some(found)) if found.ready => "ready to use",
            Some(Some(_)) => "not ready to use",
        };
        draft.show("spec.volumeSnapshotRef", format!("{namespace}/{name}"));
        draft.field("snapshot", format!("{namespace}/{name} ({state})"));
        users(cx, namespace, name, &mut draft);
    }
    draft.field("deletion policy", content.deletion_policy.as_deref().unwrap_or("none"));
    handle(content, &mut draft);
    if matches!(content.source, SnapshotSource::Volumes(_)) {
        let places = content.places();
        let sources = draft.seen(cx.volumes_at(&places)).unwrap_or_default();
        let sources: Vec<_> =
            sources.iter().filter(|(_, overlap)| overlap.is_certain()).map(|it| it.0).collect();
        let names: Vec<_> = sources.iter().take(5).map(|it| it.name()).collect();
        draft.field(
            "source volume",
            match &names[..] {
                [] => "no PersistentVolume references it".to_owned(),
                some => some.join(", "),
            },
        );
        for volume in sources.into_iter().take(5) {
            neighbours::around_volume(cx, volume, &mut draft);
        }
    }
    draft.finalizers(
        &content.metadata,
        &["snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection"],
    );
    if content.metadata.deleting.is_some() {
        draft.outcome(DELETED, None, "unaffected", "already Terminating");
    } else {
        deleted(content, &mut draft);
    }
    if content.in_progress() || content.metadata.deleting.is_some() {
        controller::of_snapshot(cx, &mut draft);
    }
    draft.hangs_on(neighbours::provisioner(cx, &content.driver));
    draft
}

fn policy(content: &SnapshotContent) -> String {
    match &content.deletion_policy {
        Some(policy) => format!("policy {policy}"),
        None => "no deletion policy".to_owned(),
    }
}

/// Adds the driver and the handle of a snapshot.
fn handle(content: &SnapshotContent, draft: &mut ExplanationDraft) {
    let handle = content.handle.as_deref().unwrap_or("not created yet");
    let size = content.size.map_or_else(String::new, |it| format!(", {}", format_bytes(it)));
    draft.show("spec.driver", &*content.driver);
    draft.field("snapshot handle", format!("{} {handle}{size}", content.driver));
}

/// Adds the claims that are being restored, or were restored, from a snapshot.
fn users(cx: &Cx, namespace: &Text, name: &str, draft: &mut ExplanationDraft) {
    draft.explanation.looked_at = vec![Kind::PersistentVolumeClaim];
    for claim in draft.seen(cx.claims_restored_from(namespace, name)).unwrap_or_default() {
        let pending = claim.phase == ClaimPhase::Pending;
        let how = if pending { "being restored from it, Pending" } else { "was restored from it" };
        draft.user(claim.object(), how, false);
    }
}

fn deleted(content: &SnapshotContent, draft: &mut ExplanationDraft) {
    let driver = &content.driver;
    match content.deletion_policy.as_deref() {
        Some("Delete") => draft.outcome(
            DELETED,
            None,
            "destroyed",
            format!("deletion policy Delete: csi-snapshotter of {driver} deletes the snapshot at the storage backend"),
        ),
        Some("Retain") => draft.outcome(
            DELETED,
            None,
            "kept",
            "deletion policy Retain: the snapshot remains at the storage backend",
        ),
        _ => draft.outcome(DELETED, None, "unknown", "its deletion policy is unknown"),
    }
}

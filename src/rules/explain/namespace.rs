//! Explanation of a namespace: the data that its deletion destroys, keeps and leaks, and the objects that block it.

use std::collections::BTreeSet;

use super::ObjectEffect;
use super::draft::{DELETED, ExplanationDraft, counted};
use crate::cluster::{Cx, Subject};
use crate::facts::{self, CLONE_SOURCE, DataEffect, PVC_PROTECTION, SNAPSHOT_SOURCE, SnapshotFate};
use crate::model::{
    Claim, Kind, ObjectKey, ObjectRef, SnapshotContent, Text, Volume, VolumeSnapshot, format_bytes,
};

/// The finalizers of a `VolumeSnapshot` that the snapshot-controller removes.
const OF_SNAPSHOT_CONTROLLER: [&str; 2] = [
    "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection",
    "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection",
];

pub(super) fn explain(cx: &Cx, name: &Text) -> ExplanationDraft {
    let key = ObjectKey::cluster_wide(Kind::Namespace, name);
    let mut draft = ExplanationDraft::new(ObjectRef { key, uid: None });
    let cluster = cx.cluster();
    for kind in [Kind::PersistentVolumeClaim, Kind::Pod, Kind::VolumeSnapshot] {
        draft.seen(cluster.reach(kind, Some(name)));
    }
    for kind in
        [Kind::PersistentVolume, Kind::VolumeSnapshotContent, Kind::VolumeGroupSnapshotContent]
    {
        draft.seen(cx.all_of(kind));
    }
    let in_it = |namespace: &Text| namespace == name;
    let mut claims: Vec<_> =
        cluster.claims().map(|(_, it)| it).filter(|it| in_it(&it.namespace)).collect();
    claims.sort_by_key(|it| &it.metadata.name);
    let mut snapshots: Vec<_> =
        cluster.volume_snapshots().map(|(_, it)| it).filter(|it| in_it(&it.namespace)).collect();
    snapshots.sort_by_key(|it| &it.metadata.name);
    let sets = cluster.sets().filter(|(_, it)| in_it(&it.namespace)).count();
    let pods = cluster.pods().filter(|(_, it)| in_it(&it.namespace) && !it.claims.is_empty());
    let numbers = [
        (claims.len(), "claim"),
        (sets, "StatefulSet"),
        (pods.count(), "pod with claims"),
        (snapshots.len(), "VolumeSnapshot"),
    ];
    let shown: Vec<_> =
        numbers.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| counted(n, what)).collect();
    let all_read = draft.explanation.unseen.is_empty();
    draft.status(match (shown.is_empty(), all_read) {
        (true, true) => "no storage in use".to_owned(),
        (true, false) => "what it holds was not read".to_owned(),
        (false, true) => shown.join(", "),
        (false, false) => format!("{}, not everything was read", shown.join(", ")),
    });
    draft.show("claims", claims.len().to_string());
    draft.show("volumesnapshots", snapshots.len().to_string());
    if shown.is_empty() && all_read {
        draft.note(
            "it has no claim, no pod with a claim and no VolumeSnapshot; a namespace that does not exist looks the same",
        );
    }
    if !all_read {
        draft.outcome(
            DELETED,
            None,
            "unknown",
            "more than is listed here may be destroyed: not everything could be read",
        );
    }
    for claim in &claims {
        data(cx, claim, &mut draft);
    }
    for snapshot in &snapshots {
        of_snapshot(cx, snapshot, &mut draft);
    }
    group_snapshots(cx, name, &mut draft);
    for claim in &claims {
        claim_blocks(cx, claim, &mut draft);
    }
    for snapshot in &snapshots {
        snapshot_blocks(snapshot, &mut draft);
    }
    pods_block(cx, name, &mut draft);
    draft.explanation.outcomes.sort_by_key(rank);
    hangs_on(cx, name, &mut draft);
    draft
}

/// Adds all objects of the namespace about which rules find something, and the volumes of its claims, existing or not.
fn hangs_on(cx: &Cx, name: &Text, draft: &mut ExplanationDraft) {
    let cluster = cx.cluster();
    let claims = cluster.claims().filter(|(_, it)| it.namespace == *name);
    draft.hangs_on(claims.map(|(id, _)| Subject::Claim(id)));
    let is_of = |it: &Volume| it.claim_ref.as_ref().is_some_and(|it| it.key.namespace == *name);
    let volumes = cluster.volumes().filter(|(_, it)| is_of(it));
    draft.hangs_on(volumes.map(|(id, _)| Subject::Volume(id)));
    let sets = cluster.sets().filter(|(_, it)| it.namespace == *name);
    draft.hangs_on(sets.map(|(id, _)| Subject::StatefulSet(id)));
    let pods = cluster.pods().filter(|(_, it)| it.namespace == *name);
    draft.hangs_on(pods.map(|(id, _)| Subject::Pod(id)));
    let is_of = |it: &SnapshotContent| it.snapshot.as_ref().is_some_and(|(of, _)| of == name);
    let contents = cluster.snapshots().filter(|(_, it)| is_of(it));
    draft.hangs_on(contents.map(|(id, _)| Subject::Snapshot(id)));
}

/// Rank of an effect: the worst loss has the lowest.
fn rank(effect: &ObjectEffect) -> usize {
    const ORDER: [&str; 10] = [
        "destroyed",
        "leaked",
        "destroyed-later",
        "scrubbed",
        "forgotten",
        "failed",
        "unknown",
        "released",
        "kept",
        "blocked",
    ];
    // What qualifies all others comes first.
    if effect.object.is_none() {
        return 0;
    }
    1 + ORDER.iter().position(|it| *it == effect.then).unwrap_or(ORDER.len())
}

/// Adds the effect on the data of a claim.
fn data(cx: &Cx, claim: &Claim, draft: &mut ExplanationDraft) {
    let found = facts::data_effect(cx, claim);
    if let facts::ClaimDataEffect::Unseen(reason) = &found {
        draft.outcome(DELETED, Some(claim.object()), "unknown", reason.clone());
        return;
    }
    let Some(volume) = found.volume() else { return };
    let then = facts::when_claim_is_deleted(cx, volume);
    let plain =
        matches!(then.data, DataEffect::Destroyed | DataEffect::Released) && !then.is_shared;
    let mut because = details(claim, volume);
    // Policy Delete destroys and policy Retain keeps: of what is otherwise the reason is told.
    if !plain {
        because = format!("{because}; {}", then.because);
    }
    draft.outcome(DELETED, Some(volume.object()), then.data.name(), because);
    if let Some(last) = draft.explanation.outcomes.last_mut() {
        last.capacity = volume.capacity;
    }
}

/// The size, the driver and the claim of a volume.
fn details(claim: &Claim, volume: &Volume) -> String {
    let size = volume.capacity.map(format_bytes);
    let driver = volume.drivers().next().map(ToOwned::to_owned);
    let claim = format!("claim {}", claim.metadata.name);
    size.into_iter().chain(driver).chain([claim]).collect::<Vec<_>>().join(", ")
}

/// Adds the effect on a snapshot at the storage backend.
fn of_snapshot(cx: &Cx, snapshot: &VolumeSnapshot, draft: &mut ExplanationDraft) {
    let Ok(fate) = facts::snapshot_fate(cx, snapshot) else { return };
    let source = snapshot.source_claim.as_ref();
    let source = source.map_or_else(String::new, |it| format!(" of claim {it}"));
    backend_snapshot(snapshot.object(), &format!("snapshot{source}"), fate, draft);
}

/// Adds the effects on the group snapshots of a namespace at the storage backend.
fn group_snapshots(cx: &Cx, namespace: &Text, draft: &mut ExplanationDraft) {
    for (content, fate) in facts::group_snapshot_fates(cx, namespace).unwrap_or_default() {
        let group = content.snapshot.as_ref().map_or("", |(_, name)| name);
        backend_snapshot(content.object(), &format!("VolumeGroupSnapshot {group}"), fate, draft);
    }
}

fn backend_snapshot(
    object: ObjectRef,
    what: &str,
    fate: SnapshotFate,
    draft: &mut ExplanationDraft,
) {
    let (then, because) = match fate {
        SnapshotFate::Destroyed(it) => ("destroyed", format!("{what}, {}", it.driver)),
        SnapshotFate::Kept(it) => {
            ("kept", format!("{what}, {}, deletion policy Retain", it.driver))
        }
        SnapshotFate::Unknown(why) => ("unknown", why),
    };
    draft.outcome(DELETED, Some(object), then, because);
}

/// Adds the finalizers that block the deletion of a claim, without those that wait for pods of the namespace.
fn claim_blocks(cx: &Cx, claim: &Claim, draft: &mut ExplanationDraft) {
    for blocking in facts::finalizers_of_claim(cx, claim) {
        let finalizer = &*blocking.finalizer;
        let because = match finalizer {
            // Removed once no pod uses the claim: pods are deleted with the namespace.
            PVC_PROTECTION => continue,
            SNAPSHOT_SOURCE => format!("finalizer {finalizer}, until its snapshot is ready"),
            CLONE_SOURCE => format!("finalizer {finalizer}, until its clone is complete"),
            _ => match &blocking.state {
                Some(_) => format!("finalizer {finalizer}, removed by {}", blocking.by),
                None => format!("third-party finalizer {finalizer}"),
            },
        };
        draft.outcome(DELETED, Some(claim.object()), "blocked", because);
    }
}

/// Adds the third-party finalizers of a snapshot, and whether it is still being taken.
fn snapshot_blocks(snapshot: &VolumeSnapshot, draft: &mut ExplanationDraft) {
    for finalizer in snapshot.metadata.finalizers.iter() {
        if !OF_SNAPSHOT_CONTROLLER.contains(&&**finalizer) {
            let because = format!("third-party finalizer {finalizer}");
            draft.outcome(DELETED, Some(snapshot.object()), "blocked", because);
        }
    }
    if !snapshot.ready && snapshot.metadata.deleting.is_none() {
        let because = "not ready to use; its deletion may wait until the snapshot is taken";
        draft.outcome(DELETED, Some(snapshot.object()), "blocked", because);
    }
}

/// Adds the pods that keep their claims because nothing confirms that they end: those on nodes that are not Ready.
fn pods_block(cx: &Cx, namespace: &Text, draft: &mut ExplanationDraft) {
    let mut told = BTreeSet::new();
    for (_, pod) in cx.cluster().pods() {
        // A finished pod is deleted without its kubelet (pod strategy, `CheckGracefulDelete`).
        if pod.namespace != *namespace || pod.claims.is_empty() || pod.is_finished() {
            continue;
        }
        let Some(node) = &pod.node else { continue };
        // The pod garbage collector deletes pods of nodes that do not exist.
        match cx.node(node, Kind::Pod) {
            Ok(Some(found)) if !found.ready && !found.out_of_service => {}
            Ok(_) => continue,
            Err(unseen) => {
                draft.unseen(unseen);
                continue;
            }
        }
        let because = format!(
            "node {node} is not Ready: the pod stays Terminating and keeps its claims until the node returns, or is declared out of service"
        );
        if told.insert(pod.object()) {
            draft.outcome(DELETED, Some(pod.object()), "blocked", because);
        }
    }
}

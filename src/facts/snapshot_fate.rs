//! What becomes of a snapshot at the storage backend when the objects in its namespace are deleted:
//! the deletion policy of its content decides (external-snapshotter, `snapshot_controller.go`,
//! `processSnapshotWithDeletionTimestamp`, and the same of groups).

use crate::cluster::{Cx, Placed, Seen};
use crate::model::{Claim, ClaimPhase, Kind, SnapshotContent, Text, Volume, VolumeSnapshot};

/// What becomes of a snapshot at the storage backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotFate<'a> {
    /// Its content is deleted, and the driver deletes the snapshot.
    Destroyed(&'a SnapshotContent),
    /// Its content is kept.
    Kept(&'a SnapshotContent),
    /// Unknown, for this reason.
    Unknown(String),
}

impl<'a> SnapshotFate<'a> {
    fn by_policy(content: &'a SnapshotContent) -> Self {
        match content.deletion_policy.as_deref() {
            Some("Delete") => Self::Destroyed(content),
            Some("Retain") => Self::Kept(content),
            _ => Self::Unknown("the deletion policy of its content is unknown".to_owned()),
        }
    }
}

/// Returns what becomes of the snapshot of a `VolumeSnapshot` that is deleted. Of several contents
/// that may be its own, the worst counts.
///
/// # Errors
/// When contents were not read.
pub fn snapshot_fate<'a>(cx: &Cx<'a>, snapshot: &VolumeSnapshot) -> Seen<SnapshotFate<'a>> {
    cx.all_of(Kind::VolumeSnapshotContent)?;
    let contents = cx.cluster().snapshots().map(|(_, it)| it);
    let mut worst = None;
    for content in contents.filter(|it| belongs(it, snapshot)) {
        let fate = SnapshotFate::by_policy(content);
        worst = match worst {
            Some(known @ SnapshotFate::Destroyed(_)) => Some(known),
            Some(known @ SnapshotFate::Unknown(_)) if matches!(fate, SnapshotFate::Kept(_)) => {
                Some(known)
            }
            _ => Some(fate),
        };
    }
    Ok(worst.unwrap_or_else(|| {
        SnapshotFate::Unknown(match &snapshot.content {
            Some(name) => format!("its content {name} was not found"),
            None => "its content is not known".to_owned(),
        })
    }))
}

/// Returns the contents of the group snapshots of a namespace, by name, with what becomes of each
/// when the namespace is deleted. A `VolumeGroupSnapshot` without a content has no snapshot at the
/// backend yet.
///
/// # Errors
/// When contents of group snapshots were not read.
pub fn group_snapshot_fates<'a>(
    cx: &Cx<'a>,
    namespace: &Text,
) -> Seen<Vec<(&'a SnapshotContent, SnapshotFate<'a>)>> {
    cx.all_of(Kind::VolumeGroupSnapshotContent)?;
    let contents = cx.cluster().snapshots().map(|(_, it)| it);
    let mut contents: Vec<_> = contents
        .filter(|it| it.kind == Kind::VolumeGroupSnapshotContent)
        .filter(|it| it.snapshot.as_ref().is_some_and(|(of, _)| of == namespace))
        .collect();
    contents.sort_by_key(|it| &it.metadata.name);
    Ok(contents.into_iter().map(|it| (it, SnapshotFate::by_policy(it))).collect())
}

/// Whether a content is that of a snapshot: either names the other. The status of a snapshot names
/// no content until it is bound.
fn belongs(content: &SnapshotContent, snapshot: &VolumeSnapshot) -> bool {
    if content.kind != Kind::VolumeSnapshotContent {
        return false;
    }
    let names_it = content.snapshot.as_ref().is_some_and(|(namespace, name)| {
        *namespace == snapshot.namespace && *name == snapshot.metadata.name
    });
    let of_another = content.snapshot_uid.is_some()
        && snapshot.metadata.uid.is_some()
        && content.snapshot_uid != snapshot.metadata.uid;
    snapshot.content.as_deref() == Some(&*content.metadata.name) || (names_it && !of_another)
}

/// A claim whose volume was made from another volume.
#[derive(Debug, Clone, Copy)]
pub struct VolumeClone<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The snapshot between them; `None` where the claim names the other one's claim.
    pub snapshot: Option<&'a SnapshotContent>,
}

/// Returns the claims whose volumes were made from a volume: from its claim, or from a snapshot of it,
/// which storage systems clone alike. A claim that waits to be restored is none yet.
///
/// # Errors
/// When claims or snapshot contents were not read.
pub fn clones<'a>(cx: &Cx<'a>, volume: &Volume) -> Seen<Vec<VolumeClone<'a>>> {
    let mut clones = Vec::new();
    if let Some(of) = &volume.claim_ref {
        let from = cx.claims_from(&of.key)?.into_iter();
        clones.extend(from.map(|claim| VolumeClone { claim, snapshot: None }));
    }
    for (content, _) in cx.snapshots_at(&volume.places())? {
        let Some((namespace, name)) = &content.snapshot else { continue };
        let restored = cx.claims_restored_from(namespace, name)?.into_iter();
        let bound = restored.filter(|claim| claim.phase != ClaimPhase::Pending);
        clones.extend(bound.map(|claim| VolumeClone { claim, snapshot: Some(content) }));
    }
    Ok(clones)
}

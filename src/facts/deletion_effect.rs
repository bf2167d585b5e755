//! Effects of a deletion: what happens to a volume and its data when its claim or the volume itself
//! is deleted, and what becomes of a snapshot when the objects in its namespace are deleted.
//!
//! The policy decides at the moment at which the claim is deleted (R-2644-7), with the finalizers
//! at that time: `pv_controller.go`, `reclaimVolume`, and the library behind csi-provisioner,
//! `shouldDelete` and `handleProtectionFinalizer`. For a snapshot, the deletion policy of its content
//! decides (external-snapshotter, `snapshot_controller.go`, `processSnapshotWithDeletionTimestamp`, and
//! the same of groups).

use super::{
    DataEffect, DriverEffect, EXTERNAL_PROVISIONER, IN_TREE, Owner, PV_PROTECTION, StaticDeletion,
    always_honors_reclaim_policy, controller, deleter_gone, deletes_on_node,
    deletes_static_volumes, describe_owner, destruction, driver_effect, expects_in_tree_finalizer,
    in_tree_deletes, known_deletable, owner, owner::DELETES, unmigrated,
};
use crate::cluster::{Cx, Others, Placed, Seen};
use crate::drivers::{Destruction, Overlap, Place};
use crate::model::{
    Claim, ClaimPhase, Kind, Liveness, Phase, ReclaimPolicy, SnapshotContent, Text, Volume,
    VolumeSnapshot,
};

/// The effect of a deletion on a volume, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletionEffect {
    /// The effect on the data.
    pub data: DataEffect,
    /// The reason, as one sentence without a full stop.
    pub because: String,
    /// Whether the reason names other volumes whose data is the same.
    pub is_shared: bool,
}

fn effect(data: DataEffect, because: impl Into<String>) -> DeletionEffect {
    DeletionEffect { data, because: because.into(), is_shared: false }
}

/// Largest number of other volumes that a sentence names.
const NAMED: usize = 5;

/// Adds the volumes with the same data: that of others is destroyed with this one, or this one with theirs.
fn with_others(cx: &Cx, volume: &Volume, mut then: DeletionEffect) -> DeletionEffect {
    // Renamed, or without its access point, it is out of the reach of others as well.
    let forgotten =
        then.data == DataEffect::Forgotten && volume.reclaim_policy == ReclaimPolicy::Delete;
    let destroys = then.data.may_destroy() || forgotten;
    let destroyed = match destruction(cx, volume, &owner(volume)) {
        Ok(Ok(Destruction::Storage { places, .. } | Destruction::Kept { places, .. })) => places,
        _ => volume.places().into_iter().map(Place::into_owned).collect(),
    };
    let at_these = cx.sharing_at(&destroyed, volume.name()).ok();
    let named = |(other, _): &(&Volume, Overlap)| match &other.claim_ref {
        Some(claim) => format!("{}, by {}", claim.key, other.object()),
        None => other.object().to_string(),
    };
    let is_certain = |it: &&(&Volume, Overlap)| it.1.is_certain();
    let words: Vec<String> = if destroys {
        let certain = at_these.as_ref().map_or(0, Others::certain);
        let first = at_these.iter().flat_map(Others::iter).filter(is_certain).map(named);
        let certain = few("also the data of", certain, first);
        let sharing = cx.sharing(volume).ok();
        let possible = sharing.as_ref().map_or(0, |it| it.len() - it.certain());
        let first = sharing.iter().flat_map(Others::iter).filter(|it| !is_certain(it)).map(named);
        let possible = few("perhaps also the data of", possible, first);
        certain.into_iter().chain(possible).collect()
    } else {
        let told = |others: &Others<'_>| {
            let (certain, all) = others.destroyers(|it| may_destroy(cx, it));
            few("but its data is also that of", certain, all.filter(is_certain).map(named))
        };
        let words = at_these.as_ref().and_then(told);
        words.map(|it| it + ", whose policy can destroy it").into_iter().collect()
    };
    if !words.is_empty() {
        then.because = format!("{}; {}", then.because, words.join("; "));
        then.is_shared = true;
    }
    then
}

/// Names the first of a number of volumes; `None` if there are none.
fn few(of: &str, count: usize, names: impl Iterator<Item = String>) -> Option<String> {
    let more = match count.saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown: Vec<_> = names.take(NAMED).collect();
    (count > 0).then(|| format!("{of} {}{more}", shown.join(" and ")))
}

/// Whether the policy of a volume can destroy data that the volume references, or take it out of the reach of others:
/// what its driver surely leaves alone, no policy destroys.
pub fn may_destroy(cx: &Cx, volume: &Volume) -> bool {
    if matches!(volume.reclaim_policy, ReclaimPolicy::Retain | ReclaimPolicy::Other(_)) {
        return false;
    }
    let effect = data_effect_without_claim(cx, volume);
    effect.may_destroy() || effect == DataEffect::Forgotten
}

/// Returns the effect on the data of a bound volume when its claim is deleted, by the volume and
/// the server's version alone: not whether a controller runs now, since a provisioner can be
/// installed at any time.
pub fn data_effect_without_claim(cx: &Cx, volume: &Volume) -> DataEffect {
    let terminating = volume.metadata.deleting.is_some();
    match &volume.reclaim_policy {
        ReclaimPolicy::Retain if terminating => DataEffect::Forgotten,
        ReclaimPolicy::Retain => DataEffect::Released,
        ReclaimPolicy::Recycle => DataEffect::Scrubbed,
        ReclaimPolicy::Other(_) => DataEffect::Failed,
        // kube-controller-manager may reclaim it, whatever the finalizers of csi-provisioner are.
        ReclaimPolicy::Delete if unmigrated(volume, cx.server()).is_some() => DataEffect::Destroyed,
        ReclaimPolicy::Delete => match owner(volume) {
            Owner::Csi(_) | Owner::External(_)
                if terminating && !volume.metadata.has_finalizer(EXTERNAL_PROVISIONER) =>
            {
                DataEffect::Leaked
            }
            owner @ (Owner::Csi(_) | Owner::External(_)) => {
                match driver_effect(cx, volume, &owner).data {
                    // Whether csi-provisioner deletes such volumes depends on its version.
                    DataEffect::Destroyed if owner.csi().is_some() && !volume.is_dynamic() => {
                        DataEffect::Unknown
                    }
                    data => data,
                }
            }
            Owner::InTree(plugin) => in_tree(cx, volume, &plugin).data,
            Owner::StaticInTree(_) => static_in_tree(cx, volume),
        },
    }
}

/// Returns the effect on the data of a statically provisioned in-tree volume with policy Delete.
fn static_in_tree(cx: &Cx, volume: &Volume) -> DataEffect {
    match in_tree_deletes(volume, cx.server()) {
        Some(true) => DataEffect::Destroyed,
        Some(false) => DataEffect::Failed,
        None => DataEffect::Unknown,
    }
}

/// Returns the effect on a bound volume when its claim is deleted, with the volumes that have the same data.
pub fn when_claim_is_deleted(cx: &Cx, volume: &Volume) -> DeletionEffect {
    with_others(cx, volume, without_claim(cx, volume))
}

fn without_claim(cx: &Cx, volume: &Volume) -> DeletionEffect {
    let terminating = volume.metadata.deleting.is_some();
    match &volume.reclaim_policy {
        ReclaimPolicy::Retain if terminating => effect(
            DataEffect::Forgotten,
            "its policy is Retain and it is Terminating: the object is deleted, the backend volume is kept",
        ),
        ReclaimPolicy::Retain => effect(
            DataEffect::Released,
            "its policy is Retain: it becomes Released, with everything on it",
        ),
        ReclaimPolicy::Recycle => effect(
            DataEffect::Scrubbed,
            "its policy is Recycle: the data is scrubbed, and any claim can then bind the volume",
        ),
        ReclaimPolicy::Other(policy) => effect(
            DataEffect::Failed,
            format!("its policy {policy} is unknown to Kubernetes: it becomes Failed"),
        ),
        ReclaimPolicy::Delete => match owner(volume) {
            owner @ (Owner::Csi(_) | Owner::External(_)) => external(cx, volume, &owner),
            Owner::InTree(plugin) => in_tree(cx, volume, &plugin),
            Owner::StaticInTree(source) => {
                let data = static_in_tree(cx, volume);
                effect(
                    data,
                    match data {
                        DataEffect::Destroyed => format!(
                            "its policy is Delete: kube-controller-manager deletes the data of this statically provisioned volume ({source})"
                        ),
                        DataEffect::Failed => format!(
                            "its policy is Delete, and no controller deletes a statically provisioned volume of this kind ({source}): it becomes Failed"
                        ),
                        _ => format!(
                            "whether kube-controller-manager deletes the data of a statically provisioned volume ({source}) depends on the server's version and settings"
                        ),
                    },
                )
            }
        },
    }
}

fn external(cx: &Cx, volume: &Volume, owner: &Owner) -> DeletionEffect {
    let (driver, csi) = (owner.name(), owner.csi().is_some());
    let protected = volume.metadata.has_finalizer(EXTERNAL_PROVISIONER);
    if volume.metadata.deleting.is_some() && !protected {
        return effect(
            DataEffect::Leaked,
            format!(
                "it is Terminating without the deletion-protection finalizer: the object is deleted before {driver} deletes the backend volume"
            ),
        );
    }
    if let Some(it) = unmigrated(volume, cx.server()) {
        let owner = describe_owner(volume, cx.server());
        let to_be = if it.certain { "deletes" } else { "deletes, whichever it is," };
        return effect(
            DataEffect::Destroyed,
            format!(
                "its policy is Delete: {owner} {to_be} the backend volume with everything on it"
            ),
        );
    }
    if deleter_gone(cx, volume, owner) == Ok(true) {
        return without_node(cx, volume, owner);
    }
    let DriverEffect { data, what } = driver_effect(cx, volume, owner);
    let destroys = matches!(data, DataEffect::Destroyed | DataEffect::Unknown);
    if csi && !volume.is_dynamic() && destroys {
        // csi-provisioner deletes statically provisioned volumes from version 3.5 on (R-2644-8).
        let when = match deletes_static_volumes(cx, driver) {
            Ok(StaticDeletion::Always) => None,
            Ok(StaticDeletion::Never) => {
                return effect(
                    DataEffect::Released,
                    format!(
                        "it was statically provisioned, and the csi-provisioner of {driver} is too old to delete such volumes: it stays Released"
                    ),
                );
            }
            Ok(StaticDeletion::Sometimes) => Some(format!(
                "the csi-provisioners of {driver} differ: those from version 3.5 on delete such volumes"
            )),
            Ok(StaticDeletion::Unknown) | Err(_) => Some(format!(
                "whether the csi-provisioner of {driver} deletes such volumes depends on its version, which is unknown"
            )),
        };
        if let Some(when) = when {
            let because = format!("it was statically provisioned; {when}");
            return effect(DataEffect::Unknown, because);
        }
    }
    match controller::provisioner(cx, driver).liveness {
        Liveness::Alive => {
            effect(data, format!("its policy is Delete: the provisioner of {driver} {what}"))
        }
        Liveness::Absent if what == DELETES => effect(
            DataEffect::Waiting,
            format!(
                "its policy is Delete, and the provisioner of {driver} is absent: the backend volume is deleted as soon as one runs"
            ),
        ),
        Liveness::Absent => effect(
            if data == DataEffect::Destroyed { DataEffect::Waiting } else { data },
            format!(
                "its policy is Delete, and the provisioner of {driver} is absent: as soon as one runs, it {what}"
            ),
        ),
        Liveness::Unknown if what == DELETES => effect(
            data,
            format!(
                "its policy is Delete: the provisioner of {driver} deletes the backend volume, at once or as soon as it runs"
            ),
        ),
        Liveness::Unknown => effect(
            data,
            format!(
                "its policy is Delete: the provisioner of {driver}, at once or as soon as it runs, {what}"
            ),
        ),
    }
}

/// Returns the effect on a volume that no node can reach. A provisioner that runs on every node serves only the volumes
/// of its node; one that calls a storage system may delete it from anywhere. The affinity alone, even to a host by
/// name, tells nothing of that.
fn without_node(cx: &Cx, volume: &Volume, owner: &Owner) -> DeletionEffect {
    let driver = owner.name();
    match deletes_on_node(cx, volume, owner) == Some(true) {
        true => effect(
            DataEffect::Waiting,
            format!(
                "its policy is Delete, but no node matches its node affinity: it waits; should the machine return, {driver} deletes the data"
            ),
        ),
        false => effect(
            DataEffect::Destroyed,
            format!(
                "its policy is Delete, and no node matches its node affinity: {driver} deletes the backend volume unless its provisioner runs on the volume's node"
            ),
        ),
    }
}

fn in_tree(cx: &Cx, volume: &Volume, plugin: &str) -> DeletionEffect {
    if known_deletable(plugin, cx.server()) == Some(false) {
        return effect(
            DataEffect::Failed,
            format!(
                "its policy is Delete, and this Kubernetes version has no plugin {plugin}: it becomes Failed"
            ),
        );
    }
    let protected = volume.metadata.has_finalizer(IN_TREE);
    if volume.metadata.deleting.is_some() && !protected && expects_in_tree_finalizer(volume) {
        return match always_honors_reclaim_policy(cx) {
            Some(true) => effect(
                DataEffect::Waiting,
                "it is Terminating without the finalizer of the volume controller, which can no longer be added: it is stuck until its policy becomes Retain",
            ),
            Some(false) => effect(
                DataEffect::Leaked,
                "it is Terminating without the finalizer of the volume controller: the object may be deleted before the backend volume is",
            ),
            None => effect(
                DataEffect::Unknown,
                "whether the volume controller still deletes it depends on the server's version, which is unknown",
            ),
        };
    }
    effect(
        DataEffect::Destroyed,
        format!(
            "its policy is Delete: kube-controller-manager ({plugin}) deletes the backend volume with everything on it"
        ),
    )
}

/// Returns the effect on a volume when the volume itself is deleted.
pub fn when_volume_is_deleted(cx: &Cx, volume: &Volume) -> DeletionEffect {
    if volume.metadata.deleting.is_some() {
        return effect(DataEffect::Unaffected, "it is Terminating already");
    }
    let kept = |because: &str| match volume.reclaim_policy {
        ReclaimPolicy::Delete => effect(DataEffect::Leaked, because),
        ReclaimPolicy::Retain | ReclaimPolicy::Recycle | ReclaimPolicy::Other(_) => {
            effect(DataEffect::Forgotten, because)
        }
    };
    match &volume.phase {
        Phase::Bound if volume.metadata.has_finalizer(PV_PROTECTION) => {
            let mut then = when_claim_is_deleted(cx, &terminating(volume));
            then.because = format!(
                "it becomes Terminating at once (irreversible), cannot be attached to another node, and remains until its claim is deleted; then {}",
                then.because
            );
            then
        }
        Phase::Bound => kept(
            "it lacks the finalizer kubernetes.io/pv-protection: the object is deleted, its claim becomes Lost; the backend volume remains",
        ),
        Phase::Released | Phase::Failed
            if volume.reclaim_policy == ReclaimPolicy::Delete
                && (volume.metadata.has_finalizer(EXTERNAL_PROVISIONER)
                    || volume.metadata.has_finalizer(IN_TREE)) =>
        {
            let deleted = when_its_deletion_goes_on(cx, volume);
            with_others(cx, volume, deleted)
        }
        Phase::Released | Phase::Failed => {
            kept("the object is deleted; no controller deletes the backend volume")
        }
        Phase::Available | Phase::Pending => kept(
            "the object is deleted; no controller deletes the backend volume of an Available or Pending volume",
        ),
        Phase::Other(phase) => effect(DataEffect::Unknown, format!("its phase {phase} is unknown")),
    }
}

/// Returns the effect on a volume that its deletion-protection finalizer keeps until its controller is done, which the
/// deletion of the object does not change.
fn when_its_deletion_goes_on(cx: &Cx, volume: &Volume) -> DeletionEffect {
    let owner = owner(volume);
    let DriverEffect { data, what } = match &owner {
        Owner::Csi(_) | Owner::External(_) => driver_effect(cx, volume, &owner),
        Owner::InTree(_) | Owner::StaticInTree(_) => DriverEffect {
            data: DataEffect::Destroyed,
            what: "deletes the backend volume".to_owned(),
        },
    };
    let remains = "the object remains until its controller has removed its deletion-protection \
                   finalizer";
    match data {
        DataEffect::Destroyed => effect(
            DataEffect::Waiting,
            "the object remains until its controller has deleted the backend volume and removed its deletion-protection finalizer",
        ),
        data => effect(data, format!("{remains}: {} {what}", owner.name())),
    }
}

/// Returns the volume as it will be after its deletion was requested.
fn terminating(volume: &Volume) -> Volume {
    let mut after = volume.clone();
    // Any time will do: only whether it is set matters here.
    after.metadata.deleting = Some(after.metadata.created.unwrap_or_default());
    after
}

/// Fate of a snapshot at the storage backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotFate<'a> {
    /// The content is deleted, and the driver deletes the snapshot.
    Destroyed(&'a SnapshotContent),
    /// The content is kept.
    Kept(&'a SnapshotContent),
    /// The fate is unknown, for this reason.
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

/// Returns the fate of the snapshot of a `VolumeSnapshot` that is deleted. Of several contents that may be its own, the
/// worst counts.
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

/// Returns the contents of the group snapshots of a namespace, by name, with the fate of each when the namespace is
/// deleted. A `VolumeGroupSnapshot` without a content has no snapshot at the backend yet.
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

/// Whether a content belongs to a snapshot: either names the other. The status of a snapshot names no content until it
/// is bound.
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
    /// The claim that was cloned or restored.
    pub claim: &'a Claim,
    /// The snapshot between both volumes; `None` where the claim names the other volume's claim.
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

#[cfg(test)]
mod tests;

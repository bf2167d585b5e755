//! Effects of a deletion: what happens to a volume and its data when its claim or the volume itself
//! is deleted.
//!
//! The policy decides at the moment at which the claim is deleted (R-2644-7), with the finalizers
//! at that time: `pv_controller.go`, `reclaimVolume`, and the library behind csi-provisioner,
//! `shouldDelete` and `handleProtectionFinalizer`.

use super::{
    EXTERNAL_PROVISIONER, IN_TREE, Owner, PV_PROTECTION, always_honors_reclaim_policy, controller,
    describe_owner, expects_in_tree_finalizer, in_tree_deletes, known_deletable, names_hosts,
    node_gone, owner, provisioner::surely_deletes_static_volumes, unmigrated,
};
use crate::cluster::Cx;
use crate::model::{Liveness, Phase, ReclaimPolicy, Volume};

/// The effect on the data of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataEffect {
    /// The backend volume is deleted with everything on it.
    Destroyed,
    /// The backend volume remains, and the volume becomes Released.
    Released,
    /// The backend volume remains, and no volume references it any more.
    Forgotten,
    /// As `Forgotten`, although the policy is Delete: no controller will ever delete it.
    Leaked,
    /// The backend volume and the volume remain until a controller runs that can delete them.
    Waiting,
    /// The data is scrubbed, and any claim can bind the volume.
    Scrubbed,
    /// Reclaiming fails, and the volume becomes Failed; the backend volume remains.
    Failed,
    /// None: nothing changes.
    Unaffected,
    /// Unknown from what was read.
    Unknown,
}

/// The effect of a deletion on a volume, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletionEffect {
    /// The effect on the data.
    pub data: DataEffect,
    /// One sentence without a full stop.
    pub because: String,
}

impl DataEffect {
    /// As reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Destroyed => "destroyed",
            Self::Released => "released",
            Self::Forgotten => "forgotten",
            Self::Leaked => "leaked",
            Self::Waiting => "destroyed-later",
            Self::Scrubbed => "scrubbed",
            Self::Failed => "failed",
            Self::Unaffected => "unaffected",
            Self::Unknown => "unknown",
        }
    }
}

fn effect(data: DataEffect, because: impl Into<String>) -> DeletionEffect {
    DeletionEffect { data, because: because.into() }
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
            // Whether csi-provisioner deletes such volumes depends on its version.
            Owner::Csi(_) if !volume.is_dynamic() => DataEffect::Unknown,
            Owner::Csi(_) | Owner::External(_) => DataEffect::Destroyed,
            Owner::InTree(plugin) => in_tree(cx, volume, &plugin).data,
            Owner::StaticInTree(_) => static_in_tree(cx, volume),
        },
    }
}

/// The effect on a statically provisioned in-tree volume with policy Delete.
fn static_in_tree(cx: &Cx, volume: &Volume) -> DataEffect {
    match in_tree_deletes(volume, cx.server()) {
        Some(true) => DataEffect::Destroyed,
        Some(false) => DataEffect::Failed,
        None => DataEffect::Unknown,
    }
}

/// Returns the effect on a bound volume when its claim is deleted.
pub fn when_claim_is_deleted(cx: &Cx, volume: &Volume) -> DeletionEffect {
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
            Owner::Csi(driver) => external(cx, volume, &driver, true),
            Owner::External(provisioner) => external(cx, volume, &provisioner, false),
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

fn external(cx: &Cx, volume: &Volume, driver: &crate::model::Text, csi: bool) -> DeletionEffect {
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
    if node_gone(cx, volume) == Ok(true) {
        return without_node(volume, driver);
    }
    if csi && !volume.is_dynamic() {
        // csi-provisioner deletes statically provisioned volumes from version 3.5 on (R-2644-8).
        match surely_deletes_static_volumes(cx, driver) {
            Ok(Some(true)) => {}
            Ok(Some(false)) => {
                return effect(
                    DataEffect::Released,
                    format!(
                        "it was statically provisioned, and the csi-provisioner of {driver} is too old to delete such volumes: it stays Released"
                    ),
                );
            }
            Ok(None) | Err(_) => {
                return effect(
                    DataEffect::Unknown,
                    format!(
                        "it was statically provisioned; whether the csi-provisioner of {driver} deletes such volumes depends on its version, which is unknown"
                    ),
                );
            }
        }
    }
    match controller::provisioner(cx, driver).liveness {
        Liveness::Alive => effect(
            DataEffect::Destroyed,
            format!(
                "its policy is Delete: the provisioner of {driver} deletes the backend volume with everything on it"
            ),
        ),
        Liveness::Absent => effect(
            DataEffect::Waiting,
            format!(
                "its policy is Delete, and the provisioner of {driver} is absent: the backend volume is deleted as soon as one runs"
            ),
        ),
        Liveness::Unknown => effect(
            DataEffect::Destroyed,
            format!(
                "its policy is Delete: the provisioner of {driver} deletes the backend volume, at once or as soon as it runs"
            ),
        ),
    }
}

/// The effect on a volume that no node can reach. A provisioner that runs on every node serves only
/// the volumes of its node; one that calls a storage system may delete it from anywhere.
fn without_node(volume: &Volume, driver: &str) -> DeletionEffect {
    match volume.node_affinity.as_ref().is_some_and(|it| names_hosts(it)) {
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

/// Returns the effect on a volume when it is deleted itself.
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
            effect(
                DataEffect::Waiting,
                "the object remains until its controller has deleted the backend volume and removed its deletion-protection finalizer",
            )
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

/// The volume as it will be after its deletion was requested.
fn terminating(volume: &Volume) -> Volume {
    let mut after = volume.clone();
    // Any time will do: only whether it is set matters here.
    after.metadata.deleting = Some(after.metadata.created.unwrap_or_default());
    after
}

#[cfg(test)]
mod tests;

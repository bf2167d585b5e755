//! The deletion-protection finalizer of kube-controller-manager: on which volumes it belongs, and
//! where kube-controller-manager no longer removes it (R-2644-4, R-2644-5, R-2644-15).

use super::{FAILED_DELETE, IN_TREE, Owner, known_deletable, owner};
use crate::cluster::{Cx, Seen};
use crate::model::{
    Age, Event, Phase, ReclaimPolicy, Threshold, Volume, VolumeSource, migrated_driver,
};

/// The plugin postpones the deletion, because the volume is still in use.
const DELETE: &str = "VolumeDelete";

/// Whether kube-controller-manager keeps its finalizer on a volume, in any phase: it was
/// provisioned by an in-tree plugin that is not migrated, and its policy is Delete.
pub fn expects_in_tree_finalizer(volume: &Volume) -> bool {
    matches!(owner(volume), Owner::InTree(_)) && volume.reclaim_policy == ReclaimPolicy::Delete
}

/// Whether the in-tree finalizer does not belong on a volume: it is CSI, or was migrated to it.
pub fn in_tree_finalizer_is_stale(volume: &Volume) -> bool {
    let by_plugin = volume.provisioned_by.as_deref().and_then(migrated_driver).is_some();
    let migrated = volume.migrated_to.as_ref().is_some_and(|driver| !driver.is_empty());
    let csi = matches!(volume.source, VolumeSource::Csi { .. });
    volume.metadata.has_finalizer(IN_TREE) && (by_plugin || migrated || csi)
}

/// Whether kube-controller-manager always honours the reclaim policy, with no way to switch it off:
/// from 1.33 on. `None` when the version is not known. The version of kube-controller-manager may
/// differ from that of the API server.
pub fn always_honors_reclaim_policy(cx: &Cx) -> Option<bool> {
    cx.server().and_then(|server| server.at_least(1, 33))
}

/// Returns the server's version as evidence shows it.
pub fn server_version<'a>(cx: &Cx<'a>) -> &'a str {
    cx.server().and_then(|server| server.git_version.as_deref()).unwrap_or("<unknown>")
}

/// Whether the evidence about a Terminating in-tree volume fits a kube-controller-manager that was
/// rolled back to a version that removes no finalizers. A slow deletion without events has the same
/// evidence.
///
/// # Errors
/// When attachments or events were not read.
pub fn looks_rolled_back(cx: &Cx, volume: &Volume) -> Seen<bool> {
    let Owner::InTree(plugin) = owner(volume) else { return Ok(false) };
    let held = volume.metadata.has_finalizer(IN_TREE)
        && matches!(volume.phase, Phase::Released | Phase::Failed)
        && known_deletable(&plugin, cx.server()) == Some(true)
        && always_honors_reclaim_policy(cx) == Some(false)
        && cx.older_than(&Age::stamped(volume.metadata.deleting), Threshold::Finalizer);
    Ok(held
        && cx.attachments_of(volume.name())?.is_empty()
        && !events_since_deletion(cx, volume)?
            .iter()
            .any(|event| matches!(&*event.reason, FAILED_DELETE | DELETE)))
}

/// Returns the events about this volume, by uid, since its deletion was requested. Events without a
/// time count.
fn events_since_deletion<'a>(cx: &Cx<'a>, volume: &Volume) -> Seen<Vec<&'a Event>> {
    let mut events = cx.events_of(&volume.object().key)?;
    events.retain(|event| {
        let namesake = event.about_uid.is_some()
            && volume.metadata.uid.is_some()
            && event.about_uid != volume.metadata.uid;
        let earlier =
            event.last_seen.zip(volume.metadata.deleting).is_some_and(|(seen, from)| seen < from);
        !namesake && !earlier
    });
    Ok(events)
}

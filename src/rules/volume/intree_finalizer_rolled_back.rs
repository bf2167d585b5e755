//! F39: an in-tree finalizer that a kube-controller-manager that was rolled back no longer removes.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, IN_TREE, Owner};
use crate::model::{Age, Finding, Kind, Severity, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-intree-finalizer-rolled-back",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::VolumeAttachment, Kind::Event],
    remedies: &[&remedies::REMOVE_IN_TREE_FINALIZER],
    title: "kube-controller-manager seems not to remove its finalizer from a Terminating in-tree volume",
    danger: "A kube-controller-manager that was rolled back, or runs with HonorPVReclaimPolicy off, never removes the \
             finalizer that it set before. The API does not show whether the backend volume still exists: it was \
             deleted if the claim was deleted first, and not if the volume was.",
    remedy: "A slow deletion looks the same, so nothing is done without --rolled-back, which asserts that the feature \
             is off. Then the finalizer is removed from a volume with policy Retain; with policy Delete only with \
             --accept-leak, since the backend volume may remain, or with --reclaim, which deletes it after the \
             object. With --rolled-back, volumes that are not Terminating are reported too: their deletion will be \
             stuck; the finalizer is removed if they are named.",
    source: "kubernetes pv_controller_base.go, modifyDeletionFinalizers; KEP-2644, downgrade",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if !volume.metadata.has_finalizer(IN_TREE) {
        return Ok(None);
    }
    if volume.metadata.deleting.is_none() {
        return Ok(will_hang(cx, volume)
            .map(|finding| finding.remedied_by(cx, volume, &remedies::REMOVE_IN_TREE_FINALIZER)));
    }
    if !facts::looks_rolled_back(cx, volume)? {
        return Ok(None);
    }
    let finding = RULE
        .on_volume(
            cx,
            volume,
            "Terminating; kube-controller-manager seems not to remove its finalizer; whether the backend volume exists is unknown",
        )
        .aged(Age::stamped(volume.metadata.deleting))
        .shows("if the volume was deleted before its claim", "the backend volume still exists")
        .shows("if the claim was deleted before the volume", "the backend volume is deleted")
        .shows("attached by", "<none>")
        .shows("VolumeFailedDelete and VolumeDelete since its deletion", "<none>")
        .shows("server version", facts::server_version(cx));
    Ok(Some(finding.remedied_by(cx, volume, &remedies::REMOVE_IN_TREE_FINALIZER)))
}

/// Judges a volume that is not Terminating, if the user asserts that the feature is off.
fn will_hang(cx: &Cx, volume: &Volume) -> Option<Finding> {
    let rolled_back = cx.settings().rolled_back
        && facts::always_honors_reclaim_policy(cx) == Some(false)
        && matches!(facts::owner(volume), Owner::InTree(_));
    rolled_back.then(|| {
        RULE.on_volume(
            cx,
            volume,
            "its deletion will be stuck: kube-controller-manager does not remove its finalizer",
        )
        .severe(Severity::Medium)
        .shows("server version", facts::server_version(cx))
    })
}

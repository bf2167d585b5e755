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
    title: "An in-tree volume hangs on a finalizer that its controller manager seems not to know any more",
    danger: "A kube-controller-manager that was rolled back, or runs with HonorPVReclaimPolicy off, never removes \
             the finalizer that it set before. Whether the disk still exists cannot be told from the API: it was \
             deleted if the claim went first, and it was not if the volume went first.",
    remedy: "A slow deletion leaves the same trace, so nothing is done without --rolled-back, the admin's word that the \
             feature is off. A volume of policy Retain is then let go; one of policy Delete only with --accept-leak, \
             since the disk may stay, or with --reclaim, which has it deleted once the object is gone. With that \
             word, volumes that are not being deleted are reported too: they will hang when they are, and lose the \
             finalizer where they are named.",
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
            "being deleted, but nobody removes its in-tree finalizer; the disk may or may not exist",
        )
        .aged(Age::stamped(volume.metadata.deleting))
        .shows("if the volume was deleted before its claim", "the disk still exists")
        .shows("if the claim was deleted before the volume", "the disk is deleted")
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
        RULE.on_volume(cx, volume, "will hang when it is deleted: nobody removes its finalizer")
            .severe(Severity::Medium)
            .shows("server version", facts::server_version(cx))
    })
}

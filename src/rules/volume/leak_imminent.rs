//! F20: a volume is Terminating before its claim, without a deletion-protection finalizer.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimState, EXTERNAL_PROVISIONER, IN_TREE, Owner};
use crate::model::{Age, Finding, Kind, Phase, ReclaimPolicy, Severity, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-leak-imminent",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Leak,
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::Pod],
    remedies: &[&remedies::RETAIN],
    title: "A volume is Terminating before its claim and lacks the deletion-protection finalizer",
    danger: "When the claim is deleted, the object is deleted with it and no controller deletes the backend volume: \
             it is billed and no object references it. No finalizer can be added to a Terminating object.",
    remedy: "Retain only makes this explicit: the object is still deleted with its claim, the backend volume remains. \
             Write down the volume handle (`explain pv/NAME`). The tool neither deletes the object nor adds a \
             finalizer.",
    source: "KEP-2644, motivation; external-provisioner#546",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let unprotected = volume.metadata.deleting.is_some()
        && volume.phase == Phase::Bound
        && volume.reclaim_policy == ReclaimPolicy::Delete
        && !volume.metadata.has_finalizer(EXTERNAL_PROVISIONER)
        && !volume.metadata.has_finalizer(IN_TREE);
    // If kube-controller-manager requires its finalizer, the volume is never deleted: a deadlock,
    // no leak.
    let hangs = facts::expects_in_tree_finalizer(volume)
        && facts::always_honors_reclaim_policy(cx) == Some(true);
    // Before migration kube-controller-manager deletes the backend volume, without any finalizer.
    let by_plugin = facts::unmigrated(volume, cx.server()).is_some_and(|it| it.certain);
    if !unprotected || hangs || by_plugin {
        return Ok(None);
    }
    let ClaimState::Live(claim) = facts::claim_state(cx, volume)? else { return Ok(None) };
    let expected = match facts::owner(volume) {
        Owner::Csi(_) => EXTERNAL_PROVISIONER,
        Owner::InTree(_) => IN_TREE,
        Owner::External(_) | Owner::StaticInTree(_) => "none (its provisioner sets no finalizer)",
    };
    let finding = RULE
        .on_volume(
            cx,
            volume,
            "Terminating before its claim, without a deletion-protection finalizer: deleting the claim leaks the backend volume",
        )
        .aged(Age::stamped(volume.metadata.deleting))
        .shows("missing protection", expected)
        .relates([claim.object()])
        .relates_pods_of(cx, claim);
    Ok(Some(finding.remedied_by(cx, volume, &remedies::RETAIN)))
}

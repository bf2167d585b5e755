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
    title: "A volume is being deleted before its claim, and nothing protects its backend from being leaked",
    danger: "When the claim goes, the object goes with it and no controller deletes the disk: it is billed for \
             ever and no object names it. No finalizer can be added to an object that is being deleted.",
    remedy: "Setting the policy to Retain is harmless and makes the outcome deliberate. The handle is shown: \
             write it down. The tool does not delete the object and adds no finalizer by hand.",
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
    if !unprotected || hangs {
        return Ok(None);
    }
    let ClaimState::Live(claim) = facts::claim_state(cx, volume)? else { return Ok(None) };
    let expected = match facts::owner(volume) {
        Owner::Csi(_) => EXTERNAL_PROVISIONER,
        Owner::InTree(_) => IN_TREE,
        Owner::External(_) | Owner::StaticInTree(_) => "none: its provisioner sets no finalizer",
    };
    let finding = RULE
        .on_volume(
            cx,
            volume,
            "deleted before its claim and unprotected: the disk is leaked when the claim goes",
        )
        .aged(Age::stamped(volume.metadata.deleting))
        .shows("missing protection", expected)
        .relates([claim.object()])
        .relates_pods_of(cx, claim);
    Ok(Some(finding.remedied_by(cx, volume, &remedies::RETAIN)))
}

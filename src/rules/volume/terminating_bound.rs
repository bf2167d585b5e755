//! F21: a volume is Terminating while its claim is bound.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimState, EXTERNAL_PROVISIONER, IN_TREE};
use crate::model::{Age, Finding, Kind, Phase, ReclaimPolicy, Severity, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-terminating-bound",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Data,
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::Pod],
    remedies: &[&remedies::RETAIN],
    title: "A volume is Terminating while its claim still exists",
    danger: "A deletion is irreversible. The policy at the moment at which the claim is deleted decides: Delete \
             destroys the data, Retain keeps the backend volume but loses the object. Until then the volume cannot be \
             attached to another node, so the next move of its pod fails.",
    remedy: "Setting the policy to Retain keeps the data: the object is deleted with the claim, the backend volume \
             remains and can be given a new object. Removing finalizers is refused: they block the deletion while the \
             claim is bound.",
    source: "KEP-2644; external-attacher csi_handler.go (\"is marked for deletion\")",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if volume.metadata.deleting.is_none() || volume.phase != Phase::Bound {
        return Ok(None);
    }
    let protected = volume.metadata.has_finalizer(EXTERNAL_PROVISIONER)
        || volume.metadata.has_finalizer(IN_TREE)
        || volume.reclaim_policy == ReclaimPolicy::Retain;
    if !protected {
        return Ok(None);
    }
    let ClaimState::Live(claim) = facts::claim_state(cx, volume)? else { return Ok(None) };
    let (summary, consequence) = match &volume.reclaim_policy {
        ReclaimPolicy::Delete => (
            "Terminating while Bound: policy Delete destroys the data after the claim is deleted",
            "backend volume deleted after the claim",
        ),
        ReclaimPolicy::Retain | ReclaimPolicy::Recycle | ReclaimPolicy::Other(_) => (
            "Terminating while Bound: the object is deleted with its claim, the backend volume remains",
            "object deleted with the claim, backend volume kept",
        ),
    };
    let finding = RULE
        .on_volume(cx, volume, summary)
        .aged(Age::stamped(volume.metadata.deleting))
        .shows("consequence", consequence)
        .shows("new attachments", "fail, since the volume is marked for deletion")
        .relates([claim.object()])
        .relates_pods_of(cx, claim);
    Ok(Some(match volume.reclaim_policy {
        ReclaimPolicy::Retain => finding.report_only(
            "policy is Retain already; save the manifest, so that the volume can be recreated",
        ),
        _ => finding.remedied_by(cx, volume, &remedies::RETAIN),
    }))
}

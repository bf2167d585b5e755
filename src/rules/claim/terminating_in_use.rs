//! F40: a claim is Terminating while pods use it.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimDataEffect, PVC_PROTECTION};
use crate::model::{Age, Claim, Finding, Kind, Severity};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pvc-terminating-in-use",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Data,
    needs: &[Kind::PersistentVolumeClaim, Kind::PersistentVolume, Kind::Pod],
    remedies: &[&remedies::RETAIN],
    title: "A claim is being deleted while pods use it",
    danger: "A deletion cannot be taken back. The claim waits for its last pod, and the next rollout, drain or \
             crash is that: then the claim goes, and with the policy Delete its data. No new pod can be \
             scheduled with it, so the workload does not come back by itself either.",
    remedy: "Setting the policy of its volume to Retain keeps the data, and has to happen before the last pod \
             goes. A new claim can be given the volume afterwards. Removing the finalizer is refused: it is \
             what keeps the data under the running pods.",
    source: "kubernetes pvc_protection_controller.go, podUsesPVCForDeletion; PVC protection proposal",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_none() || !claim.metadata.has_finalizer(PVC_PROTECTION) {
        return Ok(None);
    }
    let users = facts::upstream_in_use(cx, claim)?;
    if users.is_empty() {
        return Ok(None);
    }
    let fate = facts::data_effect(cx, claim);
    let consequence = fate.words("the last of them goes");
    let finding = RULE
        .on_claim(claim, format!("being deleted while pods use it: {consequence}"))
        .aged(Age::stamped(claim.metadata.deleting))
        .shows("consequence", consequence)
        .shows("new pods", "cannot be scheduled: the claim is being deleted")
        .shows_pods(&users)
        .about_volume(fate.volume())
        .relates(fate.volume().map(crate::model::Volume::object));
    Ok(Some(match fate {
        ClaimDataEffect::Destroyed(volume) | ClaimDataEffect::Scrubbed(volume) => {
            finding.remedied_by(cx, volume, &remedies::RETAIN)
        }
        ClaimDataEffect::Kept(_) => finding.report_only(
            "the volume will be Released and can be given to a new claim: prepare one before the pods go",
        ),
        ClaimDataEffect::NoVolume => finding.report_only("nothing but the claim goes: prepare another one"),
        ClaimDataEffect::Unseen(_) => {
            finding.report_only("look at the policy of its volume before the last pod goes")
        }
    }))
}

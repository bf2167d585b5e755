//! F40: a claim is Terminating while pods use it.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimDataEffect, PVC_PROTECTION};
use crate::model::{Age, Claim, Finding, Severity};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pvc-terminating-in-use",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Data,
    needs: facts::needs![deletion: PersistentVolumeClaim],
    remedies: &[&remedies::RETAIN],
    title: "A claim is Terminating while pods use it",
    danger: "A deletion cannot be reverted. The claim is deleted after its last pod, and the next rollout, drain or \
             crash ends that pod; with policy Delete the data is destroyed then. The scheduler rejects new pods with \
             this claim, so the workload does not recover by itself either.",
    remedy: "Setting the policy of its volume to Retain keeps the data, and has to happen before the last pod is \
             deleted. Afterwards `kubectl storage rebind pv/NAME` gives it back to a claim of that name. The tool refuses to remove the finalizer, \
             which protects the data under the running pods.",
    source: "kubernetes pvc_protection_controller.go, podUsesPVCForDeletion; PVC protection proposal",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_none() || !claim.metadata.has_finalizer(PVC_PROTECTION) {
        return Ok(None);
    }
    let users = facts::upstream_in_use(cx, claim)?;
    // Where all of them have ended, that is another finding (F49).
    if users.iter().all(|user| user.pod.is_finished()) {
        return Ok(None);
    }
    let fate = facts::data_effect(cx, claim);
    let consequence = fate.words("the last of these pods is deleted");
    let finding = RULE
        .on_claim(claim, format!("Terminating while pods use it: {consequence}"))
        .aged(Age::stamped(claim.metadata.deleting))
        .shows("consequence", consequence)
        .shows("new pods", "the scheduler rejects them, since the claim is Terminating")
        .shows_pods(&users)
        .about_volume(fate.volume())
        .relates(fate.volume().map(crate::model::Volume::object));
    Ok(Some(match fate {
        ClaimDataEffect::Destroyed(volume)
        | ClaimDataEffect::Scrubbed(volume)
        | ClaimDataEffect::Forgotten(volume) => finding.remedied_by(cx, volume, &remedies::RETAIN),
        ClaimDataEffect::Kept(volume) => finding.report_only(format!(
            "the volume will be Released with its data; after the last pod is deleted, \
             `kubectl storage rebind {}` gives it back to a claim of that name",
            facts::on_command_line(&volume.object())
        )),
        ClaimDataEffect::NoVolume => finding.report_only(
            "only the claim is deleted, since it has no volume: prepare another claim",
        ),
        ClaimDataEffect::Unseen(reason) => finding.report_only(format!(
            "see the policy of its volume ({reason}) before the last pod is deleted"
        )),
    }))
}

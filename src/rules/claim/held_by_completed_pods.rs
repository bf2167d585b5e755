//! F49: pods that have ended block the deletion of a claim.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, PVC_PROTECTION};
use crate::model::{Age, Claim, Finding, Kind, Severity};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pvc-held-by-completed-pods",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolumeClaim, Kind::PersistentVolume, Kind::Pod],
    remedies: &[],
    title: "A Terminating claim waits for nothing but pods that have ended",
    danger: "A pod that succeeded or failed goes on holding its claims until its object is deleted, by somebody or \
             by the time-to-live of its job. Then the claim goes, and with the policy Delete its data.",
    remedy: "The tool changes nothing: deleting the pods is up to whoever wants to read their logs. Look at the \
             policy of the volume first.",
    source: "kubernetes pvc_protection_controller_test.go (\"updated finished Pod -> finalizer is not removed\")",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_none() || !claim.metadata.has_finalizer(PVC_PROTECTION) {
        return Ok(None);
    }
    let users = facts::upstream_in_use(cx, claim)?;
    if users.is_empty() || !users.iter().all(|user| user.pod.is_finished()) {
        return Ok(None);
    }
    let fate = facts::data_effect(cx, claim);
    let consequence = fate.words("the last of them is deleted");
    let finding = RULE
        .on_claim(claim, format!("only pods that have ended keep it: {consequence}"))
        .aged(Age::stamped(claim.metadata.deleting))
        .shows("consequence", consequence)
        .shows_pods(&users)
        .about_volume(fate.volume());
    let reason = if fate.loses_data() {
        "decide what becomes of the data first; then delete these pods, or their job"
    } else {
        "delete these pods, or their job, once their logs are of no use any more"
    };
    Ok(Some(finding.report_only(reason)))
}

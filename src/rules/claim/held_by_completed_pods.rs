//! F49: pods that have ended block the deletion of a claim.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, PVC_PROTECTION, PodUser};
use crate::model::{Age, Claim, Finding, Severity, Volume};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pvc-held-by-completed-pods",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::Data,
    needs: facts::needs![deletion: PersistentVolumeClaim],
    remedies: &[],
    title: "Only pods that have ended block the deletion of a claim",
    danger: "A pod that has Succeeded or Failed blocks the deletion of its claims until the pod object is deleted, by a \
             user, with its Job, or by ttlSecondsAfterFinished. Then the claim is deleted, and with policy Delete \
             its data is destroyed.",
    remedy: "The tool changes nothing. Delete the pods or their Job once their logs are not needed. If the data is still \
             needed, first set the policy of the volume to Retain: `kubectl storage retain pv/NAME`. Removing the \
             finalizer by hand has no advantage over deleting the pods.",
    source: "kubernetes pvc_protection_controller_test.go (\"updated finished Pod -> finalizer is not removed\")",
    judge: &[Judge::Claim(judge)],
};

/// How many pods a sentence names.
const NAMED: usize = 2;

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_none() || !claim.metadata.has_finalizer(PVC_PROTECTION) {
        return Ok(None);
    }
    let users = facts::upstream_in_use(cx, claim)?;
    if users.is_empty() || !users.iter().all(|user| user.pod.is_finished()) {
        return Ok(None);
    }
    let fate = facts::data_effect(cx, claim);
    let consequence = fate.words("the last of these pods is deleted");
    let names: Vec<_> = users.iter().take(NAMED).map(|it| it.pod.object().to_string()).collect();
    let more = users.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let pods = format!("{}{more}", names.join(", "));
    let summary = format!("Terminating, blocked only by ended pods ({pods}): {consequence}");
    let finding = RULE
        .on_claim(claim, summary)
        .severe(if fate.loses_data() { Severity::Medium } else { Severity::Low })
        .aged(Age::stamped(claim.metadata.deleting))
        .shows("consequence", consequence)
        .shows_pods(&users)
        .about_volume(fate.volume());
    let keep = fate.volume().filter(|_| fate.loses_data()).map(Volume::object);
    let keep = keep.map_or_else(String::new, |pv| {
        let pv = facts::on_command_line(&pv);
        format!(", which destroys the data; `kubectl storage retain {pv}` first keeps it")
    });
    Ok(Some(
        finding.report_only(format!(
            "delete {pods}{} to finish the deletion{keep}",
            of_owners(&users)
        )),
    ))
}

/// The controllers of the pods, whose deletion deletes the pods.
fn of_owners(users: &[PodUser]) -> String {
    let owners = users.iter().filter_map(|it| it.pod.controller.as_ref());
    let mut owners: Vec<_> = owners.map(|it| format!("{} {}", it.kind, it.name)).collect();
    owners.sort_unstable();
    owners.dedup();
    match &owners[..] {
        [] => String::new(),
        [only] => format!(", or {only},"),
        [first, ..] => format!(", or {first} and their other controllers,"),
    }
}

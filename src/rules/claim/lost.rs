//! F43: a claim is Lost: its volume does not exist, or is not bound to it.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Age, Claim, Finding, Kind, Severity, Trust};
use crate::rules::{CapacityRisk, Judge, Rule, finding::shown_event, finding::shown_uid};

pub(super) static RULE: Rule = Rule {
    id: "pvc-lost",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: &[Kind::PersistentVolumeClaim, Kind::PersistentVolume, Kind::Pod, Kind::Event],
    remedies: &[],
    title: "A claim has lost its volume: it does not exist, or is not bound to this claim",
    danger: "Running pods may continue; new pods cannot start. The backend volume probably still exists. Deleting \
             the claim may remove its last record.",
    remedy: "`kubectl storage rebind` of the volume repairs it: if the volume exists and only the uid in its \
             spec.claimRef is missing or an earlier one, it writes this claim's uid; if the volume does not exist, it \
             recreates it under the same name, with policy Retain, from the journal or from a manifest (a backup, \
             an earlier dump) that --from names. A wrong volume handle gives the claim the data of another user.",
    source: "pv_controller.go, syncBoundClaim (ClaimLost)",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let Some(cause) = facts::lost_cause(cx, claim)? else { return Ok(None) };
    let completed = if claim.bind_completed { "present" } else { "<none>" };
    let mut finding = RULE
        .on_claim(claim, cause.describe(claim))
        .severe(cause.severity())
        .shows("metadata.uid", shown_uid(claim.metadata.uid.as_ref()))
        .shows("annotation pv.kubernetes.io/bind-completed", completed)
        .about_volume(cause.volume());
    if let Some(volume) = cause.volume() {
        let object = volume.object();
        let bound_to = volume.claim_ref.as_ref().map_or_else(
            || "<none>".to_owned(),
            |it| format!("{} uid {}", it.key, shown_uid(it.uid.as_ref())),
        );
        finding = finding
            .shows_of(&object, "spec.claimRef", bound_to)
            .shows_of(&object, "status.phase", volume.phase.to_string())
            .shows_of(
                &object,
                "spec.persistentVolumeReclaimPolicy",
                volume.reclaim_policy.to_string(),
            )
            .relates([object]);
    }
    let reasons = ["ClaimLost", "ClaimMisbound"];
    if let Ok(Some(event)) = facts::last_event_about(cx, &claim.object(), &reasons) {
        finding = finding
            .aged(Age {
                since: event.last.map(|it| claim.metadata.since_creation(it)),
                trust: Trust::LowerBound,
            })
            .shows("last event", shown_event(&event));
    }
    if let Ok(users) = facts::pod_users(cx, claim) {
        finding = finding.shows_pods(&users);
    }
    Ok(Some(finding.report_only(cause.advice(cx, claim))))
}

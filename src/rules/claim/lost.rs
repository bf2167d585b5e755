//! F43: the volume of a claim does not exist.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Age, Claim, ClaimPhase, Finding, Kind, Severity};
use crate::rules::{CapacityRisk, Judge, Rule, finding::shown_event};

pub(super) static RULE: Rule = Rule {
    id: "pvc-lost",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: &[Kind::PersistentVolumeClaim, Kind::PersistentVolume, Kind::Pod, Kind::Event],
    remedies: &[],
    title: "A claim was bound to a volume that is gone",
    danger: "Pods that run may go on, but none can be started: the way to the disk is forgotten. The disk itself \
             is probably still there, and known to nobody. Deleting the claim as well removes the last \
             trace of which disk it was.",
    remedy: "The tool changes nothing here yet. With a manifest of the volume, from a backup or an earlier dump, \
             make it again: under the same name, with the policy Retain, and with this claim's \
             uid in its claimRef. A wrong volume handle shows the claim somebody else's data.",
    source: "pv_controller.go, syncBoundClaim (ClaimLost)",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let gone = match &claim.volume_name {
        Some(name) if claim.bind_completed => match cx.volume(name) {
            Ok(volume) => volume.is_none(),
            // A claim with phase Lost is lost whether or not volumes were read.
            Err(_) if claim.phase == ClaimPhase::Lost => false,
            Err(unseen) => return Err(unseen),
        },
        Some(_) | None => false,
    };
    if !gone && claim.phase != ClaimPhase::Lost {
        return Ok(None);
    }
    let summary = match &claim.volume_name {
        Some(name) if gone => {
            format!("its volume {name} does not exist any more: no pod can start with it")
        }
        Some(name) => {
            format!(
                "it is Lost: volume {name} is not its own, or was not seen; no pod can start with it"
            )
        }
        None => {
            "it is Lost, and does not say which volume it had: no pod can start with it".to_owned()
        }
    };
    let completed = if claim.bind_completed { "present" } else { "<none>" };
    let mut finding = RULE
        .on_claim(claim, summary)
        .shows("annotation pv.kubernetes.io/bind-completed", completed)
        .shows("volume", if gone { "does not exist" } else { "exists, or was not seen" });
    let reasons = ["ClaimLost", "ClaimMisbound"];
    if let Ok(Some(event)) = facts::last_event_about(cx, &claim.object(), &reasons) {
        finding = finding
            .aged(Age { since: event.last, trust: crate::model::Trust::LowerBound })
            .shows("last event", shown_event(&event));
    }
    if let Ok(users) = facts::pod_users(cx, claim) {
        finding = finding.shows_pods(&users);
    }
    let reason = if claim.metadata.deleting.is_some() {
        "it is being deleted: note down which disk it was before it goes"
    } else {
        "keep the claim, and make its volume again from a manifest of it"
    };
    Ok(Some(finding.report_only(reason)))
}

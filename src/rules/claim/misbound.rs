//! F44: a claim references a volume that is bound to another claim.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Claim, Finding, Kind, Severity, Volume};
use crate::rules::{CapacityRisk, Judge, Rule, finding::shown_event, finding::shown_uid};

pub(super) static RULE: Rule = Rule {
    id: "pvc-misbound",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: &[Kind::PersistentVolumeClaim, Kind::PersistentVolume, Kind::Event],
    remedies: &[],
    title: "A claim was bound to a volume that another claim is bound to",
    danger: "Two workloads can write to one file system, which destroys it, or read each other's data. Such \
             claims come from restored backups and from claimRefs that were edited by hand.",
    remedy: "The tool changes nothing. Find out whose data it is: spec.claimRef of the volume names the claim \
             that Kubernetes binds it to. The other claim has to be recreated without spec.volumeName.",
    source: "pv_controller.go, syncBoundClaim (ClaimMisbound)",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let (Some(name), true) = (&claim.volume_name, claim.bind_completed) else { return Ok(None) };
    let volume = cx.volume(name)?;
    let mine = volume.is_none_or(|it| is_of(it, claim) || facts::was_taken_from(cx, it, claim));
    let mut others = cx.claims_naming(name)?;
    others.retain(|other| {
        other.bind_completed
            && (&other.namespace, &other.metadata.name) != (&claim.namespace, &claim.metadata.name)
    });
    if mine && others.is_empty() {
        return Ok(None);
    }
    let summary = if mine {
        format!("another claim was bound to its PersistentVolume {name} as well")
    } else {
        format!("was bound to PersistentVolume {name}, whose spec.claimRef is another claim")
    };
    let mut finding = RULE
        .on_claim(claim, summary)
        .shows("metadata.uid", shown_uid(claim.metadata.uid.as_ref()))
        .shows("annotation pv.kubernetes.io/bind-completed", "present")
        .about_volume(volume);
    if let Some(volume) = volume {
        let named = volume.claim_ref.as_ref().map_or_else(
            || "<none>".to_owned(),
            |it| {
                let uid = shown_uid(it.uid.as_ref());
                format!("{} uid {uid}", it.key)
            },
        );
        let object = volume.object();
        finding = finding.shows_of(&object, "spec.claimRef", named).relates([object]);
    }
    for other in &others {
        let object = other.object();
        finding = finding
            .shows_of(&object, "metadata.uid", shown_uid(other.metadata.uid.as_ref()))
            .shows_of(&object, "status.phase", other.phase.to_string())
            .relates([object]);
    }
    if let Ok(Some(event)) = facts::last_event_about(cx, &claim.object(), &["ClaimMisbound"]) {
        finding = finding.shows("last event", shown_event(&event));
    }
    Ok(Some(
        finding
            .report_only("stop the pods of the other claim first; then find out whose data it is"),
    ))
}

/// Whether a volume belongs to a claim, if it belongs to any. The volume controller binds a volume
/// again that is reserved for the claim by name, or whose claimRef was removed.
fn is_of(volume: &Volume, claim: &Claim) -> bool {
    let Some(claim_ref) = &volume.claim_ref else { return true };
    match (&claim_ref.uid, &claim.metadata.uid) {
        (Some(wanted), Some(uid)) => wanted == uid,
        (None, _) | (_, None) => claim_ref.key == claim.key(),
    }
}

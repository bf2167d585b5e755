//! F51: the garbage collector is about to delete a claim.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimDataEffect};
use crate::model::{Claim, Finding, Kind, ManagedField, OwnerReference, Severity};
use crate::remedies;
use crate::rules::{
    CapacityRisk, Judge, Rule,
    finding::{shown_uid, time},
};

pub(super) static RULE: Rule = Rule {
    id: "pvc-doomed-by-gc",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: &[
        Kind::PersistentVolumeClaim,
        Kind::PersistentVolume,
        Kind::Pod,
        Kind::StatefulSet,
        Kind::PartialObjectMetadata,
    ],
    remedies: &[&remedies::RETAIN],
    title: "A claim names owners none of which exists: the garbage collector will delete it",
    danger: "As soon as the garbage collector looks at it, within seconds where it runs, the claim is deleted \
             like any other, and with the policy Delete its data goes. Typical after a restore from a backup: \
             owners that were made again have other uids.",
    remedy: "Setting the policy of its volume to Retain keeps the data whatever becomes of the claim. If the claim \
             is to stay, remove the owner references that lead nowhere, and never point them at the new owner: \
             then it would die with that one. Look again afterwards: the garbage collector may have been faster.",
    source: "kubernetes garbagecollector.go, isDangling and attemptToDeleteItem",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_some() || !facts::is_doomed(cx, claim)? {
        return Ok(None);
    }
    let fate = facts::data_effect(cx, claim);
    let wanted = claim.metadata.owners.iter().all(|owner| is_ephemeral(claim, owner));
    let consequence = fate.words("the garbage collector has deleted it");
    let summary = if wanted {
        "its pod is gone: as an ephemeral volume it is about to be deleted".to_owned()
    } else {
        format!("none of its owners exists, so it is about to be deleted: {consequence}")
    };
    let mut finding = RULE
        .on_claim(claim, summary)
        .shows("metadata.creationTimestamp", time(claim.metadata.created))
        .shows("consequence", consequence)
        .about_volume(fate.volume())
        .relates(fate.volume().map(crate::model::Volume::object));
    for owner in &claim.metadata.owners {
        let uid = shown_uid(owner.uid.as_ref());
        let named = format!("{} {} {} uid {uid}", owner.api_version, owner.kind, owner.name);
        finding = finding.shows("owner that is gone", named);
    }
    let field = ManagedField::OwnerReferences;
    let finding = finding.shows_manager(&claim.metadata, &field, "managers of the references");
    Ok(Some(if wanted {
        finding.severe(Severity::Info).report_only("nothing: this is how ephemeral volumes end")
    } else if let ClaimDataEffect::Destroyed(volume) | ClaimDataEffect::Scrubbed(volume) = fate {
        finding.remedied_by(cx, volume, &remedies::RETAIN)
    } else {
        finding.report_only("remove these references at once if the claim is to stay")
    }))
}

/// Whether the claim was created for an ephemeral volume of the pod that owns it.
fn is_ephemeral(claim: &Claim, owner: &OwnerReference) -> bool {
    let rest = claim.metadata.name.strip_prefix(&*owner.name);
    owner.controller
        && &*owner.kind == Kind::Pod.name()
        && rest.is_some_and(|volume| volume.len() > 1 && volume.starts_with('-'))
}

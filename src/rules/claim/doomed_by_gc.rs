//! F51: the garbage collector is about to delete a claim.

use crate::cluster::{Cx, Seen};
use crate::facts;
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
    needs: facts::needs![deletion: PersistentVolumeClaim, PartialObjectMetadata],
    remedies: &[&remedies::RETAIN, &remedies::DISOWN],
    title: "No owner of a claim exists: the garbage collector deletes the claim",
    danger: "The garbage collector deletes such a claim within seconds where it is running, and with policy \
             Delete the data is destroyed. Typical after a restore from a backup: recreated owners have other \
             uids.",
    remedy: "`kubectl storage retain pvc/NAME` keeps the data in any case. If the claim is to stay, `kubectl \
             storage disown pvc/NAME` removes the owner references to objects that do not exist. Never \
             replace them by references to the new owner: the claim would be deleted with that one.",
    source: "kubernetes garbagecollector.go, isDangling and attemptToDeleteItem",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_some() || !facts::is_doomed(cx, claim)? {
        return Ok(None);
    }
    let fate = facts::data_effect(cx, claim);
    let wanted = claim.metadata.owners.iter().all(|owner| is_ephemeral(claim, owner));
    let consequence = fate.words("the claim is deleted");
    let summary = if wanted {
        "claim of an ephemeral volume whose pod does not exist: the garbage collector deletes it"
            .to_owned()
    } else {
        format!("none of its owners exists, the garbage collector deletes it: {consequence}")
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
        finding = finding.shows("owner that does not exist", named);
    }
    let field = ManagedField::OwnerReferences;
    let finding = finding.shows_manager(&claim.metadata, &field, "managers of the references");
    Ok(Some(if wanted {
        finding
            .severe(Severity::Info)
            .report_only("nothing to do: claims of ephemeral volumes are deleted with their pods")
    } else {
        let destroyed = fate.volume().filter(|_| fate.loses_data());
        finding.saved_from_collector(cx, claim, destroyed, &remedies::DISOWN)
    }))
}

/// Whether the claim was created for an ephemeral volume of the pod that owns it.
fn is_ephemeral(claim: &Claim, owner: &OwnerReference) -> bool {
    let rest = claim.metadata.name.strip_prefix(&*owner.name);
    owner.controller
        && &*owner.kind == Kind::Pod.name()
        && rest.is_some_and(|volume| volume.len() > 1 && volume.starts_with('-'))
}

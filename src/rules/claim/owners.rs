//! Findings about claims that belong to an object which does not exist, or to another than it seems.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimDataEffect, OwnerPresence, Ownership};
use crate::model::{Claim, Finding, Kind, ManagedField, OwnerReference, Severity, VerdictState};
use crate::remedies;
use crate::rules::{
    CapacityRisk, Judge, Rule,
    finding::{shown_owner, shown_uid, time},
};

/// F51: the garbage collector is about to delete a claim.
pub(super) static DOOMED_BY_GC: Rule = Rule {
    id: "pvc-doomed-by-gc",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Deletion,
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
    judge: &[Judge::Claim(doomed_by_gc)],
};

fn doomed_by_gc(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
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
    let mut finding = DOOMED_BY_GC
        .on_claim(claim, summary)
        .shows("metadata.creationTimestamp", time(claim.metadata.created))
        .shows("consequence", consequence)
        .about_volume(fate.volume())
        .relates(fate.volume().map(crate::model::Volume::object));
    for owner in &claim.metadata.owners {
        finding = finding.shows("owner that does not exist", shown_owner(owner));
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

/// F101: a claim whose owner is of a kind that the server does not serve any more.
pub(super) static OWNER_KIND_NOT_SERVED: Rule = Rule {
    id: "pvc-owner-kind-not-served",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Deletion,
    needs: facts::needs![deletion: PersistentVolumeClaim, PartialObjectMetadata],
    remedies: &[&remedies::RETAIN],
    title: "The server does not serve the kind of a claim's owner: the claim is deleted when it does again",
    danger: "The custom resource definition of the owner was deleted, and the owner with it. The garbage collector cannot \
             look the owner up and leaves the claim alone. Once the definition is installed again, by an upgrade or a \
             reinstallation, the claim is deleted within seconds.",
    remedy: "`kubectl storage retain pvc/NAME` keeps the data in any case. If the claim is to stay, `kubectl storage disown \
             pvc/NAME --owner-kind-gone` removes the owner reference before the kind is served again.",
    source: "kubernetes garbagecollector.go, attemptToDeleteItem; seen on 1.36.3",
    judge: &[Judge::Claim(owner_kind_not_served)],
};

fn owner_kind_not_served(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_some() {
        return Ok(None);
    }
    let mut unserved = Vec::new();
    for owner in &claim.metadata.owners {
        match facts::ownership(cx, claim, owner)? {
            // One owner that exists is enough to keep it.
            Ownership::Solid => return Ok(None),
            Ownership::NotServed => unserved.push(owner),
            Ownership::Dangling => {}
        }
    }
    let Some(first) = unserved.first() else { return Ok(None) };
    let fate = facts::data_effect(cx, claim);
    let consequence = fate.words("the claim is deleted");
    let summary = format!(
        "the server does not serve kind {} ({}) of its owner {}: once it does again, the garbage collector deletes the claim; {consequence}",
        first.kind, first.api_version, first.name
    );
    let mut finding = OWNER_KIND_NOT_SERVED
        .on_claim(claim, summary)
        .shows("consequence", consequence)
        .about_volume(fate.volume())
        .relates(fate.volume().map(crate::model::Volume::object));
    let disown = disown(cx, claim, &unserved);
    for owner in unserved {
        finding = finding.shows("owner of a kind that is not served", shown_owner(owner));
    }
    Ok(Some(match fate {
        ClaimDataEffect::Destroyed(volume) | ClaimDataEffect::Scrubbed(volume) => {
            let mut finding = finding.remedied_by(cx, volume, &remedies::RETAIN);
            if finding.verdict.state == VerdictState::Fixable {
                finding.verdict.reason =
                    format!("keep the data first; then {disown} keeps the claim");
            }
            finding
        }
        ClaimDataEffect::Kept(_)
        | ClaimDataEffect::Forgotten(_)
        | ClaimDataEffect::NoVolume
        | ClaimDataEffect::Unseen(_) => {
            let reason = format!("if the claim is to stay: {disown} removes this owner reference");
            finding.severe(Severity::Medium).report_only(reason)
        }
    }))
}

/// The command that removes references to owners whose kind is not served. Where it is served in
/// another version, that version proves that the owner does not exist.
fn disown(cx: &Cx, claim: &Claim, unserved: &[&OwnerReference]) -> String {
    let is_gone = |owner: &&OwnerReference| {
        facts::owner_presence(cx, claim, owner) == Ok(OwnerPresence::KindGone)
    };
    let flag = if unserved.iter().any(is_gone) { " --owner-kind-gone" } else { "" };
    let (name, namespace) = (&claim.metadata.name, &claim.namespace);
    format!("`kubectl storage disown pvc/{name} -n {namespace}{flag}`")
}

/// F50: the name of the claim for a pod's ephemeral volume is taken by another claim.
pub(super) static EPHEMERAL_NAME_CONFLICT: Rule = Rule {
    id: "pvc-ephemeral-name-conflict",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolumeClaim, Kind::Pod],
    remedies: &[],
    title: "A pod cannot have its ephemeral volume, because another claim has that name",
    danger: "The claim of an ephemeral volume has the name of the pod and the volume. A claim of that name \
             which the pod does not control is never used for it, so the pod cannot start. Deleting the claim \
             to start the pod destroys the data of its real users.",
    remedy: "The tool changes nothing. Rename the pod, or its volume.",
    source: "component-helpers storage/ephemeral, VolumeIsForPod; ephemeral volume controller",
    judge: &[Judge::Claim(ephemeral_name_conflict)],
};

fn ephemeral_name_conflict(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let pods = facts::conflicting_pods(cx, claim)?;
    let Some(first) = pods.first() else { return Ok(None) };
    let owner = facts::controller_of(&claim.metadata)
        .map_or_else(|| "<none>".to_owned(), |owner| format!("{} {}", owner.kind, owner.name));
    let summary = format!(
        "has the name of an ephemeral volume of {}, which does not control it, so that pod cannot start",
        first.object()
    );
    let mut finding = EPHEMERAL_NAME_CONFLICT
        .on_claim(claim, summary)
        .shows("metadata.uid", shown_uid(claim.metadata.uid.as_ref()))
        .shows("controller", owner);
    for pod in pods {
        let object = pod.object();
        let uid = shown_uid(pod.uid.as_ref());
        finding = finding
            .shows_of(&object, "metadata.uid", uid)
            .shows_of(&object, "status.phase", pod.phase.name())
            .relates([object]);
    }
    Ok(Some(finding.report_only("rename the pod or its volume; the claim belongs to another user")))
}

//! F65: a claim has an owner reference to an earlier `StatefulSet` or pod of the same name.

use crate::cluster::{Cx, Seen};
use crate::facts::retention::{VolumeEffect, is_held, membership, names_pod, names_set};
use crate::model::{Claim, Finding, ObjectRef, OwnerReference, Severity};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule, finding::shown_uid};

pub(super) static RULE: Rule = Rule {
    id: "sts-stale-ownerref",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: crate::facts::needs![deletion: PersistentVolumeClaim, PartialObjectMetadata],
    remedies: &[&remedies::RETAIN, &remedies::REMOVE_OWNERS, &remedies::DISOWN],
    title: "A claim is owned by an earlier StatefulSet or pod of the same name",
    danger: "Its owner does not exist, and another object has that name. The garbage collector deletes the \
             claim, and the StatefulSet controller does not change it. Typical after a restore: recreated \
             objects have other uids.",
    remedy: "`kubectl storage retain pvc/NAME` keeps the data in any case. If the claim is to stay, `kubectl \
             storage retention apply sts/NAME` removes the stale owner reference, as `disown pvc/NAME` does. Never \
             replace it by one to the new set: the claim would be deleted with that set.",
    source: "stateful_set_utils.go, hasStaleOwnerRef; garbagecollector.go, isDangling",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_some() {
        return Ok(None);
    }
    for owner in &claim.metadata.owners {
        let Some(present) = namesake(cx, claim, owner)? else { continue };
        if is_held(cx, claim, |it| it == owner) {
            continue;
        }
        let summary = format!(
            "owned by an earlier {} {} with another uid: the garbage collector deletes it",
            owner.kind, owner.name
        );
        let uid = shown_uid(present.uid.as_ref());
        let finding = RULE.on_claim(claim, summary).shows_owner("stale reference", owner).shows_of(
            &present,
            "metadata.uid",
            uid,
        );
        if let Some(member) = membership(cx, claim)?.decided {
            let finding = finding.shows_member(claim, &member);
            return Ok(Some(finding.keeps_claim(cx, claim, true)));
        }
        let finding = finding.shows_owners(claim).relates([present]);
        let (finding, effect, volume) = finding.weighs_data(cx, claim);
        let destroys = matches!(effect, VolumeEffect::Destroyed | VolumeEffect::Scrubbed);
        let destroyed = volume.filter(|_| destroys);
        let finding = finding.saved_from_collector(cx, claim, destroyed, &remedies::DISOWN);
        return Ok(Some(finding));
    }
    Ok(None)
}

/// Returns the `StatefulSet`, or its pod, that has the name of an owner, but another uid.
fn namesake(cx: &Cx, claim: &Claim, owner: &OwnerReference) -> Seen<Option<ObjectRef>> {
    if names_set(owner, &owner.name) {
        let set = cx.set(&claim.namespace, &owner.name)?;
        let other = set.filter(|it| it.metadata.uid.is_some() && it.metadata.uid != owner.uid);
        return Ok(other.map(crate::model::StatefulSet::object));
    }
    let Some(member) = membership(cx, claim)?.decided else { return Ok(None) };
    if !names_pod(owner, &member.pod_name()) {
        return Ok(None);
    }
    let pod = member.pod(cx)?.filter(|it| it.uid.is_some() && it.uid != owner.uid);
    Ok(pod.map(crate::model::PodUse::object))
}

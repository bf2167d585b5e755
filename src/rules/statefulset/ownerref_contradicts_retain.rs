//! F60: a claim has an owner reference to its `StatefulSet` although the policy retains claims.

use crate::cluster::{Cx, Seen};
use crate::facts::retention::{ClaimPod, is_held, membership, wanted_owners};
use crate::model::{Claim, Finding, Kind, Severity};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "sts-ownerref-contradicts-retain",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: &[
        Kind::PersistentVolumeClaim,
        Kind::StatefulSet,
        Kind::Pod,
        Kind::PersistentVolume,
        Kind::PartialObjectMetadata,
    ],
    remedies: &[&remedies::RETAIN],
    title: "A claim without a pod is still owned by a StatefulSet that retains its claims",
    danger: "The controller updates the owners of claims only while they have a pod. A claim that lost its \
             pod before the policy became Retain stays owned, and the garbage collector deletes it with the \
             set.",
    remedy: "Setting the policy of its volume to Retain keeps the data in any case. To keep the claim too, \
             remove its owner reference to the set before the set is deleted.",
    source: "KEP-1847; stateful_set_control.go, updateStatefulSet; kubernetes/enhancements#2440",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_some() || claim.metadata.owners.is_empty() {
        return Ok(None);
    }
    let Some(member) = membership(cx, claim)?.decided else { return Ok(None) };
    let set = member.owner();
    let owned = claim.metadata.owners.iter().any(|it| set.is_named_by(it));
    let retained = !wanted_owners(member.set.retention.as_ref(), false).set;
    if !owned || !retained {
        return Ok(None);
    }
    let name = member.pod_name();
    let podless = member.pod_state(&name, member.pod(cx)?) == ClaimPod::Podless;
    if !podless || is_held(cx, claim, |it| set.is_named_by(it)) {
        return Ok(None);
    }
    let summary = if member.set.metadata.deleting.is_some() {
        "its StatefulSet is Terminating: the garbage collector deletes it, although the policy retains claims"
    } else {
        "if its StatefulSet is deleted, the garbage collector deletes it, although the policy retains claims"
    };
    let advice =
        "remove its owner reference to the StatefulSet, if the claim is to remain after it";
    let finding = RULE.on_claim(claim, summary).shows_member(claim, &member);
    Ok(Some(finding.shows("pod", format!("{name} does not exist")).keeps_data(cx, claim, advice)))
}

//! F60: a claim has an owner reference to its `StatefulSet` although the policy retains claims.

use crate::cluster::{Cx, Seen};
use crate::facts::retention::{SurplusReason, is_held, membership, owner_agreement};
use crate::model::{Age, Claim, Finding, ManagedField, Severity, Threshold};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "sts-ownerref-contradicts-retain",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: crate::facts::needs![deletion: PersistentVolumeClaim, PartialObjectMetadata],
    remedies: &[&remedies::RETAIN, &remedies::REMOVE_OWNERS],
    title: "A claim is still owned by a StatefulSet that retains its claims",
    danger: "The controller removes its owner reference only from claims with a pod, and from none while an earlier pod of \
             the set is not Ready. A claim that it has not visited since the policy became Retain stays owned, and the \
             garbage collector deletes it with the set; observedGeneration does not show this.",
    remedy: "`kubectl storage retention apply sts/NAME` removes its owner reference to the set, and so keeps the claim. \
             If the set is being deleted already, set the policy of its volume to Retain first, which keeps the \
             data in any case.",
    source: "KEP-1847; stateful_set_control.go, updateStatefulSet; kubernetes/enhancements#2440",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_some() || claim.metadata.owners.is_empty() {
        return Ok(None);
    }
    let Some(member) = membership(cx, claim)?.decided else { return Ok(None) };
    let set = member.owner();
    let surplus = owner_agreement(cx, claim, &member)?.surplus;
    if !surplus.iter().any(|(_, why)| *why == SurplusReason::SetRetains) {
        return Ok(None);
    }
    let name = member.pod_name();
    if is_held(cx, claim, |it| set.is_named_by(it)) {
        return Ok(None);
    }
    let pod = member.pod(cx)?;
    // The controller removes the reference of a claim with a pod within seconds, unless it waits for
    // an earlier pod that is not Ready: then it visits no claim.
    if let Some(pod) = pod {
        let changed = member.set.metadata.last_change(&ManagedField::RetentionPolicy);
        let since = claim.metadata.created.max(changed).max(pod.created).max(pod.deleting);
        if !cx.older_than(&Age::stamped(since), Threshold::Protection) {
            return Ok(None);
        }
    }
    let summary = if member.set.metadata.deleting.is_some() {
        "its StatefulSet is Terminating: the garbage collector deletes it, although the policy retains claims"
    } else {
        "if its StatefulSet is deleted, the garbage collector deletes it, although the policy retains claims"
    };
    let shown = match pod {
        None => format!("{name} does not exist"),
        Some(pod) => format!("{name}, {}", pod.state()),
    };
    let finding = RULE.on_claim(claim, summary).shows_member(claim, &member).shows("pod", shown);
    Ok(Some(finding.keeps_claim(cx, claim, member.set.metadata.deleting.is_some())))
}

//! F67: a claim in range is owned by its pod, and deleted with it.

use crate::cluster::{Cx, Seen};
use crate::facts::retention::{ClaimPod, is_held, membership, names_pod};
use crate::model::{Age, Claim, Finding, ManagedField, Severity, Threshold};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule, finding::time};

pub(super) static RULE: Rule = Rule {
    id: "sts-claim-owned-by-pod-in-range",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: crate::facts::needs![deletion: PersistentVolumeClaim, PartialObjectMetadata],
    remedies: &[&remedies::RETAIN, &remedies::REMOVE_OWNERS],
    title: "A claim is owned by its pod although its StatefulSet has the ordinal again",
    danger: "The set was scaled down and up again while the pod was Terminating. The controller waits for the \
             pod before it visits the claim, which is too late: the garbage collector deletes the claim with \
             the pod, and the claim that replaces it is empty.",
    remedy: "Setting the policy of its volume to Retain keeps the data. To keep the claim, remove its owner \
             reference before the pod is deleted, by `kubectl storage retention apply sts/NAME`: the controller itself would do the same.",
    source: "stateful_set_control.go, processReplica; stateful_pod_control.go, PodClaimIsStale",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_some() || claim.metadata.owners.is_empty() {
        return Ok(None);
    }
    let Some(member) = membership(cx, claim)?.decided else { return Ok(None) };
    let name = member.pod_name();
    let Some(pod) = member.pod(cx)?.filter(|_| member.is_wanted()) else { return Ok(None) };
    let place = member.pod_state(&name, Some(pod));
    let Some(identity) = place.pod() else { return Ok(None) };
    let of_pod =
        |it: &crate::model::OwnerReference| names_pod(it, &name) && identity.is_named_by(it);
    if !claim.metadata.owners.iter().any(of_pod) || is_held(cx, claim, of_pod) {
        return Ok(None);
    }
    let going = matches!(place, ClaimPod::Leaving(_)) || member.set.metadata.deleting.is_some();
    // While the pod exists, the controller removes the reference, unless something blocks it.
    let since = claim.metadata.last_change(&ManagedField::OwnerReferences).max(pod.created);
    if !going && !cx.older_than(&Age::stamped(since), Threshold::Protection) {
        return Ok(None);
    }
    let summary = if going {
        format!(
            "the garbage collector deletes it with pod {name}, although its StatefulSet has the ordinal again"
        )
    } else {
        format!(
            "if pod {name} is deleted, the garbage collector deletes it, although its StatefulSet has the ordinal"
        )
    };
    let object = pod.object();
    Ok(Some(
        RULE.on_claim(claim, summary)
            .severe(if going { Severity::Critical } else { Severity::High })
            .shows_member(claim, &member)
            .shows_of(&object, "metadata.deletionTimestamp", time(pod.deleting))
            .shows_of(&object, "status.phase", pod.phase.name())
            .relates([object])
            .keeps_claim(cx, claim, going),
    ))
}

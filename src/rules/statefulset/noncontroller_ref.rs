//! F66: an owner reference without `controller`, as written by older servers.

use crate::cluster::{Cx, Seen};
use crate::facts::retention::{ClaimPod, ReferenceForm, membership};
use crate::model::{Claim, Finding, Severity};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "sts-noncontroller-ref",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::None,
    needs: crate::facts::needs![deletion: PersistentVolumeClaim],
    remedies: &[],
    title: "A claim without a pod has an owner reference of the form that servers before 1.31 write",
    danger: "The reference deletes the claim with the set all the same. But it has no controller flag: \
             another controller can adopt the claim unnoticed, and a foreground deletion does not wait for \
             it.",
    remedy: "Nothing needs to be done before the claim has a pod again: then the controller renews the \
             reference. `kubectl storage retention apply sts/NAME --add-owners` renews it before.",
    source: "kubernetes/kubernetes#122499; stateful_set_utils.go, hasNonControllerOwner",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_some()
        || claim.metadata.owners.is_empty()
        || ReferenceForm::of(cx.server()) != ReferenceForm::Controller
    {
        return Ok(None);
    }
    let Some(member) = membership(cx, claim)?.decided else { return Ok(None) };
    let set = member.owner();
    let plain = claim.metadata.owners.iter().any(|it| set.is_named_by(it) && !it.controller);
    let name = member.pod_name();
    if !plain || member.pod_state(&name, member.pod(cx)?) != ClaimPod::Podless {
        return Ok(None);
    }
    Ok(Some(
        RULE.on_claim(
            claim,
            "its owner reference to its StatefulSet lacks the controller flag, and it has no pod",
        )
        .shows_member(claim, &member)
        .shows("pod", format!("{name} does not exist"))
        .report_only(
            "not urgent: the controller renews the reference when the claim has a pod again",
        ),
    ))
}

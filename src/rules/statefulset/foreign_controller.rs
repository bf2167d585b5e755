//! F64: a claim of a `StatefulSet` has another managing controller, so that the policy is not
//! applied.

use crate::cluster::{Cx, Seen};
use crate::facts::retention::{
    OwnerIdentity, ReferenceForm, foreign_controller, membership, names_pod, names_set,
};
use crate::model::{Claim, Finding, Severity};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "sts-foreign-controller",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: crate::facts::needs![deletion: PersistentVolumeClaim],
    remedies: &[],
    title: "Another controller manages a claim of a StatefulSet whose policy deletes claims",
    danger: "The StatefulSet controller then removes its own owner references and ignores its policy for this \
             claim: the claim remains after the set is deleted, and is deleted with the other owner. Two \
             controllers that both insist undo each other's changes.",
    remedy: "The tool changes nothing about such claims. Decide which controller manages them: set the policy \
             of the StatefulSet to Retain, or make the other controller release the claim.",
    source: "stateful_set_utils.go, hasUnexpectedController; stateful_pod_control.go, event ConflictingController",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let owners = &claim.metadata.owners;
    if !owners.iter().any(|it| it.controller)
        || ReferenceForm::of(cx.server()) == ReferenceForm::Plain
    {
        return Ok(None);
    }
    let Some(member) = membership(cx, claim)?.decided else { return Ok(None) };
    let set = member.owner();
    let name = member.pod_name();
    let pod = OwnerIdentity { name: &name, uid: member.pod(cx)?.and_then(|pod| pod.uid.as_ref()) };
    let Some(foreign) = foreign_controller(owners, set, pod, member.set.retention.as_ref()) else {
        return Ok(None);
    };
    // A reference to an earlier set or pod is another finding.
    if names_set(foreign, set.name) || names_pod(foreign, &name) {
        return Ok(None);
    }
    let summary = format!(
        "managed by {} {}: its StatefulSet does not apply its retention policy to it",
        foreign.kind, foreign.name
    );
    Ok(Some(
        RULE.on_claim(claim, summary)
            .shows_owner("managing controller", foreign)
            .shows_member(claim, &member)
            .report_only("decide which of the two manages it; change no owner reference before"),
    ))
}

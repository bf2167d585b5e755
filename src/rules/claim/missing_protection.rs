//! F42: a claim in use lacks its protection finalizer.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, PVC_PROTECTION};
use crate::model::{Age, Claim, Finding, Severity, Threshold};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule, finding::time};

pub(super) static RULE: Rule = Rule {
    id: "pvc-missing-protection",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![manager: PersistentVolumeClaim, StorageClass, Secret],
    remedies: &[&remedies::PROTECT_CLAIM],
    title: "A claim lacks the finalizer that blocks its deletion while pods use it",
    danger: "Deleting such a claim takes effect at once, also under a running database; with policy Delete \
             its data is destroyed. The API server sets the finalizer when a claim is created, and \
             kube-controller-manager adds it to claims without it, so neither of the two works as it should.",
    remedy: "`fix-finalizers` adds the finalizer, whether the claim is in use or not. Find out why \
             kube-controller-manager has not. The tool refuses to delete a claim without it.",
    source: "kubernetes pvc_protection_controller.go, NeedToAddFinalizer; admission StorageObjectInUseProtection",
    judge: &[Judge::Claim(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let missing =
        claim.metadata.deleting.is_none() && !claim.metadata.has_finalizer(PVC_PROTECTION);
    let age = Age::stamped(claim.metadata.created);
    if !missing || !cx.older_than(&age, Threshold::ClaimProtection) {
        return Ok(None);
    }
    let fate = facts::data_effect(cx, claim);
    let mut finding = RULE
        .on_claim(claim, "no pod uses it, but lacks kubernetes.io/pvc-protection: a delete would not wait for later pods")
        .severe(Severity::Medium)
        .aged(age)
        .shows("metadata.creationTimestamp", time(claim.metadata.created))
        .shows("metadata.finalizers", claim.metadata.finalizers.join(", "))
        .shows("missing protection", PVC_PROTECTION)
        .shows("consequence", fate.words("it is deleted"))
        .about_volume(fate.volume())
        .shows_controller(&facts::controller_manager(cx));
    match facts::pod_users(cx, claim) {
        Ok(users) if users.is_empty() => {}
        Ok(users) => {
            "in use, but lacks kubernetes.io/pvc-protection: a delete does not wait for its pods"
                .clone_into(&mut finding.summary);
            finding = finding.severe(Severity::High).shows_pods(&users);
        }
        Err(unseen) => {
            "lacks kubernetes.io/pvc-protection, and whether pods use it is unknown: a delete would not wait for them"
                .clone_into(&mut finding.summary);
            finding = finding.shows("pods", unseen.reason);
        }
    }
    Ok(Some(finding.remedied_by(cx, claim, &remedies::PROTECT_CLAIM)))
}

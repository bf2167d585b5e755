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
    needs: facts::needs![manager: PersistentVolumeClaim],
    remedies: &[&remedies::PROTECT_CLAIM],
    title: "A claim lacks the finalizer that keeps it while pods use it",
    danger: "Deleting such a claim takes effect at once, under a running database too; with the policy Delete its \
             data goes with it. The API server sets the finalizer when a claim is made, and the controller \
             manager adds it to claims that lack it, so neither of the two does its work.",
    remedy: "`fix-finalizers` adds the finalizer, in use or not; find out why the controller manager has not. \
             Deleting a claim without it is refused.",
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
        .on_claim(claim, "no pod uses it now, but nothing would keep it from going at once")
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
            "pods use it, and nothing would keep it from going under them"
                .clone_into(&mut finding.summary);
            finding = finding.severe(Severity::High).shows_pods(&users);
        }
        Err(unseen) => {
            "whether pods use it was not seen, and nothing would keep it from going under them"
                .clone_into(&mut finding.summary);
            finding = finding.shows("pods", unseen.reason);
        }
    }
    Ok(Some(finding.remedied_by(cx, claim, &remedies::PROTECT_CLAIM)))
}

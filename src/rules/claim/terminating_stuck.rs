//! F41: an unused claim is Terminating for longer than the threshold.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, FinalizerOwner, PVC_PROTECTION};
use crate::model::{Age, Claim, Finding, Severity, Threshold};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pvc-terminating-stuck",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![manager: PersistentVolumeClaim, StorageClass, Secret],
    remedies: &[&remedies::FIX_CLAIM],
    title: "Finalizers block the deletion of a claim for longer than the threshold, although no pod uses it",
    danger: "The controller of a finalizer does not remove it: kube-controller-manager for \
             kubernetes.io/pvc-protection, the owner of another finalizer. The namespace cannot be deleted, \
             and no claim of that name can be created. Removing the last finalizer by hand destroys the data, \
             if the policy is Delete.",
    remedy: "A controller that works removes its finalizer within seconds: check it first. If it is proven \
             absent and nothing uses the claim, running or not, `fix-finalizers` removes its finalizer. With \
             the last one the claim is deleted. If the policy of its volume destroys the data, that requires \
             --keep-data, which sets it to Retain first, or --destroy-data.",
    source: "kubernetes pvc_protection_controller.go, processPVC",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let age = Age::stamped(claim.metadata.deleting);
    if !cx.older_than(&age, Threshold::Detach) || claim.metadata.finalizers.is_empty() {
        return Ok(None);
    }
    let protected = claim.metadata.has_finalizer(PVC_PROTECTION);
    if protected && !facts::upstream_in_use(cx, claim)?.is_empty() {
        return Ok(None);
    }
    let summary = if protected {
        "Terminating; no scheduled pod uses it, but kube-controller-manager has not removed its finalizer"
    } else {
        "Terminating; only finalizers of other controllers remain, and these have not removed them"
    };
    let fate = facts::data_effect(cx, claim);
    let mut finding = RULE
        .on_claim(claim, summary)
        .aged(age)
        .shows("consequence", fate.words("its last finalizer is removed"))
        .about_volume(fate.volume())
        .relates(fate.volume().map(crate::model::Volume::object));
    // Pods that Kubernetes does not wait for.
    if let Ok(users) = facts::pod_users(cx, claim) {
        finding = finding.shows_pods(&users);
    }
    if protected {
        finding = finding.shows_controller(&facts::controller_manager(cx));
    }
    for finalizer in claim.metadata.finalizers.iter() {
        let owner = who(&facts::owner_of(finalizer));
        finding = finding.shows("finalizer", format!("{finalizer}, removed by {owner}"));
    }
    Ok(Some(finding.remedied_by(cx, claim, &remedies::FIX_CLAIM)))
}

fn who(owner: &FinalizerOwner) -> &'static str {
    match owner {
        FinalizerOwner::Provisioner | FinalizerOwner::Cloning => "csi-provisioner",
        FinalizerOwner::ControllerManager => "kube-controller-manager",
        FinalizerOwner::Attacher(_) => "external-attacher",
        FinalizerOwner::Snapshotter => "snapshot-controller",
        FinalizerOwner::GarbageCollector => "the garbage collector",
        FinalizerOwner::Unknown => "an unknown controller",
    }
}

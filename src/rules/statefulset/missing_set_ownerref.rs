//! F61: a claim lacks the owner reference to its `StatefulSet` that the policy requires.

use crate::cluster::{Cx, Seen};
use crate::facts::retention::{
    ClaimPod, OwnerIdentity, ReferenceForm, ReferenceUpdate, expected_ownership,
    foreign_controller, is_stale, membership, wanted_owners,
};
use crate::model::{Age, Claim, Finding, ManagedField, Severity, Threshold};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "sts-missing-set-ownerref",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: crate::facts::needs![deletion: PersistentVolumeClaim],
    remedies: &[&remedies::ADD_OWNER],
    title: "A claim is not owned by its StatefulSet although whenDeleted is Delete",
    danger: "When the set is deleted, the claim remains, and with it the backend volume; that it should have \
             been deleted is not recorded. The controller adds no owner to a claim without a pod.",
    remedy: "An owner reference makes a claim deletable: `kubectl storage retention apply sts/NAME` adds it only with \
             --add-owners. Or delete such claims yourself when you delete the set, or scale up until they have pods \
             again: then the controller owns them.",
    source: "KEP-1847; stateful_pod_control.go, UpdatePodClaimForRetentionPolicy; kubernetes/kubernetes#142130",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_some() {
        return Ok(None);
    }
    let Some(member) = membership(cx, claim)?.decided else { return Ok(None) };
    let policy = member.set.retention.as_ref();
    if member.set.metadata.deleting.is_some() || !wanted_owners(policy, false).set {
        return Ok(None);
    }
    let set = member.owner();
    let owners = &claim.metadata.owners;
    let name = member.pod_name();
    let pod = member.pod(cx)?;
    let place = member.pod_state(&name, pod);
    let identity = place.pod().unwrap_or(OwnerIdentity { name: &name, uid: None });
    if owners.iter().any(|it| set.is_named_by(it))
        || is_stale(owners, set, identity)
        || foreign_controller(owners, set, identity, policy).is_some()
    {
        return Ok(None);
    }
    let missing = match &place {
        ClaimPod::Podless => wanted_owners(policy, !member.is_wanted()).set,
        ClaimPod::InRange(_) | ClaimPod::Leaving(_) | ClaimPod::Condemned(_) => {
            match expected_ownership(owners, set, policy, &place, ReferenceForm::of(cx.server())) {
                ReferenceUpdate::Writes(owners) => owners.iter().any(|it| set.is_named_by(it)),
                ReferenceUpdate::Leaves(_) => false,
            }
        }
    };
    // The controller needs some time after each of these.
    let changed = member.set.metadata.last_change(&ManagedField::RetentionPolicy);
    let since = claim.metadata.created.max(changed).max(pod.and_then(|pod| pod.created));
    if !missing || !cx.older_than(&Age::stamped(since), Threshold::Protection) {
        return Ok(None);
    }
    let finding = |summary: &str, shown: String| {
        RULE.on_claim(claim, summary)
            .aged(Age::stamped(since))
            .shows_member(claim, &member)
            .shows("pod", shown)
    };
    Ok(Some(if pod.is_none() {
        let summary = "remains if its StatefulSet is deleted, although whenDeleted is Delete";
        finding(summary, format!("{name} does not exist")).remedied_by(
            cx,
            claim,
            &remedies::ADD_OWNER,
        )
    } else {
        let summary = "the StatefulSet controller has not added its owner reference, although whenDeleted is Delete";
        finding(summary, name.clone()).report_only(
            "see whether the pods of the set are ready, and whether kube-controller-manager is running and may update claims",
        )
    }))
}

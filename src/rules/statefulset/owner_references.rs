//! Findings about owner references of the claims of sets, which decide what is deleted with a set.

use crate::cluster::{Cx, Seen};
use crate::facts::retention::{
    ClaimPod, OwnerIdentity, ReferenceForm, ReferenceUpdate, SurplusReason, VolumeEffect,
    expected_ownership, foreign_controller, is_held, is_stale, membership, names_pod, names_set,
    owner_agreement, wanted_owners,
};
use crate::model::{
    Age, Claim, Finding, ManagedField, ObjectRef, OwnerReference, Severity, Threshold,
};
use crate::remedies;
use crate::rules::{
    CapacityRisk, Judge, Rule,
    finding::{shown_uid, time},
};

/// F67: a claim in range is owned by its pod, and deleted with it.
pub(super) static CLAIM_OWNED_BY_POD_IN_RANGE: Rule = Rule {
    id: "sts-claim-owned-by-pod-in-range",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Deletion,
    needs: crate::facts::needs![deletion: PersistentVolumeClaim, PartialObjectMetadata],
    remedies: &[&remedies::RETAIN, &remedies::REMOVE_OWNERS],
    title: "A claim is owned by its pod although its StatefulSet has the ordinal again",
    danger: "The set was scaled down and up again while the pod was Terminating. The controller waits for the \
             pod before it visits the claim, which is too late: the garbage collector deletes the claim with \
             the pod, and the claim that replaces it is empty.",
    remedy: "Setting the policy of its volume to Retain keeps the data. To keep the claim, remove its owner \
             reference before the pod is deleted, by `kubectl storage retention reconcile sts/NAME`: the controller itself would do the same.",
    source: "stateful_set_control.go, processReplica; stateful_pod_control.go, PodClaimIsStale",
    judge: &[Judge::Claim(claim_owned_by_pod_in_range)],
};

fn claim_owned_by_pod_in_range(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
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
        CLAIM_OWNED_BY_POD_IN_RANGE
            .on_claim(claim, summary)
            .severe(if going { Severity::Critical } else { Severity::High })
            .shows_member(claim, &member)
            .shows_of(&object, "metadata.deletionTimestamp", time(pod.deleting))
            .shows_of(&object, "status.phase", pod.phase.name())
            .relates([object])
            .keeps_claim(cx, claim, going),
    ))
}

/// F64: a claim of a `StatefulSet` has another managing controller, so that the policy is not
/// applied.
pub(super) static FOREIGN_CONTROLLER: Rule = Rule {
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
    judge: &[Judge::Claim(judge_foreign_controller)],
};

fn judge_foreign_controller(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
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
        FOREIGN_CONTROLLER
            .on_claim(claim, summary)
            .shows_owner("managing controller", foreign)
            .shows_member(claim, &member)
            .report_only("decide which of the two manages it; change no owner reference before"),
    ))
}

/// F61: a claim lacks the owner reference to its `StatefulSet` that the policy requires.
pub(super) static MISSING_SET_OWNERREF: Rule = Rule {
    id: "sts-missing-set-ownerref",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: crate::facts::needs![deletion: PersistentVolumeClaim],
    remedies: &[&remedies::ADD_OWNER],
    title: "A claim is not owned by its StatefulSet although whenDeleted is Delete",
    danger: "When the set is deleted, the claim remains, and with it the backend volume; that it should have \
             been deleted is not recorded. The controller adds no owner to a claim without a pod.",
    remedy: "An owner reference makes a claim deletable: `kubectl storage retention reconcile sts/NAME` adds it only with \
             --add-owners. Or delete such claims yourself when you delete the set, or scale up until they have pods \
             again: then the controller owns them.",
    source: "KEP-1847; stateful_pod_control.go, UpdatePodClaimForRetentionPolicy; kubernetes/kubernetes#142130",
    judge: &[Judge::Claim(missing_set_ownerref)],
};

fn missing_set_ownerref(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
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
        MISSING_SET_OWNERREF
            .on_claim(claim, summary)
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

/// F66: an owner reference without `controller`, as written by older servers.
pub(super) static NONCONTROLLER_REF: Rule = Rule {
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
             reference. `kubectl storage retention reconcile sts/NAME --add-owners` renews it before.",
    source: "kubernetes/kubernetes#122499; stateful_set_utils.go, hasNonControllerOwner",
    judge: &[Judge::Claim(noncontroller_ref)],
};

fn noncontroller_ref(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
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
        NONCONTROLLER_REF.on_claim(
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

/// F60: a claim has an owner reference to its `StatefulSet` although the policy retains claims.
pub(super) static OWNERREF_CONTRADICTS_RETAIN: Rule = Rule {
    id: "sts-ownerref-contradicts-retain",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Deletion,
    needs: crate::facts::needs![deletion: PersistentVolumeClaim, PartialObjectMetadata],
    remedies: &[&remedies::RETAIN, &remedies::REMOVE_OWNERS],
    title: "A claim is still owned by a StatefulSet that retains its claims",
    danger: "The controller removes its owner reference only from claims with a pod, and from none while an earlier pod of \
             the set is not Ready. A claim that it has not visited since the policy became Retain stays owned, and the \
             garbage collector deletes it with the set; observedGeneration does not show this.",
    remedy: "`kubectl storage retention reconcile sts/NAME` removes its owner reference to the set, and so keeps the claim. \
             If the set is being deleted already, set the policy of its volume to Retain first, which keeps the \
             data in any case.",
    source: "KEP-1847; stateful_set_control.go, updateStatefulSet; kubernetes/enhancements#2440",
    judge: &[Judge::Claim(ownerref_contradicts_retain)],
};

fn ownerref_contradicts_retain(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
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
    let finding = OWNERREF_CONTRADICTS_RETAIN
        .on_claim(claim, summary)
        .shows_member(claim, &member)
        .shows("pod", shown);
    Ok(Some(finding.keeps_claim(cx, claim, member.set.metadata.deleting.is_some())))
}

/// F65: a claim has an owner reference to an earlier `StatefulSet` or pod of the same name.
pub(super) static STALE_OWNERREF: Rule = Rule {
    id: "sts-stale-ownerref",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Deletion,
    needs: crate::facts::needs![deletion: PersistentVolumeClaim, PartialObjectMetadata],
    remedies: &[&remedies::RETAIN, &remedies::REMOVE_OWNERS, &remedies::DISOWN],
    title: "A claim is owned by an earlier StatefulSet or pod of the same name",
    danger: "Its owner does not exist, and another object has that name. The garbage collector deletes the \
             claim, and the StatefulSet controller does not change it. Typical after a restore: recreated \
             objects have other uids.",
    remedy: "`kubectl storage retain pvc/NAME` keeps the data in any case. If the claim is to stay, `kubectl \
             storage retention reconcile sts/NAME` removes the stale owner reference, as `disown pvc/NAME` does. Never \
             replace it by one to the new set: the claim would be deleted with that set.",
    source: "stateful_set_utils.go, hasStaleOwnerRef; garbagecollector.go, isDangling",
    judge: &[Judge::Claim(stale_ownerref)],
};

fn stale_ownerref(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
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
        let finding = STALE_OWNERREF
            .on_claim(claim, summary)
            .shows_owner("stale reference", owner)
            .shows_of(&present, "metadata.uid", uid);
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

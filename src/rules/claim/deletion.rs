//! Findings about claims whose deletion waits, or would not wait.

use crate::cluster::{Cx, Seen};
use crate::facts::{
    self, CLONE_SOURCE, ClaimDataEffect, FinalizerOwner, PVC_PROTECTION, PodUser, SNAPSHOT_SOURCE,
};
use crate::model::{Age, Claim, ClaimPhase, Finding, Severity, Threshold, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule, finding::time};

/// F40: a claim is Terminating while pods use it.
pub(super) static TERMINATING_IN_USE: Rule = Rule {
    id: "pvc-terminating-in-use",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Deletion,
    needs: facts::needs![deletion: PersistentVolumeClaim],
    remedies: &[&remedies::RETAIN],
    title: "A claim is Terminating while pods use it",
    danger: "A deletion cannot be reverted. The claim is deleted after its last pod, and the next rollout, drain or \
             crash ends that pod; with policy Delete the data is destroyed then. The scheduler rejects new pods with \
             this claim, so the workload does not recover by itself either.",
    remedy: "Setting the policy of its volume to Retain keeps the data, and has to happen before the last pod is \
             deleted. Afterwards `kubectl storage rebind pv/NAME` gives it back to a claim of that name. The tool refuses to remove the finalizer, \
             which protects the data under the running pods.",
    source: "kubernetes pvc_protection_controller.go, podUsesPVCForDeletion; PVC protection proposal",
    judge: &[Judge::Claim(terminating_in_use)],
};

fn terminating_in_use(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_none() || !claim.metadata.has_finalizer(PVC_PROTECTION) {
        return Ok(None);
    }
    let users = facts::upstream_in_use(cx, claim)?;
    // Where all of them have ended, that is another finding (F49).
    if users.iter().all(|user| user.pod.is_finished()) {
        return Ok(None);
    }
    let fate = facts::data_effect(cx, claim);
    let consequence = fate.words("the last of these pods is deleted");
    let finding = TERMINATING_IN_USE
        .on_claim(claim, format!("Terminating while pods use it: {consequence}"))
        .aged(Age::stamped(claim.metadata.deleting))
        .shows("consequence", consequence)
        .shows("new pods", "the scheduler rejects them, since the claim is Terminating")
        .shows_pods(&users)
        .about_volume(fate.volume())
        .relates(fate.volume().map(crate::model::Volume::object));
    Ok(Some(match fate {
        ClaimDataEffect::Destroyed(volume)
        | ClaimDataEffect::Scrubbed(volume)
        | ClaimDataEffect::Forgotten(volume) => finding.remedied_by(cx, volume, &remedies::RETAIN),
        ClaimDataEffect::Kept(volume) => finding.report_only(format!(
            "the volume will be Released with its data; after the last pod is deleted, \
             `kubectl storage rebind {}` gives it back to a claim of that name",
            facts::on_command_line(&volume.object())
        )),
        ClaimDataEffect::NoVolume => finding.report_only(
            "only the claim is deleted, since it has no volume: prepare another claim",
        ),
        ClaimDataEffect::Unseen(reason) => finding.report_only(format!(
            "see the policy of its volume ({reason}) before the last pod is deleted"
        )),
    }))
}

/// F41: an unused claim is Terminating for longer than the threshold.
pub(super) static TERMINATING_STUCK: Rule = Rule {
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
    judge: &[Judge::Claim(terminating_stuck)],
};

fn terminating_stuck(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
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
    let mut finding = TERMINATING_STUCK
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

/// F49: pods that have ended block the deletion of a claim.
pub(super) static HELD_BY_COMPLETED_PODS: Rule = Rule {
    id: "pvc-held-by-completed-pods",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::Deletion,
    needs: facts::needs![deletion: PersistentVolumeClaim],
    remedies: &[],
    title: "Only pods that have ended block the deletion of a claim",
    danger: "A pod that has Succeeded or Failed blocks the deletion of its claims until the pod object is deleted, by a \
             user, with its Job, or by ttlSecondsAfterFinished. Then the claim is deleted, and with policy Delete \
             its data is destroyed.",
    remedy: "The tool changes nothing. Delete the pods or their Job once their logs are not needed. If the data is still \
             needed, first set the policy of the volume to Retain: `kubectl storage retain pv/NAME`. Removing the \
             finalizer by hand has no advantage over deleting the pods.",
    source: "kubernetes pvc_protection_controller_test.go (\"updated finished Pod -> finalizer is not removed\")",
    judge: &[Judge::Claim(held_by_completed_pods)],
};

/// Number of pods that a sentence names.
const NAMED: usize = 2;

fn held_by_completed_pods(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_none() || !claim.metadata.has_finalizer(PVC_PROTECTION) {
        return Ok(None);
    }
    let users = facts::upstream_in_use(cx, claim)?;
    if users.is_empty() || !users.iter().all(|user| user.pod.is_finished()) {
        return Ok(None);
    }
    let fate = facts::data_effect(cx, claim);
    let consequence = fate.words("the last of these pods is deleted");
    let names: Vec<_> = users.iter().take(NAMED).map(|it| it.pod.object().to_string()).collect();
    let more = users.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let pods = format!("{}{more}", names.join(", "));
    let summary = format!("Terminating, blocked only by ended pods ({pods}): {consequence}");
    let finding = HELD_BY_COMPLETED_PODS
        .on_claim(claim, summary)
        .severe(if fate.loses_data() { Severity::Medium } else { Severity::Low })
        .aged(Age::stamped(claim.metadata.deleting))
        .shows("consequence", consequence)
        .shows_pods(&users)
        .about_volume(fate.volume());
    let keep = fate.volume().filter(|_| fate.loses_data()).map(Volume::object);
    let keep = keep.map_or_else(String::new, |pv| {
        let pv = facts::on_command_line(&pv);
        format!(", which destroys the data; `kubectl storage retain {pv}` first keeps it")
    });
    Ok(Some(
        finding.report_only(format!(
            "delete {pods}{} to finish the deletion{keep}",
            of_owners(&users)
        )),
    ))
}

/// Names the controllers of pods, whose deletion deletes the pods.
fn of_owners(users: &[PodUser]) -> String {
    let owners = users.iter().filter_map(|it| it.pod.controller.as_ref());
    let mut owners: Vec<_> = owners.map(|it| format!("{} {}", it.kind, it.name)).collect();
    owners.sort_unstable();
    owners.dedup();
    match &owners[..] {
        [] => String::new(),
        [only] => format!(", or {only},"),
        [first, ..] => format!(", or {first} and their other controllers,"),
    }
}

/// F48: the deletion of a claim is blocked by a finalizer for clones or snapshots, although none is
/// in progress.
pub(super) static SOURCE_FINALIZER_STUCK: Rule = Rule {
    id: "pvc-source-finalizer-stuck",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: PersistentVolumeClaim, StorageClass, VolumeSnapshot, Secret],
    remedies: &[&remedies::FIX_CLAIM],
    title: "A finalizer for clones or snapshots blocks the deletion of a claim, but no copy is in progress",
    danger: "csi-provisioner and snapshot-controller block the deletion of a claim while they copy it. If \
             they were removed or restarted in the wrong moment, their finalizer stays, and the claim is \
             never deleted. Removing the last finalizer by hand destroys the data, if the policy is Delete.",
    remedy: "While the controller is running, nothing: it removes its finalizer at its next resync. If it is \
             proven absent, `fix-finalizers` removes the finalizer, after another check for clones and \
             snapshots in progress and for users of the claim. Where the claim is deleted with it, this \
             requires a decision about the data.",
    source: "external-provisioner clone_controller.go, syncClaim; external-snapshotter isPVCBeingUsed",
    judge: &[Judge::Claim(source_finalizer_stuck)],
};

fn source_finalizer_stuck(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let age = Age::stamped(claim.metadata.deleting);
    if !cx.older_than(&age, Threshold::Resync) {
        return Ok(None);
    }
    let mut stuck = Vec::new();
    if claim.metadata.has_finalizer(CLONE_SOURCE) {
        let clones = cx.claims_from(&claim.key())?;
        if !clones.iter().any(|clone| clone.phase == ClaimPhase::Pending) {
            stuck.push((CLONE_SOURCE, "no Pending claim is being cloned from it"));
        }
    }
    if claim.metadata.has_finalizer(SNAPSHOT_SOURCE) {
        let snapshots = cx.volume_snapshots_of(&claim.key())?;
        if snapshots.iter().all(|snapshot| snapshot.ready) {
            stuck.push((SNAPSHOT_SOURCE, "no snapshot of it is in progress"));
        }
    }
    if stuck.is_empty() {
        return Ok(None);
    }
    let fate = facts::data_effect(cx, claim);
    let mut finding = SOURCE_FINALIZER_STUCK
        .on_claim(
            claim,
            "Terminating, blocked as the source of a copy, although no copy is in progress",
        )
        .aged(age)
        .shows("consequence", fate.words("its last finalizer is removed"))
        .about_volume(fate.volume());
    for (finalizer, why) in &stuck {
        finding = finding.shows("stale finalizer", format!("{finalizer}: {why}"));
    }
    let owner = fate.volume().map(facts::owner);
    if stuck.iter().any(|(finalizer, _)| *finalizer == CLONE_SOURCE)
        && let Some(driver) = owner.as_ref().and_then(facts::Owner::csi)
    {
        finding = finding.shows_controller(&facts::provisioner(cx, driver));
    }
    if stuck.iter().any(|(finalizer, _)| *finalizer == SNAPSHOT_SOURCE) {
        finding = finding.shows_controller(&facts::snapshotter(cx));
    }
    Ok(Some(finding.remedied_by(cx, claim, &remedies::FIX_CLAIM)))
}

/// F42: a claim in use lacks its protection finalizer.
pub(super) static MISSING_PROTECTION: Rule = Rule {
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
    judge: &[Judge::Claim(missing_protection)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn missing_protection(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let missing =
        claim.metadata.deleting.is_none() && !claim.metadata.has_finalizer(PVC_PROTECTION);
    let age = Age::stamped(claim.metadata.created);
    if !missing || !cx.older_than(&age, Threshold::ClaimProtection) {
        return Ok(None);
    }
    let fate = facts::data_effect(cx, claim);
    let mut finding = MISSING_PROTECTION
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

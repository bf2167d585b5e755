//! Findings about volumes whose deletion fails, waits, or does not do what it seems to.

use crate::cluster::{Cx, Seen};
use crate::facts::{
    self, ClaimState, EXTERNAL_PROVISIONER, FAILED_DELETE, IN_TREE, Owner, SecretState,
};
use crate::model::{
    Age, Attachment, ControllerState, Finding, Kind, Liveness, ManagedField, Phase, PodUse,
    ReclaimPolicy, Severity, Threshold, Volume,
};
use crate::remedies;
use crate::rules::{
    CapacityRisk, Judge, Rule,
    finding::{shown_last, time},
};

/// F05: a Released volume with policy Delete is not reclaimed.
pub(super) static RELEASED_DELETE_STUCK: Rule = Rule {
    id: "pv-released-delete-stuck",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: PersistentVolumeClaim, Node, VolumeAttachment, Secret, SubjectAccessReview],
    remedies: &[&remedies::RETAIN],
    title: "A Released volume with policy Delete is not reclaimed",
    danger: "The backend volume may still exist and be billed. Its deletion resumes as soon as the cause is fixed, \
             even months later. Deleting the object by hand can leak it.",
    remedy: "Fix the cause that is shown. Setting the policy to Retain stops the deletion; data may already be partly \
             deleted. The tool never deletes the object.",
    source: "external-provisioner controller, shouldDelete",
    judge: &[Judge::Volume(released_delete_stuck)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn released_delete_stuck(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let waits = volume.phase == Phase::Released
        && volume.reclaim_policy == ReclaimPolicy::Delete
        && volume.metadata.deleting.is_none();
    let age = facts::released_age(cx, volume);
    if !waits {
        return Ok(None);
    }
    let is_late = cx.older_than(&age, Threshold::Stuck) && !policy_is_new(cx, volume);
    // What the guard refuses goes on being refused, however short it has been.
    if !is_late && facts::guard_refusal(cx, volume).is_none() {
        return Ok(None);
    }
    let cause = facts::stuck_deletion(cx, volume, runs(cx, volume));
    let summary = format!("Released with policy Delete, but not reclaimed: {}", cause.brief);
    let failure = facts::last_event(cx, volume, &[FAILED_DELETE]).ok().flatten();
    let mut finding = RELEASED_DELETE_STUCK
        .on_volume(cx, volume, summary)
        .aged(age)
        .shows("reason", cause.because)
        .shows("what helps", &*cause.helps)
        .shows_event("last VolumeFailedDelete", failure.as_ref());
    let owner = facts::owner(volume);
    match &owner {
        Owner::Csi(driver) => {
            finding = finding.shows_controller(&facts::provisioner(cx, driver));
            for claimed in facts::claimed_versions(cx, driver) {
                finding = finding.shows_of(&claimed.object, "image", claimed.image.to_string());
            }
        }
        Owner::InTree(_) | Owner::StaticInTree(_) => {
            finding = finding.shows_controller(&facts::controller_manager(cx));
        }
        Owner::External(_) => {}
    }
    if let Ok(attachments) = cx.attachments_of(volume.name()) {
        finding = finding.relates(attachments.into_iter().map(Attachment::object));
    }
    let finding = finding.remedied_by(cx, volume, &remedies::RETAIN).or_rather(&cause.helps);
    Ok(Some(finding.unless_taken(cx, volume)))
}

/// Whether the controller that should delete the volume is running.
fn runs(cx: &Cx, volume: &Volume) -> bool {
    let state = match facts::owner(volume) {
        Owner::Csi(driver) | Owner::External(driver) => facts::provisioner(cx, &driver),
        Owner::InTree(_) => facts::controller_manager(cx),
        Owner::StaticInTree(_) => return false,
    };
    state.liveness == Liveness::Alive
}

/// Whether the policy may have become Delete too recently for a controller to act, however long ago the volume was
/// released.
fn policy_is_new(cx: &Cx, volume: &Volume) -> bool {
    let stuck = cx.settings().thresholds.get(Threshold::Stuck);
    let changed = volume.metadata.last_change(&ManagedField::ReclaimPolicy);
    changed.is_some_and(|changed| !cx.passed(changed, stuck))
}

/// F06: a Released or Failed volume still has a `VolumeAttachment`.
pub(super) static RELEASED_STILL_ATTACHED: Rule = Rule {
    id: "pv-released-still-attached",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: Node, VolumeAttachment, PersistentVolumeClaim],
    remedies: &[],
    title: "A volume whose claim was deleted is still attached to a node",
    danger: "The node may have the file system mounted and may continue to write. Some drivers delete a backend \
             volume although it is attached. status.attached proves nothing: it records the last attempt.",
    remedy: "The tool changes nothing here: an attachment is deleted after no pod uses the volume and its driver has \
             detached it, which normally takes seconds. Reclaiming the volume is refused until then.",
    source: "external-provisioner canDeleteVolume; external-attacher csi_handler.go",
    judge: &[Judge::Volume(released_still_attached)],
};

fn released_still_attached(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if !matches!(volume.phase, Phase::Released | Phase::Failed) {
        return Ok(None);
    }
    if matches!(facts::claim_state(cx, volume), Ok(ClaimState::Changed(_))) {
        return Ok(None); // Its own claim exists, with its pods.
    }
    let attachments = cx.attachments_of(volume.name())?;
    if attachments.is_empty() || is_detaching(cx, volume, &attachments) {
        return Ok(None);
    }
    let mut finding = RELEASED_STILL_ATTACHED
        .on_volume(
            cx,
            volume,
            "its claim does not exist, but it is still attached: a node may have it mounted",
        )
        .aged(facts::state_age(cx, volume));
    for attachment in &attachments {
        let object = attachment.object();
        let attached = if attachment.attached { "true" } else { "false" };
        finding = finding
            .shows_of(&object, "spec.nodeName", &*attachment.node)
            .shows_of(&object, "status.attached", attached)
            .shows_of(&object, "metadata.deletionTimestamp", time(attachment.metadata.deleting));
        if let Some(error) = &attachment.detach_error {
            finding = finding.shows_of(&object, "status.detachError.message", &**error);
        }
        finding = finding.relates([object]);
    }
    let pods = volume.claim_ref.as_ref().and_then(|claim| cx.pods_of(&claim.key).ok());
    let on_its_node = |pod: &&PodUse| {
        attachments.iter().any(|attachment| pod.node.as_ref() == Some(&attachment.node))
    };
    let pods: Vec<_> = pods.into_iter().flatten().filter(on_its_node).map(PodUse::object).collect();
    let reason = if let Some(pod) = pods.first() {
        format!("{pod} uses its claim on that node; delete the pod if it is not needed")
    } else {
        let failing = attachments.iter().find(|it| it.detach_error.is_some());
        let attachment = failing.or(attachments.first());
        attachment.map_or_else(String::new, |it| facts::how_to_detach(cx, it))
    };
    Ok(Some(finding.relates(pods).report_only(reason)))
}

/// Whether the attachments may be in a normal detachment: the volume was released recently, and no attachment has been
/// Terminating for longer.
fn is_detaching(cx: &Cx, volume: &Volume, attachments: &[&Attachment]) -> bool {
    let released = facts::phase_age(cx, volume);
    let since = attachments.iter().filter_map(|it| it.metadata.deleting).min();
    released.since.is_some()
        && !cx.older_than(&released, Threshold::Detach)
        && !cx.older_than(&Age::stamped(since), Threshold::Detach)
}

/// F25: the deletion of a volume is in progress or fails: report-only.
pub(super) static DELETE_IN_PROGRESS_OR_FAILING: Rule = Rule {
    id: "pv-delete-in-progress-or-failing",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: PersistentVolumeClaim, Node, VolumeAttachment, Secret, SubjectAccessReview],
    remedies: &[],
    title: "A volume is Terminating, and its finalizer remains until the backend volume is deleted",
    danger: "Every deletion looks like this for a moment, and a failing one for as long as it fails. Removing the \
             finalizer by hand leaks the backend volume: the object is deleted, the backend volume remains.",
    remedy: "None by the tool: its controller retries until the backend volume is deleted, and retries are safe. The \
             evidence shows the last error, attachments, and whether csi-provisioner may patch volumes. For information \
             only until it has been stuck for a while; then read the log of its controller, fix what it reports, and \
             restart it.",
    source: "sig-storage-lib-external-provisioner controller.go, deleteVolumeOperation",
    judge: &[Judge::Volume(delete_in_progress_or_failing)],
};

fn delete_in_progress_or_failing(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let deleting = volume.metadata.deleting.is_some()
        && volume.phase == Phase::Released
        && volume.reclaim_policy == ReclaimPolicy::Delete;
    if !deleting {
        return Ok(None);
    }
    let Some(state) = deleting_controller(cx, volume)? else { return Ok(None) };
    let age = Age::stamped(volume.metadata.deleting);
    // What the guard refuses goes on being refused, however short it has been.
    let stuck = cx.older_than(&age, Threshold::Stuck) || facts::guard_refusal(cx, volume).is_some();
    let alive = state.liveness == Liveness::Alive;
    let failure = facts::last_event(cx, volume, &[facts::FAILED_DELETE]);
    let cause = stuck.then(|| facts::stuck_deletion(cx, volume, alive));
    let (severity, summary) = match &cause {
        Some(cause) => (
            Severity::High,
            format!(
                "Terminating; deletion is stuck: {}; removing the finalizer by hand can leak the backend volume",
                cause.brief
            ),
        ),
        None => (
            Severity::Info,
            "Terminating; its controller is deleting the backend volume".to_owned(),
        ),
    };
    let mut finding = DELETE_IN_PROGRESS_OR_FAILING
        .on_volume(cx, volume, summary)
        .severe(severity)
        .aged(age)
        .shows("last VolumeFailedDelete", shown_last(&failure));
    finding = match cx.attachments_of(volume.name()) {
        Ok(attachments) => attachments.into_iter().fold(finding, |finding, it| {
            finding.shows("attached by", format!("{} on node {}", it.metadata.name, it.node))
        }),
        Err(unseen) => finding.shows("attached by", format!("not read: {}", unseen.reason)),
    };
    if let Some(driver) = facts::owner(volume).csi() {
        for claimed in facts::claimed_versions(cx, driver) {
            let patch = match facts::may_patch_volumes(cx, &claimed) {
                Ok(Some(true)) => "may patch volumes",
                Ok(Some(false)) => "may not patch volumes, and so not remove its finalizer",
                Ok(None) | Err(_) => "unknown whether it may patch volumes (RBAC)",
            };
            let shown = format!("{}, {patch}", claimed.image);
            finding = finding.shows_of(&claimed.object, "claimed version", shown);
        }
    }
    let next = match cause {
        Some(cause) => format!(
            "{}; {}; keep the finalizer; `kubectl storage fix-finalizers {} --dry-run` shows what blocks the deletion",
            cause.because,
            cause.helps,
            volume.object()
        ),
        None => "wait; keep the finalizer".to_owned(),
    };
    Ok(Some(finding.shows_controller(&state).report_only(next).unless_taken(cx, volume)))
}

/// Returns the state of the controller whose finalizer blocks the deletion of the volume until the
/// backend volume is deleted; `None` if that controller is absent, seems rolled back, or can no
/// longer delete such volumes.
fn deleting_controller(cx: &Cx, volume: &Volume) -> Seen<Option<ControllerState>> {
    let state = match facts::owner(volume) {
        Owner::Csi(driver) if volume.metadata.has_finalizer(EXTERNAL_PROVISIONER) => {
            facts::provisioner(cx, &driver)
        }
        Owner::InTree(plugin) if volume.metadata.has_finalizer(IN_TREE) => {
            let able = facts::known_deletable(&plugin, cx.server()) != Some(false);
            if !able || facts::looks_rolled_back(cx, volume)? {
                return Ok(None);
            }
            facts::controller_manager(cx)
        }
        Owner::Csi(_) | Owner::External(_) | Owner::InTree(_) | Owner::StaticInTree(_) => {
            return Ok(None);
        }
    };
    Ok((state.liveness != Liveness::Absent).then_some(state))
}

/// F34: the deletion Secret of a volume does not exist, so that the driver would be called without
/// credentials.
pub(super) static DELETION_SECRET_MISSING: Rule = Rule {
    id: "pv-deletion-secret-missing",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![versions: PersistentVolume, StorageClass, Secret],
    remedies: &[],
    title: "The Secret with which the driver would delete a backend volume does not exist",
    danger: "csi-provisioner then calls the driver without credentials: the deletion fails on every retry, or reaches \
             the wrong storage system. The same happens if the volume recorded no Secret and the storage class that \
             named it does not exist.",
    remedy: "None by the tool: create the Secret, or the class, again. Until then the volume is not reclaimed. The \
             tool checks only whether the Secret exists, never its contents; if that is forbidden, nothing is \
             reported.",
    source: "external-provisioner controller.go, handleSecretsForDeletion, getSecretsFromSC",
    judge: &[Judge::Volume(deletion_secret_missing)],
};

fn deletion_secret_missing(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let reclaimable = volume.phase == Phase::Released
        && volume.reclaim_policy == ReclaimPolicy::Retain
        && volume.metadata.deleting.is_none();
    if volume.reclaim_policy != ReclaimPolicy::Delete && !reclaimable {
        return Ok(None);
    }
    let (summary, secret, reason) = match facts::deletion_secret(cx, volume, &facts::owner(volume))?
    {
        SecretState::NotNeeded | SecretState::Present(_) | SecretState::Forbidden(_) => {
            return Ok(None);
        }
        SecretState::Missing(secret) => (
            format!(
                "deletion Secret {}/{} does not exist: csi-provisioner would call the driver without credentials",
                secret.namespace, secret.name
            ),
            format!("{}/{}, which does not exist", secret.namespace, secret.name),
            "create the Secret again",
        ),
        SecretState::Unresolvable(named) => (
            format!(
                "csi-provisioner cannot find out which deletion Secret {named} is, and does not call the driver"
            ),
            named,
            "name the Secret in the class without annotations of the claim",
        ),
        SecretState::Forgotten => (
            "its storage class, which names the deletion Secret, does not exist: csi-provisioner would call the driver without credentials".to_owned(),
            "<none>, although other volumes of its driver have one".to_owned(),
            "create the storage class again, with the parameters that name the Secret",
        ),
    };
    let class = volume.class.as_deref().unwrap_or("<none>");
    let finding = DELETION_SECRET_MISSING
        .on_volume(cx, volume, summary)
        .shows("volume.kubernetes.io/provisioner-deletion-secret", secret)
        .shows("spec.storageClassName", class);
    Ok(Some(finding.report_only(reason)))
}

/// F13: a volume with the deprecated policy Recycle.
pub(super) static RECYCLE_POLICY: Rule = Rule {
    id: "pv-recycle-policy",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume],
    remedies: &[&remedies::RETAIN],
    title: "A volume has the deprecated reclaim policy Recycle",
    danger: "When the claim is deleted, a pod deletes every file, and then any claim can bind the volume. Only \
             hostPath and NFS volumes are recycled; others become Failed.",
    remedy: "Setting the policy to Retain keeps the files when the claim is deleted.",
    source: "pv_controller.go, recycleVolumeOperation; Kubernetes documentation on reclaim policies",
    judge: &[Judge::Volume(recycle_policy)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn recycle_policy(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if volume.reclaim_policy != ReclaimPolicy::Recycle {
        return Ok(None);
    }
    let finding = RECYCLE_POLICY
        .on_volume(
            cx,
            volume,
            "policy Recycle is deprecated, and deletes all files when the claim is deleted",
        )
        .shows("plugin", facts::owner(volume).name().to_string());
    Ok(Some(finding.remedied_by(cx, volume, &remedies::RETAIN)))
}

//! Findings about volumes whose data is lost with the next deletion.

use crate::cluster::{Cx, Seen};
use crate::facts::{
    self, ClaimState, Defect, EXTERNAL_PROVISIONER, IN_TREE, Owner, PV_PROTECTION, StaticDeletion,
};
use crate::model::{
    Age, ClaimedVersion, Finding, Kind, Liveness, Phase, ReclaimPolicy, Severity, Threshold,
    Volume, VolumeSource,
};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

/// F20: a volume is Terminating before its claim, without a deletion-protection finalizer.
pub(super) static LEAK_IMMINENT: Rule = Rule {
    id: "pv-leak-imminent",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Leak,
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::Pod],
    remedies: &[&remedies::RETAIN],
    title: "A volume is Terminating before its claim, unprotected: a leak (orphaned disk) is imminent",
    danger: "When the claim is deleted, the object is deleted with it and no controller deletes the backend volume: \
             it becomes an orphaned disk, billed and referenced by no object. No finalizer can be added to a Terminating object.",
    remedy: "Retain only makes this explicit: the object is still deleted with its claim, the backend volume remains. \
             Write down the volume handle (`explain pv/NAME`). The tool neither deletes the object nor adds a \
             finalizer.",
    source: "KEP-2644, motivation; external-provisioner#546",
    judge: &[Judge::Volume(leak_imminent)],
};

fn leak_imminent(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let unprotected = volume.metadata.deleting.is_some()
        && volume.phase == Phase::Bound
        && volume.reclaim_policy == ReclaimPolicy::Delete
        && !volume.metadata.has_finalizer(EXTERNAL_PROVISIONER)
        && !volume.metadata.has_finalizer(IN_TREE);
    // If kube-controller-manager requires its finalizer, the volume is never deleted: a deadlock,
    // no leak.
    let hangs = facts::expects_in_tree_finalizer(volume)
        && facts::always_honors_reclaim_policy(cx) == Some(true);
    // Before migration kube-controller-manager deletes the backend volume, without any finalizer.
    let by_plugin = facts::unmigrated(volume, cx.server()).is_some_and(|it| it.certain);
    if !unprotected || hangs || by_plugin {
        return Ok(None);
    }
    let ClaimState::Live(claim) = facts::claim_state(cx, volume)? else { return Ok(None) };
    let expected = match facts::owner(volume) {
        Owner::Csi(_) => EXTERNAL_PROVISIONER,
        Owner::InTree(_) => IN_TREE,
        Owner::External(_) | Owner::StaticInTree(_) => "none (its provisioner sets no finalizer)",
    };
    let finding = LEAK_IMMINENT
        .on_volume(
            cx,
            volume,
            "Terminating before its claim, without a deletion-protection finalizer: deleting the claim leaks the backend volume (orphaned disk)",
        )
        .aged(Age::stamped(volume.metadata.deleting))
        .shows("missing protection", expected)
        .relates([claim.object()])
        .relates_pods_of(cx, claim);
    Ok(Some(finding.remedied_by(cx, volume, &remedies::RETAIN)))
}

/// F14: a statically provisioned volume has policy Delete, and its csi-provisioner applies it.
pub(super) static STATIC_DELETE_NOW_EFFECTIVE: Rule = Rule {
    id: "pv-static-delete-now-effective",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Data,
    needs: facts::needs![versions: PersistentVolume],
    remedies: &[&remedies::RETAIN],
    title: "A statically provisioned volume has policy Delete, and its csi-provisioner applies it",
    danger: "Until 3.5 csi-provisioner ignored volumes that it had not provisioned. Since then it deletes the backend \
             volume of such a volume after the claim is deleted. This is unexpected of a volume that was written before an \
             upgrade, or from a template that says Delete.",
    remedy: "Setting the policy to Retain keeps the backend volume. Leave the policy if the backend volume is meant \
             to be deleted with its claim.",
    source: "external-provisioner#1235; sig-storage-lib-external-provisioner v9, shouldDelete",
    judge: &[Judge::Volume(static_delete_now_effective)],
};

fn static_delete_now_effective(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let VolumeSource::Csi { driver, provisioner_identity: false, .. } = &volume.source else {
        return Ok(None);
    };
    // Once its claim is deleted, other findings say what happens.
    let decided = matches!(volume.phase, Phase::Released | Phase::Failed);
    if volume.is_dynamic() || volume.reclaim_policy != ReclaimPolicy::Delete || decided {
        return Ok(None);
    }
    let summary = match facts::deletes_static_volumes(cx, driver)? {
        StaticDeletion::Always => {
            "statically provisioned with policy Delete: csi-provisioner deletes the backend volume after the claim is deleted"
        }
        StaticDeletion::Sometimes => {
            "statically provisioned with policy Delete: a csi-provisioner from version 3.5 on deletes the backend volume after the claim is deleted"
        }
        StaticDeletion::Never | StaticDeletion::Unknown => return Ok(None),
    };
    let mut finding = STATIC_DELETE_NOW_EFFECTIVE.on_volume(cx, volume, summary);
    for claimed in facts::claimed_versions(cx, driver) {
        finding = finding
            .shows_of(&claimed.object, "claimed version of csi-provisioner", &*claimed.image)
            .relates([claimed.object.clone()]);
    }
    Ok(Some(finding.remedied_by(cx, volume, &remedies::RETAIN)))
}

/// F21: a volume is Terminating while its claim is bound.
pub(super) static TERMINATING_BOUND: Rule = Rule {
    id: "pv-terminating-bound",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Data,
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::Pod],
    remedies: &[&remedies::RETAIN],
    title: "A volume is Terminating while its claim still exists",
    danger: "A deletion is irreversible. The policy at the moment at which the claim is deleted decides: Delete \
             destroys the data, Retain keeps the backend volume but loses the object. Until then the volume cannot be \
             attached to another node, so the next move of its pod fails.",
    remedy: "Setting the policy to Retain keeps the data: the object is deleted with the claim, the backend volume \
             remains and can be given a new object. Removing finalizers is refused: they block the deletion while the \
             claim is bound.",
    source: "KEP-2644; external-attacher csi_handler.go (\"is marked for deletion\")",
    judge: &[Judge::Volume(terminating_bound)],
};

fn terminating_bound(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if volume.metadata.deleting.is_none() || volume.phase != Phase::Bound {
        return Ok(None);
    }
    let protected = volume.metadata.has_finalizer(EXTERNAL_PROVISIONER)
        || volume.metadata.has_finalizer(IN_TREE)
        || volume.reclaim_policy == ReclaimPolicy::Retain;
    if !protected {
        return Ok(None);
    }
    let ClaimState::Live(claim) = facts::claim_state(cx, volume)? else { return Ok(None) };
    let (summary, consequence) = match &volume.reclaim_policy {
        ReclaimPolicy::Delete => (
            "Terminating while Bound: policy Delete destroys the data after the claim is deleted",
            "backend volume deleted after the claim",
        ),
        ReclaimPolicy::Retain | ReclaimPolicy::Recycle | ReclaimPolicy::Other(_) => (
            "Terminating while Bound: the object is deleted with its claim, the backend volume remains",
            "object deleted with the claim, backend volume kept",
        ),
    };
    let finding = TERMINATING_BOUND
        .on_volume(cx, volume, summary)
        .aged(Age::stamped(volume.metadata.deleting))
        .shows("consequence", consequence)
        .shows("new attachments", "fail, since the volume is marked for deletion")
        .relates([claim.object()])
        .relates_pods_of(cx, claim);
    Ok(Some(match volume.reclaim_policy {
        ReclaimPolicy::Retain => finding.report_only(
            "policy is Retain already; save the manifest, so that the volume can be recreated",
        ),
        _ => finding.remedied_by(cx, volume, &remedies::RETAIN),
    }))
}

/// F22: a Bound volume with policy Delete without the deletion-protection finalizer of
/// csi-provisioner.
pub(super) static MISSING_DELETION_PROTECTION: Rule = Rule {
    id: "pv-missing-deletion-protection",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: SubjectAccessReview],
    remedies: &[],
    title: "A bound CSI volume with policy Delete lacks the deletion-protection finalizer of csi-provisioner",
    danger: "If the volume is deleted before its claim, the backend volume is leaked: the object is deleted with the \
             claim, before csi-provisioner deletes the backend volume.",
    remedy: "None by hand. A working csi-provisioner adds the finalizer within a quarter of an hour: the evidence \
             shows whether it is running, which version its image tag claims, and whether it may patch volumes. A \
             broken one would remove a finalizer that was added by hand, or never remove it. A version that cannot be \
             told, such as a digest, counts as able to protect; one that is known to be too old, or to have the \
             feature off, is reported once for its driver and not for each volume.",
    source: "sig-storage-lib-external-provisioner controller.go, handleProtectionFinalizer; external-provisioner changelogs 3.1, 5.0",
    judge: &[Judge::Volume(missing_deletion_protection)],
};

fn missing_deletion_protection(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let unprotected = volume.phase == Phase::Bound
        && volume.reclaim_policy == ReclaimPolicy::Delete
        && volume.metadata.deleting.is_none()
        && !volume.metadata.has_finalizer(EXTERNAL_PROVISIONER);
    let Some(driver) = facts::owner(volume).csi().filter(|_| unprotected).cloned() else {
        return Ok(None);
    };
    // Before migration kube-controller-manager reclaims it, which knows no such finalizer.
    if facts::unmigrated(volume, cx.server()).is_some_and(|it| it.certain) {
        return Ok(None);
    }
    let age = facts::policy_age(cx, volume);
    if !cx.older_than(&age, Threshold::Finalizer) {
        return Ok(None);
    }
    let versions = facts::claimed_versions(cx, &driver);
    if versions.is_empty() {
        facts::provisioners_seen(cx)?;
    }
    let state = facts::provisioner(cx, &driver);
    // Both have findings about the driver.
    if versions.iter().any(|it| never_protects(it, volume)) || state.liveness == Liveness::Absent {
        return Ok(None);
    }
    let denied = versions.iter().any(|it| facts::may_patch_volumes(cx, it) == Ok(Some(false)));
    let off = versions.iter().any(|it| facts::honors_reclaim_policy(it) == Some(false));
    let idle = state.scaled_to_zero.as_ref().filter(|_| state.liveness != Liveness::Alive);
    let scaled = idle.map(|it| {
        format!(
            "{it}, which runs csi-provisioner, is scaled to zero; scale it up, and it adds the finalizer"
        )
    });
    let reason = if denied {
        "grant csi-provisioner the verb patch on persistentvolumes; it then adds the finalizer"
    } else if off {
        "csi-provisioner runs with HonorPVReclaimPolicy off; switch it on"
    } else if let Some(scaled) = &scaled {
        scaled
    } else if state.liveness == Liveness::Alive {
        "read the log of csi-provisioner, which should have added it, and upgrade it if it is older than 5.0.2"
    } else {
        "check that csi-provisioner runs; it then adds the finalizer"
    };
    let mut finding = MISSING_DELETION_PROTECTION
        .on_volume(
            cx,
            volume,
            "lacks the deletion-protection finalizer: deleting it before its claim leaks the backend volume",
        )
        .aged(age)
        .shows("missing protection", EXTERNAL_PROVISIONER);
    for claimed in &versions {
        finding = finding.shows_of(&claimed.object, "claimed version", describe(cx, claimed));
    }
    if versions.iter().all(|it| it.version.is_none()) {
        finding = finding.shows("version of csi-provisioner", "<unknown>");
    }
    Ok(Some(finding.shows_controller(&state).report_only(reason)))
}

/// Whether a version of csi-provisioner adds no finalizer to any volume, or to volumes like this one.
fn never_protects(claimed: &ClaimedVersion, volume: &Volume) -> bool {
    // Before 3.5 csi-provisioner did not handle statically provisioned volumes.
    let too_old_for_static = !volume.is_dynamic()
        && claimed.version.as_ref().is_some_and(|it| (it.major, it.minor) < (3, 5));
    match facts::defect(claimed) {
        Some(Defect::Unprotected | Defect::TooOld) => true,
        Some(Defect::EmptyPatch) | None => too_old_for_static,
    }
}

fn describe(cx: &Cx, claimed: &ClaimedVersion) -> String {
    let gate = match claimed.honor_flag {
        Some(on) => format!("HonorPVReclaimPolicy={on}"),
        None => "HonorPVReclaimPolicy not set".to_owned(),
    };
    let patch = match facts::may_patch_volumes(cx, claimed) {
        Ok(Some(true)) => "may patch volumes",
        Ok(Some(false)) => "may not patch volumes",
        Ok(None) | Err(_) => "unknown whether it may patch volumes",
    };
    format!("{}, {gate}, {patch}", claimed.image)
}

/// F32: a volume without `kubernetes.io/pv-protection`, which blocks its deletion while it is
/// bound.
pub(super) static MISSING_PV_PROTECTION: Rule = Rule {
    id: "pv-missing-pv-protection",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![manager],
    remedies: &[&remedies::ADD_PROTECTION],
    title: "A volume lacks the finalizer kubernetes.io/pv-protection",
    danger: "Every volume gets it when it is created. Without it a bound volume can be deleted at once: its claim \
             becomes Lost, and the only record of the backend volume is deleted.",
    remedy: "kube-controller-manager adds it, so check whether it is running. The tool adds it to a volume that is \
             named; if kube-controller-manager is absent, a later deletion of the volume will be stuck.",
    source: "kubernetes pv_protection_controller.go",
    judge: &[Judge::Volume(missing_pv_protection)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn missing_pv_protection(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let missing =
        volume.metadata.deleting.is_none() && !volume.metadata.has_finalizer(PV_PROTECTION);
    let age = Age::stamped(volume.metadata.created);
    if !missing || !cx.older_than(&age, Threshold::Protection) {
        return Ok(None);
    }
    let finding = MISSING_PV_PROTECTION
        .on_volume(
            cx,
            volume,
            "lacks finalizer kubernetes.io/pv-protection, which blocks deletion while a claim is bound",
        )
        .aged(age)
        .shows("missing protection", PV_PROTECTION)
        .shows_controller(&facts::controller_manager(cx));
    Ok(Some(finding.remedied_by(cx, volume, &remedies::ADD_PROTECTION)))
}

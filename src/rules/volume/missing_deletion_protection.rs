//! F22: a Bound volume with policy Delete without the deletion-protection finalizer of
//! csi-provisioner.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, Defect, EXTERNAL_PROVISIONER};
use crate::model::{
    ClaimedVersion, Finding, Liveness, Phase, ReclaimPolicy, Severity, Threshold, Volume,
};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
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
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
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
        "make sure that csi-provisioner is running; it then adds the finalizer"
    };
    let mut finding = RULE
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

/// Whether a version lacks the feature, for all volumes or for volumes like this one.
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

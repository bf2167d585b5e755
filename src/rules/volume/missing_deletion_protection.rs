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
    title: "A bound CSI volume with policy Delete lacks the finalizer that keeps its disk from being leaked",
    danger: "Whoever deletes the volume before its claim leaks the disk: the object goes at once when the claim \
             does, and the provisioner is never told to delete what it named.",
    remedy: "None by hand. A csi-provisioner that works adds the finalizer by itself, within a quarter of an \
             hour: the evidence shows whether it runs, what version it claims to be, and whether it may patch \
             volumes. One that does not work would take a finalizer added by hand away again, or never. A version \
             that nobody can tell, such as a digest, counts as able to protect; one that is known to be too old, \
             or to come with the feature off, is reported once for its driver and not for each volume.",
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
            "the provisioner is scaled to zero: scale {it} up, and it adds the finalizer itself"
        )
    });
    let reason = if denied {
        "let csi-provisioner patch persistentvolumes: it then adds the finalizer itself"
    } else if off {
        "csi-provisioner runs with HonorPVReclaimPolicy switched off: switch it on"
    } else if let Some(scaled) = &scaled {
        scaled
    } else if state.liveness == Liveness::Alive {
        "look into the log of csi-provisioner, which should have added it, and upgrade it if it is older than 5.0.2"
    } else {
        "see that csi-provisioner runs: it then adds the finalizer itself"
    };
    let mut finding = RULE
        .on_volume(
            cx,
            volume,
            "bound with policy Delete but unprotected: deleted before its claim, the disk is leaked",
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
        Ok(None) | Err(_) => "whether it may patch volumes is not known",
    };
    format!("{}, {gate}, {patch}", claimed.image)
}

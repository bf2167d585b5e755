//! Findings about drivers.

use super::{CapacityRisk, Judge, Rule};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, Defect};
use crate::model::{Finding, Severity, Text};

/// The rules about drivers, in the order of the documentation.
pub(super) static RULES: &[&Rule] = &[&RBAC_MISSING_PATCH, &KNOWN_BAD_VERSION, &ABSENT];

/// F36: a csi-provisioner that may not patch volumes.
static RBAC_MISSING_PATCH: Rule = Rule {
    id: "provisioner-rbac-missing-patch",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![versions: SubjectAccessReview],
    remedies: &[],
    title: "A csi-provisioner may not patch PersistentVolumes, which it has to since 5.0",
    danger: "It can neither add its deletion-protection finalizer to existing volumes nor remove it: the backend \
             volumes of new volumes are deleted, and their objects remain Terminating; older volumes that are deleted \
             before their claims are leaked.",
    remedy: "None by the tool: the installer of the driver grants its permissions. The rule that its ClusterRole \
             needs is shown. With it csi-provisioner finishes the deletions.",
    source: "external-provisioner changelog 5.0; kubernetes-csi/csi-driver-nfs#721",
    judge: &[Judge::Driver(rbac_missing_patch)],
};

fn rbac_missing_patch(cx: &Cx, driver: &Text) -> Seen<Option<Finding>> {
    let mut denied = Vec::new();
    let mut unseen = facts::provisioners_seen(cx).err();
    for claimed in facts::claimed_versions(cx, driver) {
        match facts::may_patch_volumes(cx, &claimed) {
            Ok(Some(false)) => denied.push(claimed),
            Ok(Some(true) | None) => {}
            Err(missed) => unseen = unseen.or(Some(missed)),
        }
    }
    if denied.is_empty() {
        return unseen.map_or(Ok(None), Err);
    }
    let mut finding = RBAC_MISSING_PATCH.on_driver(
        driver,
        "csi-provisioner may not patch persistentvolumes: volumes are leaked (orphaned disks), or remain Terminating",
    );
    for claimed in denied {
        finding = finding.shows_of(&claimed.object, "claimed version", &*claimed.image);
        if let Some((namespace, account)) = &claimed.service_account {
            let denied = format!("{namespace}/{account} may not patch persistentvolumes");
            finding = finding.shows_of(&claimed.object, "ServiceAccount", denied);
        }
        finding = finding.relates([claimed.object]);
    }
    Ok(Some(finding.report_only(
        "add to its ClusterRole: apiGroups [\"\"], resources [persistentvolumes], verbs [get, list, watch, create, patch, delete]",
    )))
}

/// F37: a csi-provisioner of a version that is known to leak volumes or to leave them Terminating.
static KNOWN_BAD_VERSION: Rule = Rule {
    id: "provisioner-known-bad-version",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![versions],
    remedies: &[],
    title: "The version of a csi-provisioner is known to leak volumes (orphaned disks), or not to finish deletions",
    danger: "5.0.0 and 5.0.1 delete the backend volume and then cannot remove their finalizer. 3.1 to 4 set no \
             deletion-protection finalizer unless HonorPVReclaimPolicy is on: deleting a volume before its claim \
             leaks the backend volume. Versions before 3.1 have no such protection, and never remove finalizers that \
             a later version set.",
    remedy: "None by the tool: upgrade to 5.0.2 or later. The version is what the image tag claims; a digest shows \
             none, and a fork may have fixed it.",
    source: "external-provisioner changelogs 3.1, 5.0, 5.1",
    judge: &[Judge::Driver(known_bad_version)],
};

fn known_bad_version(cx: &Cx, driver: &Text) -> Seen<Option<Finding>> {
    let mut bad: Vec<_> = facts::claimed_versions(cx, driver)
        .into_iter()
        .filter_map(|claimed| facts::defect(&claimed).map(|defect| (defect, claimed)))
        .collect();
    bad.sort_by_key(|(defect, _)| rank(*defect));
    let Some((worst, _)) = bad.first() else {
        return facts::provisioners_seen(cx).map(|()| None);
    };
    let (summary, reason) = match worst {
        Defect::EmptyPatch => (
            "csi-provisioner 5.0.0 or 5.0.1 (image tag): volumes remain Terminating after their backend volume is deleted",
            "upgrade csi-provisioner to 5.0.2 or later, which finishes these deletions; from 5.0 on its ClusterRole needs the verb patch on persistentvolumes",
        ),
        Defect::TooOld => (
            "csi-provisioner older than 3.1 (image tag): deleting a volume before its claim leaks the backend volume",
            "upgrade csi-provisioner to 5.0.2 or later",
        ),
        Defect::Unprotected => (
            "csi-provisioner runs without HonorPVReclaimPolicy: deleting a volume before its claim leaks the backend volume",
            "switch HonorPVReclaimPolicy on, or upgrade csi-provisioner to 5.0.2 or later",
        ),
    };
    let mut finding = KNOWN_BAD_VERSION.on_driver(driver, summary);
    for (_, claimed) in bad {
        let gate = match claimed.honor_flag {
            Some(on) => format!("HonorPVReclaimPolicy={on}"),
            None => "HonorPVReclaimPolicy not set".to_owned(),
        };
        let shown = format!("{}, {gate}", claimed.image);
        finding = finding
            .shows_of(&claimed.object, "claimed version", shown)
            .relates([claimed.object.clone()]);
    }
    Ok(Some(finding.report_only(reason)))
}

/// Rank of a defect: the worst has the lowest.
fn rank(defect: Defect) -> u8 {
    match defect {
        Defect::EmptyPatch => 0,
        Defect::TooOld => 1,
        Defect::Unprotected => 2,
    }
}

/// F38: volumes of a driver whose provisioner is absent.
static ABSENT: Rule = Rule {
    id: "provisioner-absent",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller],
    remedies: &[],
    title: "PersistentVolumes reference a CSI driver whose csi-provisioner is absent",
    danger: "No controller deletes the backend volumes of these PersistentVolumes, whatever their policy is, and none \
             removes the finalizers that csi-provisioner left on them.",
    remedy: "None by the tool: reinstall the driver, and let it delete what is to be deleted, before it is \
             permanently removed. Volumes that are to be kept can be set to Retain. A driver counts as absent after \
             24 h without a trace in any check (Lease, pods, workloads, registration, latest acts), or if \
             --driver-absent asserts it and no fresh Lease, pod or later act contradicts that.",
    source: "csi-provisioner.go (name of its Lease); csi-lib-utils leader_election.go",
    judge: &[Judge::Driver(absent)],
};

fn absent(cx: &Cx, driver: &Text) -> Seen<Option<Finding>> {
    if !facts::is_csi(cx, driver) {
        return Ok(None);
    }
    let state = facts::provisioner(cx, driver);
    if !facts::is_absent(cx, &state, driver)? {
        return Ok(None);
    }
    let finding = ABSENT
        .on_driver(driver, "PersistentVolumes reference it, but its csi-provisioner is absent")
        .shows_controller(&state);
    Ok(Some(finding.report_only(
        "reinstall the driver, or set its volumes to Retain and delete their backend volumes at the storage system",
    )))
}

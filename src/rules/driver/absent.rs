//! F38: volumes of a driver whose provisioner is absent.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Finding, Severity, Text};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "provisioner-absent",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller],
    remedies: &[],
    title: "PersistentVolumes reference a CSI driver whose csi-provisioner is absent",
    danger: "No controller deletes the backend volumes of these PersistentVolumes, whatever their policy is, and none \
             removes the finalizers that csi-provisioner left on them.",
    remedy: "None by the tool: reinstall the driver, and let it delete what is to be deleted, before it is \
             permanently removed. Volumes that are to be kept can be set to Retain. A driver counts as absent only if \
             its Lease, pods, workloads, registration and latest acts were checked and not found, for a day, or if \
             --driver-absent asserts it and neither a fresh Lease, a pod nor a later act contradicts that.",
    source: "csi-provisioner.go (name of its Lease); csi-lib-utils leader_election.go",
    judge: &[Judge::Driver(judge)],
};

fn judge(cx: &Cx, driver: &Text) -> Seen<Option<Finding>> {
    if !facts::is_csi(cx, driver) {
        return Ok(None);
    }
    let state = facts::provisioner(cx, driver);
    if !facts::is_absent(cx, &state, driver)? {
        return Ok(None);
    }
    let finding = RULE
        .on_driver(driver, "PersistentVolumes reference it, but its csi-provisioner is absent")
        .shows_controller(&state);
    Ok(Some(finding.report_only(
        "reinstall the driver, or set its volumes to Retain and delete their backend volumes at the storage system",
    )))
}

//! F37: a csi-provisioner of a version that is known to leak volumes or to leave them Terminating.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, Defect};
use crate::model::{Finding, Severity, Text};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "provisioner-known-bad-version",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![versions],
    remedies: &[],
    title: "The version of a csi-provisioner is known to leak volumes, or not to finish deletions",
    danger: "5.0.0 and 5.0.1 delete the backend volume and then cannot remove their finalizer. 3.1 to 4 set no \
             deletion-protection finalizer unless HonorPVReclaimPolicy is on: deleting a volume before its claim \
             leaks the backend volume. Versions before 3.1 have no such protection, and never remove finalizers that \
             a later version set.",
    remedy: "None by the tool: upgrade to 5.0.2 or later. The version is what the image tag claims; a digest shows \
             none, and a fork may have fixed it.",
    source: "external-provisioner changelogs 3.1, 5.0, 5.1",
    judge: &[Judge::Driver(judge)],
};

fn judge(cx: &Cx, driver: &Text) -> Seen<Option<Finding>> {
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
    let mut finding = RULE.on_driver(driver, summary);
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

/// Worst first.
fn rank(defect: Defect) -> u8 {
    match defect {
        Defect::EmptyPatch => 0,
        Defect::TooOld => 1,
        Defect::Unprotected => 2,
    }
}

//! F14: a statically provisioned volume has policy Delete, and its csi-provisioner applies it.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, StaticDeletion};
use crate::model::{Finding, Phase, ReclaimPolicy, Severity, Volume, VolumeSource};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-static-delete-now-effective",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Data,
    needs: facts::needs![versions: PersistentVolume],
    remedies: &[&remedies::RETAIN],
    title: "A statically provisioned volume has policy Delete, and its csi-provisioner applies it",
    danger: "Until 3.5 csi-provisioner ignored volumes that it had not provisioned. Since then it deletes the backend \
             volume of such a volume after the claim is deleted. Whoever wrote the volume before an upgrade, or from \
             a template that says Delete, does not expect that.",
    remedy: "Setting the policy to Retain keeps the backend volume. Leave the policy if the backend volume is meant \
             to be deleted with its claim.",
    source: "external-provisioner#1235; sig-storage-lib-external-provisioner v9, shouldDelete",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
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
    let mut finding = RULE.on_volume(cx, volume, summary);
    for claimed in facts::claimed_versions(cx, driver) {
        finding = finding
            .shows_of(&claimed.object, "claimed version of csi-provisioner", &*claimed.image)
            .relates([claimed.object.clone()]);
    }
    Ok(Some(finding.remedied_by(cx, volume, &remedies::RETAIN)))
}

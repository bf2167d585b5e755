//! F14: a statically provisioned volume has policy Delete, and its csi-provisioner applies it.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Finding, ReclaimPolicy, Severity, Volume, VolumeSource};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-static-delete-now-effective",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Data,
    needs: facts::needs![versions: PersistentVolume],
    remedies: &[&remedies::RETAIN],
    title: "A volume made by hand has the policy Delete, and its provisioner now obeys it",
    danger: "csi-provisioner left volumes alone that it had not made itself, until 3.5. Since then it deletes \
             the disk behind such a volume when the claim goes, which is not what those expect who wrote the \
             volume before an upgrade, or whose template says Delete.",
    remedy: "Setting the policy to Retain keeps the disk. Leave it if the disk is meant to go with its claim.",
    source: "external-provisioner#1235; sig-storage-lib-external-provisioner v9, shouldDelete",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let VolumeSource::Csi { driver, provisioner_identity: false, .. } = &volume.source else {
        return Ok(None);
    };
    if volume.is_dynamic() || volume.reclaim_policy != ReclaimPolicy::Delete {
        return Ok(None);
    }
    if facts::deletes_static_volumes(cx, driver)? != Some(true) {
        return Ok(None);
    }
    let mut finding = RULE.on_volume(
        cx,
        volume,
        "made by hand with policy Delete: its provisioner destroys the disk when the claim goes",
    );
    for claimed in facts::claimed_versions(cx, driver) {
        finding = finding
            .shows_of(&claimed.object, "claimed version of csi-provisioner", &*claimed.image)
            .relates([claimed.object.clone()]);
    }
    Ok(Some(finding.remedied_by(cx, volume, &remedies::RETAIN)))
}

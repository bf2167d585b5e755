//! F13: a volume with the deprecated policy Recycle.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Finding, Kind, ReclaimPolicy, Severity, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
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
    judge: &[Judge::Volume(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if volume.reclaim_policy != ReclaimPolicy::Recycle {
        return Ok(None);
    }
    let finding = RULE
        .on_volume(
            cx,
            volume,
            "policy Recycle is deprecated, and deletes all files when the claim is deleted",
        )
        .shows("plugin", facts::owner(volume).name().to_string());
    Ok(Some(finding.remedied_by(cx, volume, &remedies::RETAIN)))
}

//! F29: a volume of an in-tree plugin that this Kubernetes version no longer has.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, IN_TREE, Owner};
use crate::model::{Finding, Kind, ReclaimPolicy, Severity, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-intree-plugin-removed",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume],
    remedies: &[&remedies::RETAIN],
    title: "A volume belongs to an in-tree plugin that this Kubernetes no longer has",
    danger: "Nobody can delete its disk any more, whatever its policy says. With policy Delete the volume becomes \
             Failed, or hangs while it is being deleted, behind a finalizer that nobody removes.",
    remedy: "Setting the policy to Retain says what is true, and lets kube-controller-manager remove its finalizer. \
             The disk has to be deleted at the storage system.",
    source: "kubernetes pv_controller.go, findDeletablePlugin",
    judge: &[Judge::Volume(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let Owner::InTree(plugin) = facts::owner(volume) else { return Ok(None) };
    if facts::known_deletable(&plugin, cx.server()) != Some(false) {
        return Ok(None);
    }
    let message = volume.message.as_deref().unwrap_or("<none>");
    let held = if volume.metadata.has_finalizer(IN_TREE) { "present" } else { "absent" };
    let finding = RULE
        .on_volume(
            cx,
            volume,
            "its in-tree plugin is no longer part of Kubernetes: nobody can delete its disk",
        )
        .shows("annotation pv.kubernetes.io/provisioned-by", &*plugin)
        .shows("finalizer kubernetes.io/pv-controller", held)
        .shows("status.message", message)
        .shows("server version", facts::server_version(cx));
    Ok(Some(match volume.reclaim_policy {
        ReclaimPolicy::Retain => finding
            .report_only("the policy is Retain already: delete the disk at the storage system"),
        _ => finding.remedied_by(cx, volume, &remedies::RETAIN),
    }))
}

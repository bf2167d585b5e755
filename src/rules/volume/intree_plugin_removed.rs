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
    title: "A volume belongs to an in-tree plugin that this Kubernetes version does not have",
    danger: "No controller can delete its backend volume, whatever its policy is. With policy Delete the volume \
             becomes Failed, or remains Terminating because no controller removes its finalizer.",
    remedy: "Setting the policy to Retain makes this explicit, and lets kube-controller-manager remove its finalizer. \
             Delete the backend volume at the storage system.",
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
            format!(
                "this Kubernetes version has no plugin {plugin}: no controller can delete the backend volume"
            ),
        )
        .shows("annotation pv.kubernetes.io/provisioned-by", &*plugin)
        .shows("finalizer kubernetes.io/pv-controller", held)
        .shows("status.message", message)
        .shows("server version", facts::server_version(cx));
    Ok(Some(match volume.reclaim_policy {
        ReclaimPolicy::Retain => finding.report_only(
            "policy is Retain already; delete the backend volume at the storage system",
        ),
        _ => finding.remedied_by(cx, volume, &remedies::RETAIN),
    }))
}

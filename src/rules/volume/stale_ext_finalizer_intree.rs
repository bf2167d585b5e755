//! F30: the finalizer of csi-provisioner on an in-tree volume.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, EXTERNAL_PROVISIONER, IN_TREE, Owner};
use crate::model::{Finding, Kind, ManagedField, Severity, Threshold, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-stale-ext-finalizer-intree",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume],
    remedies: &[&remedies::REMOVE_EXTERNAL_FINALIZER],
    title: "An in-tree volume that is not migrated carries the finalizer of csi-provisioner",
    danger: "It remains from a migration to CSI that was reverted. No csi-provisioner serves the volume, so none \
             removes the finalizer, and the object can never be deleted.",
    remedy: "A kube-controller-manager that honors the reclaim policy, as every one does from 1.33 on, replaces it by \
             its own finalizer: nothing is done while that is possible. With --rolled-back, which asserts that it \
             does not, the finalizer is removed if the policy is Retain or the finalizer of kube-controller-manager \
             is present too.",
    source: "kubernetes pv_controller_base.go, modifyDeletionFinalizers; KEP-2644, version skew",
    judge: &[Judge::Volume(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let Owner::InTree(plugin) = facts::owner(volume) else { return Ok(None) };
    let age = facts::policy_age(cx, volume);
    let stale = volume.metadata.has_finalizer(EXTERNAL_PROVISIONER);
    if !stale || !cx.older_than(&age, Threshold::Finalizer) {
        return Ok(None);
    }
    let held = if volume.metadata.has_finalizer(IN_TREE) { "present" } else { "absent" };
    let finding = RULE
        .on_volume(
            cx,
            volume,
            "in-tree volume with the finalizer of csi-provisioner, which does not serve it",
        )
        .aged(age)
        .shows("annotation pv.kubernetes.io/provisioned-by", &*plugin)
        .shows("finalizer kubernetes.io/pv-controller", held)
        .shows("server version", facts::server_version(cx))
        .shows_manager(
            &volume.metadata,
            &ManagedField::Finalizer(EXTERNAL_PROVISIONER.into()),
            "managers of the finalizer",
        );
    Ok(Some(finding.remedied_by(cx, volume, &remedies::REMOVE_EXTERNAL_FINALIZER)))
}

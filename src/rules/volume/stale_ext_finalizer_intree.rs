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
    danger: "It was left behind when a migration to CSI was taken back. No csi-provisioner serves the volume, so \
             none removes it, and the object can never be deleted.",
    remedy: "A kube-controller-manager that honours the reclaim policy, as every one does from 1.33 on, replaces it \
             by its own finalizer: nothing is done while that can be so. Where the admin says that it does \
             not, with --rolled-back, it is removed, if the policy is Retain or the finalizer of the controller \
             manager is there too.",
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
        .on_volume(cx, volume, "in-tree, yet it carries the finalizer of a CSI provisioner")
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

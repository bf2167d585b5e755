//! F27: the in-tree finalizer on a volume that was migrated to CSI.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Finding, Kind, ManagedField, Severity, Threshold, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-stale-intree-finalizer-migrated",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume],
    remedies: &[&remedies::REMOVE_IN_TREE_FINALIZER],
    title: "A CSI volume, or one migrated to CSI, carries the finalizer of an in-tree plugin",
    danger: "kube-controller-manager removes its finalizer from volumes whose in-tree plugin was migrated, unless it \
             is too old. From a volume that was always CSI no controller removes it, and the object can never be \
             deleted.",
    remedy: "That one finalizer is removed, unless the volume is Terminating, its policy does not keep the backend \
             volume, and the finalizer of csi-provisioner is missing: then it is the last finalizer that keeps the \
             only record of the backend volume, and is removed only with --accept-leak, or with --reclaim, which \
             deletes the backend volume afterwards.",
    source: "kubernetes pv_controller_base.go, modifyDeletionFinalizers",
    judge: &[Judge::Volume(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let age = facts::policy_age(cx, volume);
    let may_be_in_tree = facts::unmigrated(volume, cx.server()).is_some();
    let stale = facts::in_tree_finalizer_is_stale(volume) && !may_be_in_tree;
    if !stale || !cx.older_than(&age, Threshold::Finalizer) {
        return Ok(None);
    }
    let finding = RULE
        .on_volume(cx, volume, "carries the finalizer of an in-tree plugin that does not serve it")
        .aged(age)
        .shows(
            "annotation pv.kubernetes.io/provisioned-by",
            volume.provisioned_by.as_deref().unwrap_or("<none>"),
        )
        .shows(
            "annotation pv.kubernetes.io/migrated-to",
            volume.migrated_to.as_deref().unwrap_or("<none>"),
        )
        .shows("server version", facts::server_version(cx))
        .shows_manager(
            &volume.metadata,
            &ManagedField::Finalizer(facts::IN_TREE.into()),
            "managers of the finalizer",
        );
    Ok(Some(finding.remedied_by(cx, volume, &remedies::REMOVE_IN_TREE_FINALIZER)))
}

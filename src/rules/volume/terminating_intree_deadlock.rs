//! F35: a Terminating in-tree volume that lacks the finalizer without which kube-controller-manager
//! cannot delete it.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, IN_TREE};
use crate::model::{Age, Finding, Kind, Severity, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-terminating-intree-deadlock",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume],
    remedies: &[&remedies::RETAIN],
    title: "A Terminating in-tree volume lacks the finalizer that kube-controller-manager must add first",
    danger: "kube-controller-manager adds its finalizer before it does anything else, and the API server forbids new \
             finalizers on a Terminating object. The volume remains, even after its claim is deleted.",
    remedy: "With policy Retain kube-controller-manager has no finalizer to add and continues: the object is deleted, \
             the backend volume remains and has to be deleted at the storage system.",
    source: "kubernetes pv_controller_base.go, modifyDeletionFinalizers; apimachinery ValidateNoNewFinalizers",
    judge: &[Judge::Volume(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let deadlocked = volume.metadata.deleting.is_some()
        && facts::expects_in_tree_finalizer(volume)
        && !volume.metadata.has_finalizer(IN_TREE);
    if !deadlocked {
        return Ok(None);
    }
    let finding = RULE
        .on_volume(
            cx,
            volume,
            "Terminating without the finalizer that kube-controller-manager must add first: the deletion cannot finish",
        )
        .aged(Age::stamped(volume.metadata.deleting))
        .shows(
            "annotation pv.kubernetes.io/provisioned-by",
            volume.provisioned_by.as_deref().unwrap_or("<none>"),
        )
        .shows("missing finalizer", IN_TREE)
        .shows("server version", facts::server_version(cx))
        .shows(
            "log of kube-controller-manager",
            "would say \"can't anneal migration annotations or finalizer\"",
        );
    Ok(Some(finding.remedied_by(cx, volume, &remedies::RETAIN)))
}

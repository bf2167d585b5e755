//! F28: an in-tree volume with policy Delete without the deletion-protection finalizer of
//! kube-controller-manager.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, IN_TREE};
use crate::model::{Finding, Phase, Severity, Threshold, Volume};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-intree-finalizer-missing",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![manager],
    remedies: &[],
    title: "An in-tree volume with policy Delete lacks the finalizer of kube-controller-manager",
    danger: "kube-controller-manager adds its finalizer to every volume that one of its own plugins provisioned. If \
             it is missing, kube-controller-manager is too old, has the feature HonorPVReclaimPolicy off, or is not \
             running; then deleting the volume before its claim, or before the backend volume is deleted, leaks the \
             backend volume.",
    remedy: "None by hand: switch the feature on, or find out why kube-controller-manager does not act. A finalizer \
             that was added by hand would never be removed where the feature is off.",
    source: "kubernetes pv_controller_base.go, modifyDeletionFinalizers; TestModifyDeletionFinalizers",
    judge: &[Judge::Volume(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let missing = facts::expects_in_tree_finalizer(volume)
        && !volume.metadata.has_finalizer(IN_TREE)
        && volume.metadata.deleting.is_none();
    let age = facts::policy_age(cx, volume);
    if !missing || !cx.older_than(&age, Threshold::Protection) {
        return Ok(None);
    }
    let gate = match facts::always_honors_reclaim_policy(cx) {
        Some(true) => "always on at this server version; kube-controller-manager should have acted",
        Some(false) => "can be off at this server version",
        None => "<unknown>",
    };
    let finding = RULE
        .on_volume(
            cx,
            volume,
            match volume.phase {
                Phase::Bound => "lacks the finalizer of kube-controller-manager: deleting it before its claim leaks the backend volume",
                _ => "lacks the finalizer of kube-controller-manager: deleting the object can leak the backend volume",
            },
        )
        .aged(age)
        .shows("missing protection", IN_TREE)
        .shows("server version", facts::server_version(cx))
        .shows("feature HonorPVReclaimPolicy", gate)
        .shows_controller(&facts::controller_manager(cx));
    Ok(Some(finding.report_only(
        "kube-controller-manager adds it once it runs with HonorPVReclaimPolicy; do not add it by hand",
    )))
}

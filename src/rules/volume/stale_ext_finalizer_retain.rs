//! F23: the finalizer of csi-provisioner on a volume whose policy is not Delete.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, EXTERNAL_PROVISIONER};
use crate::model::{Age, Finding, ManagedField, ReclaimPolicy, Severity, Threshold, Trust, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-stale-ext-finalizer-retain",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller],
    remedies: &[&remedies::REMOVE_EXTERNAL_FINALIZER],
    title: "A volume whose policy keeps it still carries the finalizer of csi-provisioner",
    danger: "csi-provisioner removes its finalizer when the policy is no longer Delete. If it remains, \
             csi-provisioner is absent or does not work, and the volume object can never be deleted.",
    remedy: "While csi-provisioner is running, or may return, none: it removes the finalizer itself; find out why it \
             does not. Once it is proven absent, that one finalizer is removed; the backend volume is not touched, \
             since the policy keeps it.",
    source: "sig-storage-lib-external-provisioner controller.go, handleProtectionFinalizer",
    judge: &[Judge::Volume(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let kept = matches!(volume.reclaim_policy, ReclaimPolicy::Retain | ReclaimPolicy::Recycle);
    if !kept || !volume.metadata.has_finalizer(EXTERNAL_PROVISIONER) {
        return Ok(None);
    }
    let age = since_last_change(cx, volume);
    if !cx.older_than(&age, Threshold::Finalizer) {
        return Ok(None);
    }
    let mut finding = RULE
        .on_volume(
            cx,
            volume,
            "its policy keeps it, but the finalizer of csi-provisioner was not removed and blocks its deletion",
        )
        .aged(age)
        .shows_manager(&volume.metadata, &ManagedField::ReclaimPolicy, "managers of the policy")
        .shows_manager(
            &volume.metadata,
            &ManagedField::Finalizer(EXTERNAL_PROVISIONER.into()),
            "managers of the finalizer",
        );
    if let Some(driver) = facts::owner(volume).csi() {
        finding = finding.shows_controller(&facts::provisioner(cx, driver));
    }
    Ok(Some(finding.remedied_by(cx, volume, &remedies::REMOVE_EXTERNAL_FINALIZER)))
}

/// Since when the policy has been the same. Without managedFields this is the time of the last
/// known change of any kind.
fn since_last_change(cx: &Cx, volume: &Volume) -> Age {
    match volume.metadata.last_change(&ManagedField::ReclaimPolicy) {
        Some(changed) => Age { since: Some(changed), trust: Trust::LowerBound },
        None => facts::policy_age(cx, volume),
    }
}

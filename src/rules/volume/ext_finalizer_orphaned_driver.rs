//! F24: a Terminating volume with the finalizer of a csi-provisioner that is absent.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, EXTERNAL_PROVISIONER};
use crate::model::{Finding, ManagedField, Phase, ReclaimPolicy, Severity, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-ext-finalizer-orphaned-driver",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller],
    remedies: &[&remedies::REMOVE_EXTERNAL_FINALIZER],
    title: "A volume carries the finalizer of a csi-provisioner that is absent",
    danger: "No controller deletes the backend volume or removes the finalizer. Removing it by hand before the \
             backend volume is deleted leaks it, and a driver that is being reinstalled looks the same.",
    remedy: "A driver counts as absent only if its Lease, pods, workloads, registration and latest acts were all \
             checked and not found for a day, or if --driver-absent asserts it. Then the finalizer is removed from \
             volumes whose policy keeps them. A bound volume is left alone: its claim blocks the deletion. A Released \
             volume with policy Delete remains until its driver is reinstalled; if it is Terminating, --accept-leak \
             removes the finalizer, and the backend volume that remains is recorded. --reclaim requires a driver that \
             could delete it.",
    source: "KEP-2644, rollback; external-provisioner controller, deleteVolumeOperation",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if !volume.metadata.has_finalizer(EXTERNAL_PROVISIONER) {
        return Ok(None);
    }
    let Some(driver) = facts::owner(volume).csi().cloned() else { return Ok(None) };
    let state = facts::provisioner(cx, &driver);
    if !facts::is_absent(cx, &state, &driver)? {
        return Ok(None);
    }
    let (summary, consequence) = consequence(volume);
    let finding = RULE
        .on_volume(cx, volume, summary)
        .shows("consequence", consequence)
        .shows_manager(
            &volume.metadata,
            &ManagedField::Finalizer(EXTERNAL_PROVISIONER.into()),
            "managers of the finalizer",
        )
        .shows_controller(&state);
    Ok(Some(finding.remedied_by(cx, volume, &remedies::REMOVE_EXTERNAL_FINALIZER)))
}

/// Returns the summary, and the effect on the backend volume.
fn consequence(volume: &Volume) -> (&'static str, &'static str) {
    let terminating = volume.metadata.deleting.is_some();
    match &volume.reclaim_policy {
        ReclaimPolicy::Retain | ReclaimPolicy::Recycle => (
            "csi-provisioner is absent: no controller removes its finalizer",
            "the object cannot be deleted; the backend volume is kept in any case",
        ),
        _ if volume.phase == Phase::Bound => (
            "csi-provisioner is absent: after its claim is deleted, no controller deletes the backend volume",
            "none while it is bound; after that its deletion is stuck",
        ),
        _ if terminating => (
            "Terminating, but csi-provisioner is absent: neither the backend volume nor the object is deleted",
            "after the finalizer is removed the object is deleted, and the backend volume is leaked",
        ),
        _ => (
            "csi-provisioner is absent: the backend volume, which policy Delete should delete, remains",
            "remains until the driver is reinstalled",
        ),
    }
}

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
    title: "A volume carries the finalizer of a provisioner that is gone",
    danger: "Nobody is left who deletes the disk or removes the finalizer. Removing it by hand before the disk is \
             deleted leaks the disk, and a driver that is merely being reinstalled looks just like this.",
    remedy: "A driver counts as absent only when its Lease, pods, workloads, registration and latest acts were all looked \
             for and not found, for a day, or because --driver-absent says so. Then the finalizer is removed from \
             volumes that are kept anyway. A bound volume is left alone: this is not what holds it. A released \
             volume of policy Delete waits for its driver to be reinstalled; one that is being deleted already is \
             let go only with --accept-leak, and the disk that stays is recorded. --reclaim needs a driver that \
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
            "its provisioner is gone, and nobody removes the finalizer that it left behind",
            "the object cannot be deleted; the disk is kept either way",
        ),
        _ if volume.phase == Phase::Bound => (
            "its provisioner is gone: once its claim is deleted, nobody deletes the disk",
            "none while it is bound; afterwards the volume hangs",
        ),
        _ if terminating => (
            "being deleted, but its provisioner is gone: nobody deletes the disk, and the object hangs",
            "without the finalizer the object goes, and the disk is leaked",
        ),
        _ => (
            "its provisioner is gone: nobody deletes the disk, which its policy says to delete",
            "waits for the driver to be reinstalled",
        ),
    }
}

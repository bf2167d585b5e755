//! F11: an Available volume was used before, and any claim can bind it.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Finding, Kind, Phase, ReclaimPolicy, Severity, Volume, VolumeSource};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-available-was-bound",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Data,
    needs: &[Kind::PersistentVolume],
    remedies: &[],
    title: "A volume that was used before is Available, and any matching claim can bind it",
    danger: "Its claimRef was removed, so the next matching claim binds it and reads the old data. Deleting the \
             object instead leaks the backend volume: provisioners delete only Released volumes.",
    remedy: "The tool changes nothing, since only you know whose data it is. Give it a claimRef with the namespace \
             and name of the claim that may have it, and no uid: then no other claim can bind it.",
    source: "pv_controller.go, FindMatchingVolume and unbindVolume; sig-storage-lib-external-provisioner#185",
    judge: &[Judge::Volume(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let free = volume.phase == Phase::Available && volume.claim_ref.is_none();
    let made_for_a_claim = volume.is_dynamic() && !is_discovered_disk(volume);
    let was_attached = facts::has_attacher_finalizer(&volume.metadata);
    if !free || !(made_for_a_claim || was_attached) {
        return Ok(None);
    }
    let class = volume.class.as_deref().filter(|class| !class.is_empty());
    let takers = class.map_or_else(
        || "any claim without a class".to_owned(),
        |class| format!("any claim of class {class}"),
    );
    let capacity = volume.capacity.map_or("<none>".to_owned(), |bytes| format!("{bytes} bytes"));
    let finding = RULE
        .on_volume(
            cx,
            volume,
            "Available but used before: any matching claim can bind it and read the old data",
        )
        .aged(facts::state_age(cx, volume))
        .shows(
            "annotation pv.kubernetes.io/provisioned-by",
            volume.provisioned_by.as_deref().unwrap_or("<none>"),
        )
        .shows("spec.storageClassName", class.unwrap_or("<none>"))
        .shows("spec.capacity.storage", capacity)
        .shows("who can bind it", takers);
    Ok(Some(finding.report_only(match volume.reclaim_policy {
        ReclaimPolicy::Delete => {
            "give it a claimRef without a uid; deleting the object would leak the backend volume, whatever the policy"
        }
        ReclaimPolicy::Retain | ReclaimPolicy::Recycle | ReclaimPolicy::Other(_) => {
            "give it a claimRef without a uid, so that only the claim of that name can bind it"
        }
    })))
}

/// Whether it is a disk that the local static provisioner found: the annotation names that
/// provisioner, but the volume is created for no claim, and wiped between claims
/// (sig-storage-local-static-provisioner, `StartLocalController`).
fn is_discovered_disk(volume: &Volume) -> bool {
    let by_discovery = |provisioner: &str| provisioner.starts_with("local-volume-provisioner-");
    matches!(volume.source, VolumeSource::Local(_))
        && volume.provisioned_by.as_deref().is_some_and(by_discovery)
}

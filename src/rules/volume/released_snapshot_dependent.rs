//! F08: snapshots of a Released or Failed volume exist or are being taken.

use crate::cluster::{Cx, Placed, Seen};
use crate::drivers::Fate;
use crate::facts;
use crate::model::{Finding, Kind, Phase, Severity, SnapshotContent, Volume};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-released-snapshot-dependent",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::VolumeSnapshotContent, Kind::VolumeGroupSnapshotContent],
    remedies: &[],
    title: "A snapshot depends on a volume whose claim is gone",
    danger: "Deleting a volume while a snapshot of it is being taken ruins the snapshot. With some drivers \
             finished snapshots are destroyed with their volume, while their VolumeSnapshot still says that it is \
             ready; other drivers do not delete a volume that has snapshots, and it stays Released.",
    remedy: "Reclaiming is refused while a snapshot is being taken or restored. Where snapshots die with the volume, \
             or may, it is refused without --destroy-snapshots; where they keep the driver from deleting it, they \
             must be deleted first. `kubectl storage explain driver/NAME` says what this driver does.",
    source: "CSI spec, DeleteVolume; external-snapshotter VolumeSnapshotContent",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let without_claim = matches!(volume.phase, Phase::Released | Phase::Failed);
    if !without_claim {
        return Ok(None);
    }
    let snapshots = cx.snapshots_at(&volume.places())?.into_iter();
    let snapshots: Vec<_> = snapshots.map(|(snapshot, _)| snapshot).collect();
    if snapshots.is_empty() {
        return Ok(None);
    }
    let in_progress = snapshots.iter().any(|snapshot| snapshot.in_progress());
    let known = facts::provisioning_family(&facts::owner(volume)).snapshots;
    let fates: Vec<Fate> = snapshots.iter().map(|it| known.fate_of(it.handle.as_deref())).collect();
    let (severity, summary, reason) = if in_progress {
        (
            Severity::High,
            "a snapshot of it is being taken: deleting it now would ruin the snapshot",
            "wait until the snapshot is ready to use; reclaiming is refused until then".to_owned(),
        )
    } else if fates.contains(&Fate::Dies) {
        (
            Severity::High,
            "its snapshots are destroyed with it",
            format!("{}; gc refuses without --destroy-snapshots", known.note),
        )
    } else if fates.contains(&Fate::Unknown) {
        (
            Severity::Medium,
            "its snapshots may be destroyed with it",
            format!("{}; gc refuses without --destroy-snapshots", known.note),
        )
    } else if fates.contains(&Fate::Blocks) {
        (
            Severity::Info,
            "its driver does not delete it while it has snapshots",
            format!("{}; delete the snapshots first", known.note),
        )
    } else {
        (Severity::Info, "snapshots were taken of it, and do not need it", known.note.to_owned())
    };
    let mut finding =
        RULE.on_volume(cx, volume, summary).severe(severity).aged(facts::state_age(cx, volume));
    for snapshot in snapshots {
        finding = finding
            .shows_of(&snapshot.object(), "state", state(snapshot))
            .relates([snapshot.object()]);
    }
    Ok(Some(finding.report_only(reason)))
}

fn state(snapshot: &SnapshotContent) -> String {
    let ready = if snapshot.ready { "ready to use" } else { "not ready to use" };
    let created = if snapshot.being_created { ", being created" } else { "" };
    let policy = snapshot.deletion_policy.as_deref().unwrap_or("<none>");
    let owner = snapshot
        .snapshot
        .as_ref()
        .map_or_else(|| "<none>".to_owned(), |(namespace, name)| format!("{namespace}/{name}"));
    format!("{ready}{created}, deletion policy {policy}, of snapshot {owner}")
}

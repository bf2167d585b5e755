//! F08: snapshots of a Released or Failed volume exist or are being taken.

use crate::cluster::{Cx, Placed, Seen};
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
    danger: "Deleting a volume while a snapshot of it is being taken ruins the snapshot. With some drivers even \
             finished snapshots need their volume: they refuse to delete it, and the volume hangs.",
    remedy: "Reclaiming is refused while a snapshot is in progress. Finished snapshots are only mentioned: the CSI \
             specification wants them to be independent, and a driver whose snapshots are not says so.",
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
    let (severity, summary, reason) = if in_progress {
        (
            Severity::High,
            "a snapshot of it is being taken: deleting it now would ruin the snapshot",
            "wait until the snapshot is ready to use; reclaiming is refused until then",
        )
    } else {
        (
            Severity::Info,
            "snapshots were taken of it: a driver whose snapshots need it will refuse to delete it",
            "finished snapshots are no reason to keep it, unless its driver says so",
        )
    };
    let mut finding =
        RULE.on_volume(cx, volume, summary).severe(severity).aged(facts::phase_age(cx, volume));
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

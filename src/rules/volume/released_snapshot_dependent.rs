//! F08: snapshots of a Released or Failed volume exist or are being taken.

use crate::cluster::{Cx, Placed, Seen};
use crate::drivers::Fate;
use crate::facts;
use crate::model::{Finding, Phase, Severity, SnapshotContent, Volume};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-released-snapshot-dependent",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![versions: PersistentVolume, VolumeSnapshotContent, VolumeGroupSnapshotContent],
    remedies: &[],
    title: "Snapshots depend on a volume whose claim does not exist",
    danger: "Deleting a volume while a snapshot of it is being taken ruins the snapshot. Some drivers destroy \
             finished snapshots with their volume, while the VolumeSnapshot still says that it is ready; other \
             drivers do not delete a volume that has snapshots, and it remains Released.",
    remedy: "Reclaiming is refused while a snapshot is being taken or restored. If snapshots are, or may be, \
             destroyed with the volume, it is refused without --destroy-snapshots; if they prevent its deletion, \
             delete them first. `kubectl storage explain driver/NAME` says what this driver does.",
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
    let known = facts::provisioning_family(cx, volume, &facts::owner(volume)).snapshots;
    let fates: Vec<Fate> = snapshots.iter().map(|it| known.fate_of(it.handle.as_deref())).collect();
    let (severity, summary, reason) = if in_progress {
        (
            Severity::High,
            "a snapshot of it is being taken: deleting the volume now would ruin the snapshot",
            "wait until the snapshot is ready to use; if it never becomes ready, delete the VolumeSnapshot; reclaiming is refused until then".to_owned(),
        )
    } else if fates.contains(&Fate::Dies) {
        (
            Severity::High,
            "deleting it destroys its snapshots",
            format!("{}; gc refuses without --destroy-snapshots", known.note),
        )
    } else if fates.contains(&Fate::Unknown) {
        (
            Severity::Medium,
            "deleting it may destroy its snapshots",
            format!("{}; gc refuses without --destroy-snapshots", known.note),
        )
    } else if fates.contains(&Fate::Blocks) {
        (
            Severity::Info,
            "its driver does not delete it while it has snapshots",
            format!("{}; delete the snapshots first", known.note),
        )
    } else {
        (Severity::Info, "it has snapshots, which do not depend on it", known.note.to_owned())
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

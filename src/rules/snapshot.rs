//! Findings about snapshots.

use super::{CapacityRisk, Judge, Rule};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Age, Finding, Kind, Severity, SnapshotContent, VolumeSnapshot};

/// The rules about snapshots, in the order of the documentation.
pub(super) static RULES: &[&Rule] = &[&CONTENT_ORPHAN];

/// F99: a `VolumeSnapshotContent` whose `VolumeSnapshot` does not exist, or that no controller can
/// delete.
static CONTENT_ORPHAN: Rule = Rule {
    id: "snapshot-content-orphan",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: VolumeSnapshot, VolumeSnapshotContent],
    remedies: &[],
    title: "A VolumeSnapshotContent has no VolumeSnapshot, or its driver is absent",
    danger: "The snapshot remains at the storage system and may be billed. With policy Retain no controller deletes \
             it after its VolumeSnapshot is deleted; without its driver none can.",
    remedy: "None by the tool. If the snapshot is not needed, set its deletionPolicy to Delete and delete the \
             VolumeSnapshotContent: its driver then deletes the snapshot. Deleting it with policy Retain leaves the \
             snapshot at the storage system without a record. Without the driver, delete it there.",
    source: "external-snapshotter snapshot_controller.go, csi-snapshotter syncContent",
    judge: &[Judge::Snapshot(content_orphan)],
};

/// The state of the `VolumeSnapshot` of a content.
enum BoundSnapshot {
    /// The snapshot exists, or is not bound yet.
    There,
    Gone,
    /// A snapshot of this name with another uid exists.
    Replaced,
}

fn content_orphan(cx: &Cx, content: &SnapshotContent) -> Seen<Option<Finding>> {
    if content.kind != Kind::VolumeSnapshotContent {
        return Ok(None);
    }
    let retained = content.deletion_policy.as_deref() == Some("Retain");
    let orphan = match retained {
        true => snapshot(cx, content)?,
        false => BoundSnapshot::There, // Or its controller is about to delete the content.
    };
    let (summary, reason) = match orphan {
        BoundSnapshot::Gone => {
            ("its VolumeSnapshot does not exist, and policy Retain keeps the snapshot", UNWANTED)
        }
        BoundSnapshot::Replaced => (
            "its VolumeSnapshot was recreated, and policy Retain keeps the snapshot of the earlier one",
            UNWANTED,
        ),
        BoundSnapshot::There => {
            let state = facts::provisioner(cx, &content.driver);
            if !facts::is_absent(cx, &state, &content.driver)? {
                return Ok(None);
            }
            (
                "its driver is absent: no controller can restore or delete the snapshot",
                "reinstall the driver, or delete the snapshot at the storage system",
            )
        }
    };
    let none = || "<none>".to_owned();
    let owner =
        content.snapshot.as_ref().map_or_else(none, |(space, name)| format!("{space}/{name}"));
    let size = content.size.map_or_else(none, |size| size.to_string());
    let finding = CONTENT_ORPHAN
        .on_object(content.object(), &content.metadata, summary)
        .aged(Age::stamped(content.metadata.created))
        .shows("spec.driver", &*content.driver)
        .shows("spec.deletionPolicy", content.deletion_policy.as_deref().unwrap_or("<none>"))
        .shows("spec.volumeSnapshotRef", owner)
        .shows("status.snapshotHandle", content.handle.as_deref().unwrap_or("<none>"))
        .shows("status.restoreSize", size);
    Ok(Some(finding.report_only(reason)))
}

const UNWANTED: &str =
    "if it is not needed, set its deletionPolicy to Delete and delete the VolumeSnapshotContent";

fn snapshot(cx: &Cx, content: &SnapshotContent) -> Seen<BoundSnapshot> {
    // An unbound content may be statically provisioned for a `VolumeSnapshot` that will be created
    // later.
    let (Some((namespace, name)), Some(uid)) = (&content.snapshot, &content.snapshot_uid) else {
        return Ok(BoundSnapshot::There);
    };
    let other =
        |found: &VolumeSnapshot| found.metadata.uid.as_ref().is_some_and(|known| known != uid);
    Ok(match cx.volume_snapshot(namespace, name)? {
        None => BoundSnapshot::Gone,
        Some(found) if other(found) => BoundSnapshot::Replaced,
        Some(_) => BoundSnapshot::There,
    })
}

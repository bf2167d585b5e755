//! What becomes of the snapshots and the clones of a volume that is to be deleted (R-DRV-5).

use super::checks::{self, Checked, ReliedFlags};
use super::snapshot_first;
use crate::cluster::{Cx, Placed, Seen};
use crate::drivers::{self, Family, Fate};
use crate::facts::{self, Owner};
use crate::model::{ClaimPhase, SnapshotContent, SnapshotSource, Text, Volume};

/// The flag with which the user gives up snapshots.
const FLAG: &str = "--destroy-snapshots";
const ALLOWS: &str = "--destroy-snapshots allows that";

/// Refuses where a snapshot is being taken, where one would be destroyed without the user's word, or
/// where one keeps the driver from deleting the volume. Others add a notice.
///
/// # Errors
/// When an object was not read on which this rests.
pub(super) fn allow_deletion(
    cx: &Cx,
    volume: &Volume,
    owner: &Owner,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    let family = facts::provisioning_family(cx, volume, owner);
    checks::all!(snapshot_first::remains(cx, volume)?);
    for (snapshot, overlap) in cx.snapshots_at(&volume.places())? {
        let of = if overlap.is_certain() { "of it" } else { "of what may be the same storage" };
        checks::all!(one(cx, volume, (snapshot, of), family, notices, relies_on)?);
    }
    for snapshot in told_by_family(cx, volume, owner.name(), family) {
        checks::all!(one(cx, volume, (snapshot, "of it"), family, notices, relies_on)?);
    }
    let may_die = matches!(family.snapshots.fate, Fate::Dies | Fate::Unknown);
    if may_die || family.snapshots.of_handle.is_some() {
        pre_provisioned(cx, owner.name(), family, relies_on);
    }
    clones(cx, volume, family, relies_on)
}

/// Snapshots of a driver whose name tells nothing, of which their handle tells that they are of this
/// volume to whoever recognised the driver.
fn told_by_family<'a>(
    cx: &Cx<'a>,
    volume: &Volume,
    driver: &Text,
    family: &Family,
) -> Vec<&'a SnapshotContent> {
    let volume_of = family.snapshots.volume_of_handle;
    let volume_of = volume_of.filter(|_| drivers::is_unknown(drivers::family(driver)));
    let (Some(volume_of), Some(backend)) = (volume_of, &volume.backend) else { return Vec::new() };
    let names_it =
        |handle: &str| volume_of(handle).is_some_and(|it| it.eq_ignore_ascii_case(&backend.handle));
    let rows = cx.cluster().snapshots().map(|(_, row)| row);
    rows.filter(|row| row.source == SnapshotSource::Existing && row.driver == *driver)
        .filter(|row| row.handle.as_deref().is_some_and(names_it))
        .collect()
}

fn one(
    cx: &Cx,
    volume: &Volume,
    (snapshot, of): (&SnapshotContent, &str),
    family: &drivers::Family,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    let object = snapshot.object();
    if snapshot.in_progress() {
        return Ok(Err(format!("{object} is being taken {of}")));
    }
    if let Some(restore) = pending_restore(cx, snapshot)? {
        return Ok(Err(format!("{restore} is being restored from {object}, a snapshot {of}")));
    }
    if snapshot_first::is_taken_first(cx, volume, snapshot) {
        return Ok(Ok(()));
    }
    let note = family.snapshots.note;
    Ok(match family.snapshots.fate_of(snapshot.handle.as_deref()) {
        Fate::Independent | Fate::None => {
            notices.push(format!("{object} was taken {of}, and remains"));
            Ok(())
        }
        Fate::Blocks => Err(format!(
            "{object} was taken {of}, and the driver deletes no volume that has snapshots \
             ({note}); delete the snapshot first"
        )),
        fate @ (Fate::Dies | Fate::Unknown) => {
            let verb = if fate == Fate::Dies { "is destroyed" } else { "may be destroyed" };
            if cx.settings().destroy_snapshots {
                relies_on.rely(FLAG);
                notices.push(format!("{object} {verb} with {}", volume.object()));
                Ok(())
            } else {
                let why = format!("{object} {verb} with it ({note})");
                relies_on.lack(FLAG, why, ALLOWS);
                Ok(())
            }
        }
    })
}

/// Refuses where a snapshot of the driver exists whose handle does not tell its volume.
fn pre_provisioned(cx: &Cx, driver: &Text, family: &drivers::Family, relies_on: &mut ReliedFlags) {
    let decodes = |row: &SnapshotContent| {
        let volume_of = family.snapshots.volume_of_handle;
        volume_of.zip(row.handle.as_deref()).and_then(|(of, handle)| of(handle)).is_some()
    };
    let unclear = cx.cluster().snapshots().map(|(_, row)| row).find(|row| {
        let survives = || {
            let fate = family.snapshots.fate_of(row.handle.as_deref());
            matches!(fate, Fate::Independent | Fate::None)
        };
        let is_its = row.driver == *driver && row.source == SnapshotSource::Existing;
        is_its && !decodes(row) && !survives()
    });
    match unclear {
        None => {}
        Some(_) if cx.settings().destroy_snapshots => relies_on.rely(FLAG),
        Some(row) => {
            let why = format!(
                "unknown which volume {} was taken of: it may be destroyed with this one",
                row.object()
            );
            relies_on.lack(FLAG, why, ALLOWS);
        }
    }
}

/// Returns a claim that waits for a restore from a snapshot.
fn pending_restore(cx: &Cx, snapshot: &SnapshotContent) -> Seen<Option<String>> {
    let Some((namespace, name)) = &snapshot.snapshot else { return Ok(None) };
    let claims = cx.claims_restored_from(namespace, name)?;
    let waits = claims.into_iter().find(|claim| claim.phase == ClaimPhase::Pending);
    Ok(waits.map(|claim| claim.object().to_string()))
}

/// Refuses where a claim is a clone that needs the volume, or is being cloned from it.
fn clones(
    cx: &Cx,
    volume: &Volume,
    family: &drivers::Family,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    for clone in facts::clones(cx, volume)? {
        let object = clone.claim.object();
        if clone.claim.phase == ClaimPhase::Pending {
            return Ok(Err(format!("{object} is being cloned from its claim")));
        }
        let object = match clone.snapshot {
            None => format!("{object} was cloned from it"),
            Some(snapshot) => {
                format!("{object} was restored from {}, a snapshot of it", snapshot.object())
            }
        };
        match family.clones {
            Fate::Independent | Fate::None => {}
            Fate::Blocks => {
                return Ok(Err(format!(
                    "{object}, and the driver deletes no volume that has clones"
                )));
            }
            Fate::Dies | Fate::Unknown if cx.settings().destroy_snapshots => {
                relies_on.rely(FLAG);
            }
            Fate::Dies | Fate::Unknown => {
                relies_on.lack(FLAG, format!("{object}, and may depend on it"), ALLOWS);
            }
        }
    }
    Ok(Ok(()))
}

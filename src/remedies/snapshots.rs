//! What becomes of the snapshots and the clones of a volume that is to be deleted (R-DRV-5).

use super::checks::{self, Checked};
use super::snapshot_first;
use crate::cluster::{Cx, Placed, Seen};
use crate::drivers::{self, Fate};
use crate::facts::Owner;
use crate::model::{ClaimPhase, SnapshotContent, SnapshotSource, Text, Volume};

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
    relies_on: &mut Vec<&'static str>,
) -> Seen<Checked> {
    let family = crate::facts::provisioning_family(owner);
    checks::all!(snapshot_first::remains(cx, volume)?);
    for (snapshot, overlap) in cx.snapshots_at(&volume.places())? {
        let of = if overlap.is_certain() { "of it" } else { "of what may be the same storage" };
        checks::all!(one(cx, volume, (snapshot, of), family, notices, relies_on)?);
    }
    if family.snapshots.fate == Fate::Dies || family.snapshots.of_handle.is_some() {
        checks::all!(pre_provisioned(cx, owner.name(), family, relies_on));
    }
    clones(cx, volume, family, relies_on)
}

fn one(
    cx: &Cx,
    volume: &Volume,
    (snapshot, of): (&SnapshotContent, &str),
    family: &drivers::Family,
    notices: &mut Vec<String>,
    relies_on: &mut Vec<&'static str>,
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
                checks::rely(relies_on, "--destroy-snapshots");
                notices.push(format!("{object} {verb} with {}", volume.object()));
                Ok(())
            } else {
                Err(format!("{object} {verb} with it ({note}); --destroy-snapshots allows that"))
            }
        }
    })
}

/// Refuses where a snapshot of the driver exists whose handle does not tell its volume.
fn pre_provisioned(
    cx: &Cx,
    driver: &Text,
    family: &drivers::Family,
    relies_on: &mut Vec<&'static str>,
) -> Checked {
    let decodes = |row: &SnapshotContent| {
        let volume_of = family.snapshots.volume_of_handle;
        volume_of.zip(row.handle.as_deref()).and_then(|(of, handle)| of(handle)).is_some()
    };
    let unclear = cx.cluster().snapshots().map(|(_, row)| row).find(|row| {
        row.driver == *driver && row.source == SnapshotSource::Existing && !decodes(row)
    });
    match unclear {
        None => Ok(()),
        Some(_) if cx.settings().destroy_snapshots => {
            checks::rely(relies_on, "--destroy-snapshots");
            Ok(())
        }
        Some(row) => Err(format!(
            "unknown which volume {} was taken of: it may be destroyed with this one; \
             --destroy-snapshots allows that",
            row.object()
        )),
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
    relies_on: &mut Vec<&'static str>,
) -> Seen<Checked> {
    let Some(claim) = &volume.claim_ref else { return Ok(Ok(())) };
    for clone in cx.claims_from(&claim.key)? {
        let object = clone.object();
        if clone.phase == ClaimPhase::Pending {
            return Ok(Err(format!("{object} is being cloned from its claim")));
        }
        match family.clones {
            Fate::Independent | Fate::None => {}
            Fate::Blocks => {
                return Ok(Err(format!(
                    "{object} was cloned from it, and the driver deletes no volume that has clones"
                )));
            }
            Fate::Dies | Fate::Unknown if cx.settings().destroy_snapshots => {
                checks::rely(relies_on, "--destroy-snapshots");
            }
            Fate::Dies | Fate::Unknown => {
                return Ok(Err(format!(
                    "{object} was cloned from it, and may depend on it; --destroy-snapshots \
                     allows its deletion"
                )));
            }
        }
    }
    Ok(Ok(()))
}

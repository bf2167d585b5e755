//! Checks whether a volume may be given to a claim again, on which P-RESERVE rests.

use super::checks::{self, Checked, ReliedFlags};
use super::released;
use crate::cluster::{Cx, Placed as _, Seen};
use crate::drivers::{Extent, Overlap, Place};
use crate::facts;
use crate::model::{ClaimKey, Phase, ReclaimPolicy, Volume};

/// The flag that lifts a doubt about the backend volume.
const BACKEND_VERIFIED: &str = "--backend-verified";
/// Advice to verify the backend volume first.
const VERIFY: &str = "verify it, then pass --backend-verified";
/// Number of volumes that a notice names at most.
const NAMED: usize = 5;

/// Whether the volume is reserved for a claim: claimRef has its name and no uid.
pub(super) fn is_reserved_for(volume: &Volume, claim: &ClaimKey) -> bool {
    volume.claim_ref.as_ref().is_some_and(|it| it.uid.is_none() && it.key == *claim)
}

/// Refuses unless a volume may be reserved for a claim, or is already: Released with policy Retain, intact as far as is
/// known, and its storage used by no other volume.
///
/// # Errors
/// When an object was not read on which this rests.
pub(super) fn is_free(
    cx: &Cx,
    volume: &Volume,
    claim: &ClaimKey,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    released::backend_state_known(cx, volume, relies_on);
    checks::all!(
        is_kept(volume),
        in_phase(cx, volume, is_reserved_for(volume, claim), relies_on),
        checks::not_exempt(cx, &volume.metadata),
        shares_by_design(cx, volume, notices)?,
    );
    Ok(Ok(()))
}

/// Refuses unless the object remains, and its policy keeps the backend volume.
pub(super) fn is_kept(volume: &Volume) -> Checked {
    let named = facts::on_command_line(&volume.object());
    if volume.metadata.deleting.is_some() {
        let first = match volume.reclaim_policy {
            ReclaimPolicy::Retain => String::new(),
            _ => format!(
                "run `kubectl storage retain {named}`, which keeps the backend volume, and "
            ),
        };
        return Err(format!(
            "it is Terminating, which nothing reverts: no claim is bound to it again; {first}save \
             its manifest"
        ));
    }
    match &volume.reclaim_policy {
        ReclaimPolicy::Retain => Ok(()),
        ReclaimPolicy::Delete if matches!(volume.phase, Phase::Released | Phase::Failed) => {
            Err(format!(
                "its policy is Delete, not Retain: its controller deletes the backend volume; \
                 `kubectl storage retain {named}` stops that and saves what is left, then verify \
                 the backend volume and pass {BACKEND_VERIFIED}"
            ))
        }
        ReclaimPolicy::Recycle if matches!(volume.phase, Phase::Released | Phase::Failed) => {
            Err(format!(
                "its policy is Recycle, not Retain: its files are deleted; \
                 `kubectl storage retain {named}` prevents that if it has not begun, then verify \
                 the backend volume and pass {BACKEND_VERIFIED}"
            ))
        }
        policy => Err(format!(
            "its policy is {policy}, not Retain; run `kubectl storage retain {named}` first, which \
             keeps the backend volume"
        )),
    }
}

/// Refuses unless no claim has the volume in its phase. A volume that is Failed may be partly deleted, or its
/// controller could never delete it.
fn in_phase(cx: &Cx, volume: &Volume, reserved: bool, relies_on: &mut ReliedFlags) -> Checked {
    match &volume.phase {
        Phase::Released => Ok(()),
        // The volume controller has not looked at the reservation yet, or has.
        Phase::Available | Phase::Pending if reserved => Ok(()),
        Phase::Failed if cx.settings().backend_verified => {
            relies_on.rely(BACKEND_VERIFIED);
            Ok(())
        }
        Phase::Failed => {
            let why = "its phase is Failed, not Released: its deletion failed, and the backend \
                       volume may be partly deleted";
            relies_on.lack(BACKEND_VERIFIED, why, VERIFY);
            Ok(())
        }
        phase => Err(format!("its phase is {phase}, not Released")),
    }
}

/// Refuses where another volume uses the same storage, unless it is a statically provisioned file system that several
/// nodes mount: these share directories by design.
///
/// # Errors
/// When volumes were not read.
pub(super) fn shares_by_design(
    cx: &Cx,
    volume: &Volume,
    notices: &mut Vec<String>,
) -> Seen<Checked> {
    let is_device = |place: &Place<'_>| matches!(place.extent, Extent::Device(_));
    let shared = facts::is_static(volume)
        && volume.is_shared
        && !volume.places().is_empty()
        && !volume.places().iter().any(is_device);
    if !shared {
        return checks::backend_is_its_own(cx, volume);
    }
    let others = cx.sharing(volume)?;
    let told = |(other, overlap): &(&Volume, Overlap)| {
        let destroys = match facts::may_destroy(cx, other) {
            true => format!(", and its policy {} can destroy the data", other.reclaim_policy),
            false => String::new(),
        };
        format!("{} {}{destroys}", other.object(), facts::lies(overlap))
    };
    notices.extend(others.iter().take(NAMED).map(told));
    if let Some(more) = others.len().checked_sub(NAMED).filter(|more| *more > 0) {
        notices.push(format!("{more} more volumes share its storage"));
    }
    Ok(Ok(()))
}

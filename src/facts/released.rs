//! Whether a volume's claim is really gone.

use crate::cluster::{Cx, Seen};
use crate::model::{Claim, Volume};

/// What became of the claim that a volume names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimState<'a> {
    /// The volume names no claim.
    None,
    /// It names a claim without a uid: reserved, not bound.
    Reserved,
    /// The claim it was bound to is there.
    Live(&'a Claim),
    /// There is no claim of that name.
    Absent,
    /// There is a claim of that name, but another one: it was deleted and created again.
    Recreated(&'a Claim),
}

/// Returns what became of the claim that a volume names.
///
/// # Errors
/// When claims of that namespace were not seen.
pub fn claim_state<'a>(cx: &Cx<'a>, volume: &Volume) -> Seen<ClaimState<'a>> {
    let Some(claim_ref) = &volume.claim_ref else { return Ok(ClaimState::None) };
    let Some(uid) = &claim_ref.uid else { return Ok(ClaimState::Reserved) };
    Ok(match cx.claim(&claim_ref.key)? {
        None => ClaimState::Absent,
        Some(claim) if claim.metadata.uid.as_ref() == Some(uid) => ClaimState::Live(claim),
        Some(claim) => ClaimState::Recreated(claim),
    })
}

/// Whether the volume is released by what upstream's volume controller would see now, whatever
/// its phase says (`pv_controller.go`, `isVolumeReleased`).
///
/// # Errors
/// When claims of that namespace were not seen.
pub fn semantically_released(cx: &Cx, volume: &Volume) -> Seen<bool> {
    Ok(match claim_state(cx, volume)? {
        ClaimState::None | ClaimState::Reserved => false,
        ClaimState::Absent | ClaimState::Recreated(_) => true,
        ClaimState::Live(claim) => {
            claim.volume_name.as_deref().is_some_and(|bound| bound != volume.name())
        }
    })
}

//! Whether the claim of a volume still exists, by name and uid.

use crate::cluster::{Cx, Seen};
use crate::model::{Claim, Volume};

/// The state of the claim that a volume references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimState<'a> {
    /// The volume references no claim.
    None,
    /// It references a claim without a uid: reserved, not bound.
    Reserved,
    /// The claim that it was bound to exists.
    Live(&'a Claim),
    /// No claim of that name exists.
    Absent,
    /// A claim of that name exists with another uid: it was deleted and recreated.
    Recreated(&'a Claim),
}

/// Returns the state of the claim that a volume references.
///
/// # Errors
/// When claims of that namespace were not read.
pub fn claim_state<'a>(cx: &Cx<'a>, volume: &Volume) -> Seen<ClaimState<'a>> {
    let Some(claim_ref) = &volume.claim_ref else { return Ok(ClaimState::None) };
    let Some(uid) = &claim_ref.uid else { return Ok(ClaimState::Reserved) };
    Ok(match cx.claim(&claim_ref.key)? {
        None => ClaimState::Absent,
        Some(claim) if claim.metadata.uid.as_ref() == Some(uid) => ClaimState::Live(claim),
        Some(claim) => ClaimState::Recreated(claim),
    })
}

/// Whether the volume controller of Kubernetes would now regard the volume as released, whatever
/// its phase (`pv_controller.go`, `isVolumeReleased`).
///
/// # Errors
/// When claims of that namespace were not read.
pub fn semantically_released(cx: &Cx, volume: &Volume) -> Seen<bool> {
    Ok(match claim_state(cx, volume)? {
        ClaimState::None | ClaimState::Reserved => false,
        ClaimState::Absent | ClaimState::Recreated(_) => true,
        ClaimState::Live(claim) => {
            claim.volume_name.as_deref().is_some_and(|bound| bound != volume.name())
        }
    })
}

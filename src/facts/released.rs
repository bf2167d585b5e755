//! Whether the claim of a volume still exists, by name and uid.

use std::time::Duration;

use super::LastTransition;
use crate::cluster::{Cx, Seen};
use crate::model::{Claim, ManagedField, Phase, Volume, VolumeSource};

/// How long after the creation of a claim the release of its predecessor's volume may be noticed.
const NOTICED: Duration = Duration::from_secs(60);

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
    /// The uid in claimRef is of no claim, and the volume is this claim's own, which exists:
    /// claimRef was changed by hand.
    Changed(&'a Claim),
}

/// Returns the state of the claim that a volume references.
///
/// # Errors
/// When claims of that namespace were not read.
pub fn claim_state<'a>(cx: &Cx<'a>, volume: &Volume) -> Seen<ClaimState<'a>> {
    let Some(claim_ref) = &volume.claim_ref else { return Ok(ClaimState::None) };
    let Some(uid) = &claim_ref.uid else { return Ok(ClaimState::Reserved) };
    let namesake = cx.claim(&claim_ref.key)?;
    if let Some(claim) = namesake.filter(|it| it.metadata.uid.as_ref() == Some(uid)) {
        return Ok(ClaimState::Live(claim));
    }
    // Under another name it is looked for only as far as claims were read: one that was not read
    // makes nothing of this untrue.
    let naming = cx.claims_naming(volume.name()).unwrap_or_default();
    let own = namesake.into_iter().chain(naming).find(|it| is_made_for(volume, it));
    Ok(match (own, namesake) {
        (Some(claim), _) => ClaimState::Changed(claim),
        (None, Some(claim)) if was_bound_before_release(cx, volume, claim) => {
            ClaimState::Changed(claim)
        }
        (None, Some(claim)) => ClaimState::Recreated(claim),
        (None, None) => ClaimState::Absent,
    })
}

/// Returns the claim whose own volume this is, and whose claimRef was changed.
pub fn taken_from<'a>(cx: &Cx<'a>, volume: &Volume) -> Option<&'a Claim> {
    match claim_state(cx, volume) {
        Ok(ClaimState::Changed(own)) => Some(own),
        Ok(_) | Err(_) => None,
    }
}

/// Whether a volume is a claim's own, whose claimRef was changed.
pub fn was_taken_from(cx: &Cx, volume: &Volume, claim: &Claim) -> bool {
    taken_from(cx, volume).is_some_and(|own| own.key() == claim.key())
}

/// Returns the uid of the claim for which a provisioner created a volume, by its name `pvc-UID`
/// (`getProvisionedVolumeNameForClaim`). That claim may be another cluster's, and need not exist; a
/// volume populator or a rebinding gives its volume to another claim.
pub fn provisioned_for(name: &str) -> Option<&str> {
    let uid = name.strip_prefix("pvc-")?;
    let lengths = uid.split('-').map(str::len);
    let is_hex = uid.chars().all(|it| it.is_ascii_hexdigit() || it == '-');
    (is_hex && lengths.eq([8, 4, 4, 4, 12])).then_some(uid)
}

/// Whether the name of a volume, or what it references at the backend, holds the uid of a claim: it
/// was provisioned for this claim.
pub fn is_made_for(volume: &Volume, claim: &Claim) -> bool {
    let Some(uid) = claim.metadata.uid.as_ref().map(ToString::to_string) else { return false };
    let storage = match &volume.source {
        VolumeSource::Csi { handle, .. } => handle,
        VolumeSource::HostPath(path) | VolumeSource::Local(path) => &**path,
        VolumeSource::InTree(_) | VolumeSource::Unknown => {
            volume.backend.as_ref().map_or("", |it| &it.handle)
        }
    };
    volume.name().contains(&uid) || storage.contains(&uid)
}

/// Whether a claim with the name in claimRef was bound to the volume before its release: it existed
/// then, and its uid was replaced.
///
/// A claim that was recreated while the volume controller did not run is older than the release too:
/// claimRef has its uid from a time before that claim, as far as managers of fields are known.
fn was_bound_before_release(cx: &Cx, volume: &Volume, claim: &Claim) -> bool {
    let is_bound = claim.bind_completed && claim.volume_name.as_deref() == Some(volume.name());
    let Some(created) = claim.metadata.created.filter(|_| is_bound) else { return false };
    let released = LastTransition::of(cx, volume).stated;
    let released = released.filter(|_| volume.phase == Phase::Released);
    let written = volume.metadata.last_change(&ManagedField::ClaimUid);
    released.is_some_and(|at| (at - created).to_std().is_ok_and(|after| after > NOTICED))
        && written.is_none_or(|at| at > created)
}

/// Whether the volume controller of Kubernetes would now regard the volume as released, whatever
/// its phase (`pv_controller.go`, `isVolumeReleased`).
///
/// # Errors
/// When claims of that namespace were not read.
pub fn semantically_released(cx: &Cx, volume: &Volume) -> Seen<bool> {
    Ok(match claim_state(cx, volume)? {
        ClaimState::None | ClaimState::Reserved => false,
        ClaimState::Absent | ClaimState::Recreated(_) | ClaimState::Changed(_) => true,
        ClaimState::Live(claim) => {
            claim.volume_name.as_deref().is_some_and(|bound| bound != volume.name())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_a_provisioner_holds_the_uid_of_a_claim() {
        let uid = "2f5a1b7c-0d3e-4f60-8a9b-0c1d2e3f4a5b";
        for (name, of) in [
            (&*format!("pvc-{uid}"), Some(uid)),
            (&format!("pv-{uid}"), None),
            (&format!("pvc-{uid}-copy"), None),
            (&format!("pvc-{}", uid.replace('b', "g")), None),
            ("pvc-42", None),
        ] {
            assert_eq!(provisioned_for(name), of, "{name}");
        }
    }
}

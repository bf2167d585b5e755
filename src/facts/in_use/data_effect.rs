//! The effect on the data of a claim when the claim is deleted.

use crate::cluster::Cx;
use crate::facts::{DataEffect, data_effect_without_claim};
use crate::model::{Claim, Volume};

/// The effect on the data of a claim when the claim is deleted, with its volume as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimDataEffect<'a> {
    /// It is destroyed, or may be.
    Destroyed(&'a Volume),
    /// The policy is Recycle: its files are removed.
    Scrubbed(&'a Volume),
    /// It remains: the policy is Retain, or no controller can act on another policy.
    Kept(&'a Volume),
    /// It remains, and no volume references it any more.
    Forgotten(&'a Volume),
    /// None: there is no volume, or it belongs to another claim.
    NoVolume,
    /// The volume was not read, for this reason.
    Unseen(String),
}

impl<'a> ClaimDataEffect<'a> {
    /// The claim's volume.
    pub const fn volume(&self) -> Option<&'a Volume> {
        match self {
            Self::Destroyed(volume)
            | Self::Scrubbed(volume)
            | Self::Kept(volume)
            | Self::Forgotten(volume) => Some(volume),
            Self::NoVolume | Self::Unseen(_) => None,
        }
    }

    /// Whether data is lost.
    pub const fn loses_data(&self) -> bool {
        matches!(self, Self::Destroyed(_) | Self::Scrubbed(_))
    }

    /// In words, after the event that triggers it: "the last of these pods is deleted".
    pub fn words(&self, when: &str) -> String {
        match self {
            Self::Destroyed(volume) => {
                format!("policy {} can destroy the data when {when}", volume.reclaim_policy)
            }
            Self::Scrubbed(_) => format!("policy Recycle scrubs the data when {when}"),
            Self::Kept(_) => format!("the volume and its data remain when {when}"),
            Self::Forgotten(_) => format!(
                "the data remains, and no PersistentVolume references it any more, when {when}"
            ),
            Self::NoVolume => format!("no volume is affected when {when}"),
            Self::Unseen(_) => {
                format!("the effect on the data when {when} is unknown, its volume was not read")
            }
        }
    }
}

/// Returns the effect on the data of a claim when the claim is deleted. A volume that references
/// another claim does not count: Kubernetes compares the uid (`pv_controller.go`, `syncVolume`).
pub fn data_effect<'a>(cx: &Cx<'a>, claim: &Claim) -> ClaimDataEffect<'a> {
    let Some(name) = &claim.volume_name else { return ClaimDataEffect::NoVolume };
    let volume = match cx.volume(name) {
        Ok(Some(volume)) => volume,
        Ok(None) => return ClaimDataEffect::NoVolume,
        Err(unseen) => return ClaimDataEffect::Unseen(unseen.reason),
    };
    let is_its_own = volume.claim_ref.as_ref().is_some_and(|claim_ref| {
        match (&claim_ref.uid, &claim.metadata.uid) {
            (Some(wanted), Some(uid)) => wanted == uid,
            (None, _) | (_, None) => claim_ref.key == claim.key(),
        }
    });
    if !is_its_own {
        return ClaimDataEffect::NoVolume;
    }
    data_effect_with(cx, volume)
}

/// The same, for a claim that this volume belongs to.
pub fn data_effect_with<'a>(cx: &Cx<'a>, volume: &'a Volume) -> ClaimDataEffect<'a> {
    match data_effect_without_claim(cx, volume) {
        // Data that may be destroyed counts as destroyed.
        DataEffect::Destroyed | DataEffect::Waiting | DataEffect::Unknown => {
            ClaimDataEffect::Destroyed(volume)
        }
        DataEffect::Scrubbed => ClaimDataEffect::Scrubbed(volume),
        DataEffect::Forgotten | DataEffect::Leaked => ClaimDataEffect::Forgotten(volume),
        DataEffect::Released | DataEffect::Failed | DataEffect::Unaffected => {
            ClaimDataEffect::Kept(volume)
        }
    }
}

//! What becomes of the volumes of a claim that is deleted.

use super::super::checks;
use crate::cluster::{Cx, Seen};
use crate::model::{Claim, ReclaimPolicy, Volume};

/// What becomes of the data of a claim.
#[derive(Debug)]
pub(super) enum DataOutcome<'a> {
    /// No volume is bound to the claim.
    NoVolume,
    /// The policy of its volume is Retain, or is set to it first.
    Kept(&'a Volume),
    /// The policy is Delete, and its controller acts on it.
    Destroyed {
        volume: &'a Volume,
        /// What the controller does, with its name.
        what: String,
        /// The risk.
        risk: &'static str,
    },
}

impl<'a> DataOutcome<'a> {
    /// The volume that is bound to the claim.
    pub(super) const fn volume(&self) -> Option<&'a Volume> {
        match self {
            Self::NoVolume => None,
            Self::Kept(volume) | Self::Destroyed { volume, .. } => Some(volume),
        }
    }
}

/// Refuses where another volume is bound to the claim by its uid: with the claim it would be released,
/// and its policy applied (`pv_controller.go`, `syncVolume`).
pub(super) fn no_other_volume(cx: &Cx, claim: &Claim) -> Seen<checks::Checked> {
    let other = cx.volumes_of(&claim.key())?.into_iter().find(|it| {
        let uid = it.claim_ref.as_ref().and_then(|it| it.uid.as_ref());
        let is_own = claim.volume_name.as_deref() == Some(it.name());
        uid.is_some()
            && uid == claim.metadata.uid.as_ref()
            && !is_own
            && it.reclaim_policy != ReclaimPolicy::Retain
    });
    Ok(match other {
        None => Ok(()),
        Some(other) => Err(format!(
            "spec.claimRef of {pv} is this claim too, and its policy is {}: run `kubectl storage \
             retain {pv}` first, which keeps its data",
            other.reclaim_policy,
            pv = other.object()
        )),
    })
}

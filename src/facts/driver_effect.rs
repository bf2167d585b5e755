//! What the driver of a volume does to its data once it is told to delete the backend volume.

use super::{Owner, Sameness, destruction, same_storage};
use crate::cluster::Cx;
use crate::drivers::Destruction;
use crate::model::Volume;

/// The effect on the data of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataEffect {
    /// The backend volume is deleted with everything on it.
    Destroyed,
    /// The backend volume remains, and the volume becomes Released: its policy is Retain, or its
    /// external provisioner cannot delete it.
    Released,
    /// The data remains, and no volume references it any more: the policy is Retain, or the driver
    /// archives it, or leaves it without its access point.
    Forgotten,
    /// The backend volume remains, and no volume references it any more, although the policy is
    /// Delete: no controller will ever delete it, or its driver answers OK without deleting it.
    Leaked,
    /// The backend volume and the volume remain until a controller runs that can delete them.
    Waiting,
    /// The data is scrubbed, and any claim can bind the volume.
    Scrubbed,
    /// Reclaiming fails; the volume becomes Failed, and the backend volume remains.
    Failed,
    /// None: nothing changes.
    Unaffected,
    /// Unknown from what was read.
    Unknown,
}

impl DataEffect {
    /// Whether the data is destroyed, or may be.
    pub const fn may_destroy(self) -> bool {
        match self {
            Self::Destroyed | Self::Waiting | Self::Scrubbed | Self::Unknown => true,
            Self::Released | Self::Forgotten | Self::Leaked | Self::Failed | Self::Unaffected => {
                false
            }
        }
    }

    /// As reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Destroyed => "destroyed",
            Self::Released => "released",
            Self::Forgotten => "forgotten",
            Self::Leaked => "leaked",
            Self::Waiting => "destroyed-later",
            Self::Scrubbed => "scrubbed",
            Self::Failed => "failed",
            Self::Unaffected => "unaffected",
            Self::Unknown => "unknown",
        }
    }
}

/// What the driver of a volume does to the data once it is told to delete the backend volume: what gc
/// plans with.
#[derive(Debug)]
pub struct DriverEffect {
    /// The effect.
    pub data: DataEffect,
    /// What it does, in words that follow its name.
    pub what: String,
}

/// What a driver does that destroys exactly what a volume uses.
pub const DELETES: &str = "deletes the backend volume with everything on it";

/// Returns what the driver of a volume does.
pub fn driver_effect(cx: &Cx, volume: &Volume, owner: &Owner) -> DriverEffect {
    let effect = |data, what| DriverEffect { data, what };
    let unknown = |why: &str| {
        effect(
            DataEffect::Unknown,
            format!("may delete the backend volume, which is unknown: {why}"),
        )
    };
    match destruction(cx, volume, owner) {
        Ok(Ok(Destruction::Storage { places, what })) => {
            let what = match same_storage(volume, &places) {
                Sameness::Same => DELETES.to_owned(),
                Sameness::More | Sameness::Unclear => format!("deletes {what}"),
                Sameness::Different => {
                    format!("deletes {what}, which is not the storage that pods mount")
                }
            };
            effect(DataEffect::Destroyed, what)
        }
        Ok(Ok(Destruction::Kept { what, .. })) => effect(
            DataEffect::Forgotten,
            format!("{what}, and no PersistentVolume references the data any more"),
        ),
        Ok(Ok(Destruction::Nothing(why))) => effect(
            DataEffect::Leaked,
            format!(
                "answers OK without deleting anything, since {why}: the object is deleted, the data \
                 remains"
            ),
        ),
        // External provisioners retry, and leave the phase as it is.
        Ok(Ok(Destruction::Fails(why))) => effect(
            match owner {
                Owner::Csi(_) | Owner::External(_) => DataEffect::Released,
                Owner::InTree(_) | Owner::StaticInTree(_) => DataEffect::Failed,
            },
            format!("cannot delete it: {why}; the data remains"),
        ),
        Ok(Ok(Destruction::Undecided(why))) => unknown(&why),
        Ok(Err(why)) => unknown(&why),
        Err(unseen) => unknown(&unseen.reason),
    }
}

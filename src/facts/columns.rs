//! The columns that tables show of a volume.

use super::owner;
use crate::model::{Volume, VolumeColumns};

/// Returns the columns that tables show of the volume of a finding or a change.
pub fn columns(volume: &Volume) -> VolumeColumns {
    VolumeColumns {
        capacity: volume.capacity,
        claim: volume.claim_ref.as_ref().map(|claim| claim.key.to_string()),
        class: volume.class.clone(),
        driver: Some(owner(volume).name().clone()),
        reclaim_policy: volume.reclaim_policy.to_string(),
        phase: volume.phase.to_string(),
    }
}

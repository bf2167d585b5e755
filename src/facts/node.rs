//! Whether anybody can still reach a volume.

use crate::cluster::{Cx, Seen};
use crate::model::Volume;

/// Whether a volume can be reached from certain nodes only, and none of them exists.
///
/// # Errors
/// When nodes were not seen.
pub fn node_gone(cx: &Cx, volume: &Volume) -> Seen<bool> {
    match &volume.node_affinity {
        Some(affinity) => cx.any_node_matches(affinity).map(|any| !any),
        None => Ok(false),
    }
}

//! The node that the scheduler selected for a Pending claim (F47).

use crate::cluster::{Cx, Seen};
use crate::model::{Age, Claim, ClaimPhase, Kind, Threshold};

/// Why a selected node gets no volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleNode {
    /// It does not exist. The scheduler does not select another one while the annotation is there.
    Missing,
    /// It is cordoned: a volume may still be provisioned for it.
    Cordoned,
}

/// Returns what is wrong with the selected node of a claim that has been Pending for some time.
///
/// # Errors
/// When nodes were not read, or its absence is not proven.
pub fn stale_selected_node(cx: &Cx, claim: &Claim) -> Seen<Option<StaleNode>> {
    let Some(node) = &claim.selected_node else { return Ok(None) };
    // A provisioner that notices that the node was deleted removes the annotation.
    let age = Age::stamped(claim.metadata.created);
    if claim.phase != ClaimPhase::Pending
        || claim.metadata.deleting.is_some()
        || !cx.older_than(&age, Threshold::Resync)
    {
        return Ok(None);
    }
    Ok(match cx.node(node, Kind::PersistentVolumeClaim)? {
        None => Some(StaleNode::Missing),
        Some(node) => node.unschedulable.then_some(StaleNode::Cordoned),
    })
}

//! Nodes of a volume: whether any node matches its affinity, and whether a node is missing or not
//! ready.

use super::{Owner, controller_settings, provisioning_family};
use crate::cluster::{Cx, Seen};
use crate::model::{Kind, Node, NodeAffinity, NodeTerm, Text, Volume, VolumeSource};

/// A problem of a node that an object references: whether its pods still run and write is unknown
/// (T32).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeProblem {
    /// The node does not exist.
    Missing,
    /// Its kubelet does not report, or reports that it is not ready.
    NotReady,
}

impl NodeProblem {
    /// In words that follow the node's name.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Missing => "does not exist",
            Self::NotReady => "is not Ready",
        }
    }
}

/// Returns the problem of a node that an object of this kind references.
///
/// # Errors
/// When nodes were not read, or were listed before the objects that reference it.
pub fn node_problem(cx: &Cx, node: &str, named_by: Kind) -> Seen<Option<NodeProblem>> {
    Ok(match cx.node(node, named_by)? {
        None => Some(NodeProblem::Missing),
        Some(node) => (!node.ready).then_some(NodeProblem::NotReady),
    })
}

/// Whether a volume is restricted to certain nodes, and none of them exists.
///
/// # Errors
/// When nodes were not read.
pub fn node_gone(cx: &Cx, volume: &Volume) -> Seen<bool> {
    match &volume.node_affinity {
        Some(affinity) => cx.any_node_matches(affinity).map(|any| !any),
        None => Ok(false),
    }
}

/// Whether the deletion of a volume is done on a node that its node affinity allows, so that it waits
/// for one; `None` where that is not known.
pub fn deletes_on_node(cx: &Cx, volume: &Volume, owner: &Owner) -> Option<bool> {
    let settings = controller_settings(cx, owner.name());
    let per_node = |it: &Text| {
        matches!(it.trim_start_matches('-'), "node-deployment" | "node-deployment=true")
    };
    if settings.is_some_and(|it| it.arguments.iter().any(per_node)) {
        return Some(true);
    }
    provisioning_family(cx, volume, owner).deletes_on_node
}

/// Whether no node exists that the deletion of a volume needs, or may need.
///
/// # Errors
/// When nodes were not read.
pub fn deleter_gone(cx: &Cx, volume: &Volume, owner: &Owner) -> Seen<bool> {
    // An affinity is rare, and what deletes a volume is known for most drivers.
    if volume.node_affinity.is_none() || deletes_on_node(cx, volume, owner) == Some(false) {
        return Ok(false);
    }
    node_gone(cx, volume)
}

/// Returns a node that is not Ready and that must have run the pods of the volume: one that matches
/// its node affinity. If the affinity does not require hosts by name, only if no matching node is
/// Ready.
///
/// A volume with the affinity of a whole zone may have been used on any node of that zone; only its
/// attachments show which.
///
/// # Errors
/// When nodes were not read.
pub fn unready_host<'a>(cx: &Cx<'a>, volume: &Volume) -> Seen<Option<&'a Node>> {
    let Some(affinity) = &volume.node_affinity else { return Ok(None) };
    if !names_hosts(affinity) && cx.node_matching(affinity, |node| node.ready)?.is_some() {
        return Ok(None);
    }
    cx.node_matching(affinity, |node| !node.ready)
}

/// Returns the state of the one node that can reach a volume, if helper pods of a provisioner cannot
/// run there or its kubelet does not report: `NAME (cordoned)`.
///
/// # Errors
/// When nodes were not read.
pub fn unusable_host(cx: &Cx, volume: &Volume) -> Seen<Option<(Box<str>, String)>> {
    let Some(affinity) = volume.node_affinity.as_ref().filter(|it| names_hosts(it)) else {
        return Ok(None);
    };
    if cx.node_matching(affinity, |node| node.ready && !node.unschedulable)?.is_some() {
        return Ok(None);
    }
    let Some(node) = cx.node_matching(affinity, |_| true)? else { return Ok(None) };
    let state = match (node.ready, node.unschedulable) {
        (true, _) => "cordoned",
        (false, true) => "not Ready, and cordoned",
        (false, false) => "not Ready",
    };
    Ok(Some((node.metadata.name.clone(), state.to_owned())))
}

/// Whether the data of a volume is a path of the nodes that its node affinity requires by name: it
/// exists on no other machine.
pub fn lies_on_node(volume: &Volume) -> bool {
    matches!(volume.source, VolumeSource::Local(_) | VolumeSource::HostPath(_))
        && volume.node_affinity.as_ref().is_some_and(|it| names_hosts(it))
}

/// Whether every term of an affinity requires hosts by name.
pub fn names_hosts(affinity: &NodeAffinity) -> bool {
    let names_one = |term: &NodeTerm| {
        let named = |key: &str, by: &str, operator: &str| key == by && operator == "In";
        term.labels.iter().any(|it| named(&it.key, "kubernetes.io/hostname", &it.operator))
            || term.fields.iter().any(|it| named(&it.key, "metadata.name", &it.operator))
    };
    affinity.terms.iter().all(names_one)
}

//! Whether anybody can still reach a volume, and whether a node that cannot be asked may.

use crate::cluster::{Cx, Seen};
use crate::model::{Kind, Node, NodeAffinity, NodeTerm, Volume};

/// What is wrong with a node that somebody names: what runs there cannot be told, and may go on
/// writing (SEMANTICS T32).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeProblem {
    /// There is no such node.
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

/// Returns what is wrong with a node that an object of some kind names.
///
/// # Errors
/// When nodes were not seen, or were listed before what names it.
pub fn node_problem(cx: &Cx, node: &str, named_by: Kind) -> Seen<Option<NodeProblem>> {
    Ok(match cx.node(node, named_by)? {
        None => Some(NodeProblem::Missing),
        Some(node) => (!node.ready).then_some(NodeProblem::NotReady),
    })
}

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

/// Returns a node that is not Ready and must have run the volume's pods: one of the hosts that its
/// node affinity names, or one of those that it leads to, if none of them is Ready.
///
/// A volume that can be reached from a whole zone may have been used from any node of it; what the
/// API still says of that is its attachments.
///
/// # Errors
/// When nodes were not seen.
pub fn unready_host<'a>(cx: &Cx<'a>, volume: &Volume) -> Seen<Option<&'a Node>> {
    let Some(affinity) = &volume.node_affinity else { return Ok(None) };
    if !names_hosts(affinity) && cx.node_matching(affinity, |node| node.ready)?.is_some() {
        return Ok(None);
    }
    cx.node_matching(affinity, |node| !node.ready)
}

/// Whether every alternative of an affinity names its hosts.
fn names_hosts(affinity: &NodeAffinity) -> bool {
    let names_one = |term: &NodeTerm| {
        let named = |key: &str, by: &str, operator: &str| key == by && operator == "In";
        term.labels.iter().any(|it| named(&it.key, "kubernetes.io/hostname", &it.operator))
            || term.fields.iter().any(|it| named(&it.key, "metadata.name", &it.operator))
    };
    affinity.terms.iter().all(names_one)
}

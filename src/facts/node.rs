//! Nodes and `VolumeAttachment`s: whether a node matches the affinity of a volume, is missing or not
//! ready; whether a volume may be attached, whatever the status, and why detaching waits (R-SUP-1).

use super::{
    Owner, attacher, controller_settings, finalizer::has_attacher_finalizer, provisioning_family,
};
use crate::cluster::{Cx, Seen};
use crate::model::{
    Attachment, AttachmentSource, Kind, Liveness, Node, NodeAffinity, NodeTerm, PodUse, Text,
    Volume, VolumeSource,
};

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
    /// Describes the problem, in words that follow the node's name.
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

/// Whether the data of a volume is a path of the nodes that its node affinity requires by name, so that it exists on no
/// other machine.
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

/// Whether the volume may be attached to the node, whatever `status.attached` is.
///
/// The attacher sets its finalizer before it asks the driver to attach, and removes it only after
/// the driver has detached (external-attacher `csi_handler.go`, `util.go` `markAsDetached`). For a
/// driver that has no attach operation it sets none, and the attachment counts as attached until it
/// is deleted.
pub fn may_be_attached(attachment: &Attachment) -> bool {
    has_attacher_finalizer(&attachment.metadata)
        || attachment.attached && attachment.metadata.deleting.is_none()
}

/// Returns the state of a node that an object of this kind references, in words; `None` if the node
/// does not exist.
///
/// # Errors
/// When nodes were not read, or its absence is not proven.
pub fn node_state(cx: &Cx, name: &str, named_by: Kind) -> Seen<Option<String>> {
    let Some(node) = cx.node(name, named_by)? else { return Ok(None) };
    let mut state = if node.ready { "Ready" } else { "not Ready" }.to_owned();
    if node.unschedulable {
        state.push_str(", cordoned");
    }
    if node.out_of_service {
        state.push_str(", tainted out-of-service");
    }
    Ok(Some(state))
}

/// Returns what ends an attachment of a volume that is to be deleted: the next step, which is another
/// one for each state of the attachment.
///
/// `status.attached` proves nothing: the finalizer of the attacher tells whether there is something
/// to detach.
pub fn how_to_detach(cx: &Cx, attachment: &Attachment) -> String {
    let (object, node, driver) = (attachment.object(), &attachment.node, &attachment.attacher);
    if attachment.metadata.deleting.is_some() {
        let liveness = attacher(cx, driver).liveness;
        let waits = detaching_waits_for(cx, attachment, liveness);
        return format!("{waits}; see `kubectl storage fix-finalizers {object}`");
    }
    let volume = match &attachment.source {
        AttachmentSource::Volume(name) => cx.volume(name).ok().flatten(),
        AttachmentSource::Inline { .. } | AttachmentSource::None => None,
    };
    let pods = volume.and_then(|it| it.claim_ref.as_ref()).map(|claim| cx.pods_of(&claim.key));
    let unless = match pods {
        Some(Ok(pods)) => match pods.iter().find(|pod| pod.node.as_ref() == Some(node)) {
            Some(pod) => {
                return format!(
                    "{} uses the volume on node {node}; delete that pod first",
                    pod.object()
                );
            }
            None => format!("once node {node} does not list the volume in status.volumesInUse"),
        },
        Some(Err(_)) | None => format!("once no pod uses the volume on node {node}"),
    };
    match has_attacher_finalizer(&attachment.metadata) {
        true => format!(
            "{unless}, `kubectl delete {object}`, and the external-attacher of {driver} detaches it"
        ),
        false => format!(
            "{unless}, `kubectl delete {object}`: external-attacher did not set its finalizer on it, so there is nothing to detach"
        ),
    }
}

/// Returns what the detachment of a volume waits for if the volume exists, as far as is known, and the advice about it
/// (F81).
pub fn detaching_waits_for(cx: &Cx, attachment: &Attachment, attacher: Liveness) -> String {
    let (driver, name) = (&attachment.attacher, &attachment.node);
    let who = format!("external-attacher of {driver}");
    if attacher == Liveness::Absent {
        return format!("{who} is absent: reinstall the driver, so that it detaches the volume");
    }
    let node = cx.node(name, Kind::VolumeAttachment);
    let is_off = node_is_off(cx, name, None);
    match (&attachment.detach_error, node) {
        (Some(error), Ok(None)) => format!(
            "{who} reports \"{error}\", and node {name} does not exist: fix this error, or upgrade external-attacher; only if \
             the storage backend shows the volume as detached, remove its finalizer by hand"
        ),
        (Some(error), Ok(Some(node))) if !node.ready && !node.out_of_service => {
            format!("{who} reports \"{error}\", and node {name} is not Ready: {is_off}")
        }
        (Some(error), Ok(Some(_)) | Err(_)) => {
            format!("{who} reports \"{error}\": fix this error, external-attacher retries")
        }
        (None, Ok(None)) => format!(
            "node {name} does not exist, and {who} has not confirmed the detachment: look at its log"
        ),
        (None, Ok(Some(node))) if node.out_of_service => format!(
            "node {name} is tainted out-of-service, and {who} has not confirmed the detachment: look at its log"
        ),
        (None, Ok(Some(node))) if !node.ready => format!("node {name} is not Ready: {is_off}"),
        (None, Ok(Some(_)) | Err(_)) => {
            format!("{who} has not confirmed the detachment: look at its log")
        }
    }
}

/// Returns the advice that gets the volumes of a node that is not Ready detached. Only an administrator can know that
/// its machine is off; until then it may still write.
pub fn node_is_off(cx: &Cx, node: &str, holder: Option<&PodUse>) -> String {
    // The taint is beta, and on by default, from 1.26 on (NodeOutOfServiceVolumeDetach).
    let tainted = cx.server().and_then(|server| server.at_least(1, 26)) != Some(false);
    let mut ways = Vec::new();
    if tainted {
        ways.push(format!("taint it {OUT_OF_SERVICE}=nodeshutdown:NoExecute"));
    }
    ways.extend(holder.map(|pod| format!("delete {} by force", pod.object())));
    ways.push("delete the node".to_owned());
    let last = ways.pop().unwrap_or_default();
    let ways = if ways.is_empty() { last } else { format!("{} or {last}", ways.join(", ")) };
    format!("bring node {node} back, or, once its machine is known to be off, {ways}")
}

/// The taint by which an administrator asserts that a node is off.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Metadata, Time};

    fn attachment(attached: bool, finalizer: bool, deleting: bool) -> Attachment {
        let finalizers: &[&str] = if finalizer { &["external-attacher/d-example"] } else { &[] };
        Attachment {
            metadata: Metadata {
                finalizers: finalizers.iter().map(|it| (*it).into()).collect(),
                deleting: deleting.then_some(Time::UNIX_EPOCH),
                ..Metadata::default()
            },
            attacher: "d.example".into(),
            attached,
            ..Attachment::sample()
        }
    }

    #[test]
    fn the_finalizer_tells_more_than_the_status() {
        for (attached, finalizer, deleting, may_be) in [
            (true, true, false, true),
            (false, true, false, true),
            (false, true, true, true),
            (true, true, true, true),
            (true, false, true, false),
            (true, false, false, true),
            (false, false, false, false),
            (false, false, true, false),
        ] {
            let row = attachment(attached, finalizer, deleting);
            assert_eq!(may_be_attached(&row), may_be, "{row:?}");
        }
    }
}

//! `VolumeAttachment`s: whether the volume may be attached, whatever the status, and why detaching
//! waits (R-SUP-1).

use super::{attacher, finalizer::has_attacher_finalizer};
use crate::cluster::{Cx, Seen};
use crate::model::{Attachment, AttachmentSource, Kind, Liveness, PodUse};

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

/// Returns what detaching waits for if the volume exists, as far as is known, and what to do about
/// it (F81).
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

/// What has the volumes of a node that is not Ready detached. Only an administrator can know that its
/// machine is off; until then it may still write.
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
    use crate::model::{AttachmentSource, Metadata, Time};

    fn attachment(attached: bool, finalizer: bool, deleting: bool) -> Attachment {
        let finalizers: &[&str] = if finalizer { &["external-attacher/d-example"] } else { &[] };
        Attachment {
            metadata: Metadata {
                finalizers: finalizers.iter().map(|it| (*it).into()).collect(),
                deleting: deleting.then_some(Time::UNIX_EPOCH),
                ..Metadata::default()
            },
            attacher: "d.example".into(),
            node: "node-1".into(),
            source: AttachmentSource::Volume("pv-1".into()),
            attached,
            attach_error: None,
            detach_error: None,
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

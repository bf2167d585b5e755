//! `VolumeAttachment`s: whether the volume may be attached, whatever the status, and why detaching
//! waits (R-SUP-1).

use super::finalizer::has_attacher_finalizer;
use crate::cluster::{Cx, Seen};
use crate::model::{Attachment, Kind, Liveness};

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

/// Returns what detaching waits for if the volume exists, as far as is known, and what to do about
/// it (F81).
pub fn detaching_waits_for(cx: &Cx, attachment: &Attachment, attacher: Liveness) -> String {
    let node = cx.node(&attachment.node, Kind::VolumeAttachment);
    if attacher == Liveness::Absent {
        return format!(
            "external-attacher of {} is absent: reinstall the driver, so that it detaches the volume",
            attachment.attacher
        );
    }
    if let Some(error) = &attachment.detach_error {
        return format!("detaching failed, and external-attacher retries: {error}");
    }
    match node {
        Ok(None) => "its node does not exist; the driver must finish detaching".to_owned(),
        Ok(Some(node)) if node.out_of_service => {
            "its node is tainted out-of-service; the driver must finish detaching".to_owned()
        }
        Ok(Some(node)) if !node.ready => {
            "its node is not Ready: restart it or, if it is certainly shut down, taint it \
             node.kubernetes.io/out-of-service"
                .to_owned()
        }
        Ok(Some(_)) | Err(_) => format!(
            "the driver must finish detaching: check the logs of external-attacher of {}",
            attachment.attacher
        ),
    }
}

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

//! What an attachment's record is worth (SEMANTICS R-SUP-1).

use super::finalizer::has_attacher_finalizer;
use crate::cluster::{Cx, Seen};
use crate::model::{Attachment, Kind};

/// Whether the disk may be attached, whatever `status.attached` says.
///
/// The attacher sets its finalizer before it asks the driver to attach, and removes it only after
/// the driver has detached (external-attacher `csi_handler.go`, `util.go` `markAsDetached`). One
/// that has nothing to ask its driver sets none, and what it calls attached is so until deleted.
pub fn may_be_attached(attachment: &Attachment) -> bool {
    has_attacher_finalizer(&attachment.metadata)
        || attachment.attached && attachment.metadata.deleting.is_none()
}

/// Returns the state of the node that an object of a kind names, in words; `None` when it is gone.
///
/// # Errors
/// When nodes were not seen, or its absence is not proven.
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

//! Explanation of a `VolumeAttachment`.

use super::draft::{DELETED, ExplanationDraft};
use super::{controller, error, neighbours};
use crate::cluster::Cx;
use crate::facts;
use crate::model::{Attachment, AttachmentSource, Evidence, Kind, format_time};

pub(super) fn explain(cx: &Cx, attachment: &Attachment) -> ExplanationDraft {
    let mut draft = ExplanationDraft::new(attachment.object());
    draft.status(if attachment.attached { "attached" } else { "not attached" });
    draft.terminating(cx, attachment.metadata.deleting);
    draft.show("status.attached", if attachment.attached { "true" } else { "false" });
    draft.show("spec.attacher", &*attachment.attacher);
    draft.show("spec.nodeName", &*attachment.node);
    if let Some(time) = &attachment.metadata.deleting {
        draft.show("metadata.deletionTimestamp", format_time(time));
    }
    draft.show("metadata.finalizers", attachment.metadata.finalizers.join(", "));
    volume(cx, attachment, &mut draft);
    let node = match draft.seen(facts::node_state(cx, &attachment.node, Kind::VolumeAttachment)) {
        None => "not read".to_owned(),
        Some(None) => "does not exist".to_owned(),
        Some(Some(state)) => state,
    };
    draft.field("node", format!("{} ({node})", attachment.node));
    machine(cx, &attachment.node, &mut draft);
    draft.field("driver", &*attachment.attacher);
    if facts::may_be_attached(attachment) != attachment.attached {
        draft.field(
            "by finalizers",
            match facts::may_be_attached(attachment) {
                true => "may be attached: external-attacher has not confirmed that it is detached",
                false => "not attached",
            },
        );
    }
    draft.finalizers(&attachment.metadata, &[]);
    deleted(attachment, &mut draft);
    controller::of_attachment(cx, attachment, &mut draft);
    neighbours::around_attachment(cx, &attachment.source, &mut draft);
    let driver = neighbours::provisioner(cx, &attachment.attacher);
    draft.hangs_on(driver);
    error::of_attachment(cx, attachment, &mut draft);
    draft
}

/// Adds the machine of the node, as its provider names it: there the volume may have to be detached.
fn machine(cx: &Cx, name: &str, draft: &mut ExplanationDraft) {
    let Ok(Some(node)) = cx.node(name, Kind::VolumeAttachment) else { return };
    let known = cx.cluster().has_identity().then_some("<none>");
    let Some(value) = node.provider_id.as_deref().or(known) else { return };
    let object = format!("{}/{name}", Kind::Node.short());
    let evidence = Evidence { object, field: "spec.providerID", value: value.to_owned() };
    draft.explanation.state.push(evidence);
    if let Some(machine) = &node.provider_id {
        draft.field("machine", &**machine);
    }
}

/// Adds the volume, and the pods that use it on the node.
fn volume(cx: &Cx, attachment: &Attachment, draft: &mut ExplanationDraft) {
    let name = match &attachment.source {
        AttachmentSource::Volume(name) => name,
        AttachmentSource::Inline { driver, handle } => {
            draft.show("spec.source", format!("inline, {driver} {handle}"));
            draft.field("volume", format!("inline, {driver} {handle}"));
            return;
        }
        AttachmentSource::None => {
            draft.show("spec.source", "<none>");
            draft.field("volume", "none");
            return;
        }
    };
    draft.show("spec.source", format!("pv/{name}"));
    let found = draft.seen(cx.attached_volume(name));
    let state = match found {
        None => "not read".to_owned(),
        Some(None) => "does not exist".to_owned(),
        Some(Some(volume)) => {
            let terminating = if volume.metadata.deleting.is_some() { ", Terminating" } else { "" };
            format!("{}{terminating}, policy {}", volume.phase, volume.reclaim_policy)
        }
    };
    draft.field("volume", format!("{name} ({state})"));
    let Some(claim) = found.flatten().and_then(|it| it.claim_ref.as_ref()) else { return };
    draft.field("claim", claim.key.to_string());
    draft.explanation.looked_at = vec![Kind::Pod];
    for pod in draft.seen(cx.pods_of(&claim.key)).unwrap_or_default() {
        if pod.node.as_ref() == Some(&attachment.node) {
            let how = format!("pod on this node that uses its claim, {}", pod.phase.name());
            draft.user(pod.object(), how, false);
        }
    }
}

fn deleted(attachment: &Attachment, draft: &mut ExplanationDraft) {
    let node = &attachment.node;
    if attachment.metadata.deleting.is_some() {
        draft.outcome(DELETED, None, "unaffected", "already Terminating");
    } else if facts::has_attacher_finalizer(&attachment.metadata) {
        draft.outcome(
            DELETED,
            None,
            "deleted-later",
            format!(
                "external-attacher of {} detaches the volume from node {node}, also under a running pod, then removes its finalizer",
                attachment.attacher
            ),
        );
    } else {
        draft.outcome(
            DELETED,
            None,
            "deleted",
            "no external-attacher finalizer: the object is deleted immediately, and no controller detaches the volume",
        );
    }
}

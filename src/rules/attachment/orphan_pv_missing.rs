//! F80: the volume of a `VolumeAttachment` does not exist any more.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Age, Attachment, AttachmentSource, Finding, Severity};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "va-orphan-pv-missing",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: Node, VolumeAttachment],
    remedies: &[&remedies::FIX_ATTACHMENT],
    title: "An attachment names a volume that does not exist",
    danger: "To detach a disk its attacher needs the volume's object, and without it tries for ever. Until then the \
             disk stays attached to its node, which may have it mounted and write to it, and no other node gets \
             it. This is what is left when somebody removed all finalizers of a volume to get rid of it.",
    remedy: "Create the volume's object again, with its old name, driver and volumeHandle and the reclaim policy \
             Retain, and let the attacher detach it; then remove the object. `fix-finalizers` removes the \
             attacher's finalizer instead only as the last resort: from an attachment that is named and \
             terminating, whose node is gone too. Whether the disk is still attached, only the storage system \
             can tell then.",
    source: "external-attacher csi_handler.go, csiDetach; external-attacher#235",
    judge: &[Judge::Attachment(judge)],
};

fn judge(cx: &Cx, attachment: &Attachment) -> Seen<Option<Finding>> {
    // An attachment with an inline volume source contains everything that detaching needs.
    let AttachmentSource::Volume(volume) = &attachment.source else { return Ok(None) };
    let deleting = attachment.metadata.deleting;
    let guarded = facts::has_attacher_finalizer(&attachment.metadata);
    if !guarded && deleting.is_some() {
        return Ok(None); // It is detached; what keeps the object is something else.
    }
    if cx.attached_volume(volume)?.is_some() {
        return Ok(None);
    }
    let (severity, summary) = match (guarded, deleting) {
        (true, Some(_)) => {
            (Severity::High, "its volume is gone, and without it nobody can detach the disk")
        }
        (true, None) => (
            Severity::High,
            "its volume is gone: the disk may be attached, and nobody could detach it",
        ),
        (false, _) if attachment.attached => {
            (Severity::Medium, "its volume is gone, and it lacks the finalizer of its attacher")
        }
        (false, _) => (Severity::Low, "its volume is gone: it can never be attached"),
    };
    let mut finding = RULE
        .on_attachment(cx, attachment, summary)
        .severe(severity)
        .shows_controller(&facts::attacher(cx, &attachment.attacher));
    if deleting.is_some() {
        finding = finding.aged(Age::stamped(deleting));
    }
    Ok(Some(finding.remedied_by(cx, attachment, &remedies::FIX_ATTACHMENT)))
}

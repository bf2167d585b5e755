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
    title: "A VolumeAttachment references a PersistentVolume that does not exist",
    danger: "Without the PersistentVolume, external-attacher cannot detach it, and retries for ever. \
             Until then the volume stays attached to its node, which may have it mounted and write to it, and \
             no other node gets it. This is the result of removing all finalizers of a PersistentVolume by \
             hand.",
    remedy: "Recreate the PersistentVolume with its old name, driver and volume handle and with policy \
             Retain: `fix-finalizers volumeattachment/NAME --from FILE`. external-attacher then detaches it; \
             delete the object afterwards. Only as the last resort `fix-finalizers` removes the finalizer of \
             external-attacher instead: from a VolumeAttachment that is named and Terminating and whose node \
             does not exist either. Then only the storage backend shows whether the volume is still attached.",
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
    let node = &attachment.node;
    let (severity, state) = match (guarded, deleting) {
        (true, Some(_)) => (
            Severity::High,
            format!("external-attacher cannot detach it from node {node} without this object"),
        ),
        (true, None) => (
            Severity::High,
            format!(
                "it may be attached to node {node}, and could not be detached without this object"
            ),
        ),
        (false, _) if attachment.attached => (
            Severity::Medium,
            format!("attached to node {node}, without a finalizer of external-attacher"),
        ),
        (false, _) => (Severity::Low, format!("it can never be attached to node {node}")),
    };
    let summary = format!("PersistentVolume {volume} does not exist: {state}");
    let mut finding = RULE
        .on_attachment(cx, attachment, summary)
        .severe(severity)
        .shows_controller(&facts::attacher(cx, &attachment.attacher));
    if deleting.is_some() {
        finding = finding.aged(Age::stamped(deleting));
    }
    Ok(Some(finding.remedied_by(cx, attachment, &remedies::FIX_ATTACHMENT)))
}

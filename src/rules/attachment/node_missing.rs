//! F82: the node of a `VolumeAttachment` does not exist any more.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Age, Attachment, Finding, Kind, Severity, Threshold};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "va-node-missing",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: Node, VolumeAttachment],
    remedies: &[&remedies::FIX_ATTACHMENT],
    title: "A VolumeAttachment references a node that does not exist",
    danger: "Whether only the Node object was deleted, or the machine too, is unknown: it may return, and \
             write to a volume that another node has by then. Until the volume is detached, no other node \
             gets a volume that only one node can have.",
    remedy: "The attach/detach controller waits six minutes for such a node and then deletes the \
             VolumeAttachment itself. Once the machine is known to be off, `fix-finalizers` deletes a \
             VolumeAttachment that is named, and external-attacher detaches the volume. The tool refuses that \
             while external-attacher is absent, a pod of that node uses the volume, or the volume does not \
             exist.",
    source: "kubernetes attachdetach reconciler.go, maxWaitForUnmountDuration",
    judge: &[Judge::Attachment(judge)],
};

fn judge(cx: &Cx, attachment: &Attachment) -> Seen<Option<Finding>> {
    let deleting = Age::stamped(attachment.metadata.deleting);
    if deleting.since.is_some() && !cx.older_than(&deleting, Threshold::Detach) {
        return Ok(None); // It is just being detached.
    }
    if cx.node(&attachment.node, Kind::VolumeAttachment)?.is_some() {
        return Ok(None);
    }
    let node = &attachment.node;
    let state = match (facts::may_be_attached(attachment), deleting.since) {
        (true, None) => "the volume may still be attached to its machine".to_owned(),
        (true, Some(_)) => match &attachment.detach_error {
            Some(error) => format!("detaching fails ({})", facts::brief_error(error)),
            None => "the detachment is not confirmed".to_owned(),
        },
        (false, None) => "nothing was attached".to_owned(),
        (false, Some(_)) => "the volume is detached".to_owned(),
    };
    let summary = format!("node {node} does not exist: {state}");
    Ok(Some(
        RULE.on_attachment(cx, attachment, summary)
            .shows_controller(&facts::attacher(cx, &attachment.attacher))
            .remedied_by(cx, attachment, &remedies::FIX_ATTACHMENT),
    ))
}

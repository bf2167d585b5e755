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
    title: "An attachment names a node that does not exist",
    danger: "Whether the machine is gone, or only its object, cannot be seen from here: it may come back, and \
             write to a disk that another node has by then. Until it is detached, no other node gets a volume \
             that only one may have.",
    remedy: "The attach/detach controller waits six minutes for such a node and then deletes the attachment itself. \
             Once the machine is known to be off, `fix-finalizers` deletes an attachment that is named in the \
             ordinary way, and its attacher detaches the disk: not while its attacher is absent, a pod is said to \
             run there, or its volume is gone.",
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
    let summary = match (facts::may_be_attached(attachment), deleting.since) {
        (true, None) => "its node is gone, and the disk may still be attached to the machine",
        (true, Some(_)) => {
            "its node is gone, and the disk has not been detached from the machine yet"
        }
        (false, None) => "its node is gone, and nothing was attached",
        (false, Some(_)) => "its node is gone and the disk is detached",
    };
    Ok(Some(
        RULE.on_attachment(cx, attachment, summary)
            .shows_controller(&facts::attacher(cx, &attachment.attacher))
            .remedied_by(cx, attachment, &remedies::FIX_ATTACHMENT),
    ))
}

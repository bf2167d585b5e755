//! F81: a `VolumeAttachment` is Terminating for longer than the threshold.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Age, Attachment, Finding, Severity, Threshold};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "va-stuck-detaching",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: Node, VolumeAttachment],
    remedies: &[&remedies::FIX_ATTACHMENT],
    title: "A volume has been detaching from its node for long",
    danger: "Until it is detached, no other node gets a volume that only one may have: pods that moved away wait. \
             Forcing it while the node may still write to the disk destroys data.",
    remedy: "Forced, never: the finalizer is the attacher's to remove. What is shown is what the driver last said, \
             and whether node and attacher are there. Where a node is known to be off, its administrator can tell \
             Kubernetes so with the taint node.kubernetes.io/out-of-service. A finalizer of others on a disk \
             that is detached is removed by its name: --remove-finalizer.",
    source: "external-attacher csi_handler.go, syncDetach; attachdetach reconciler.go",
    judge: &[Judge::Attachment(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "what every judge returns")]
fn judge(cx: &Cx, attachment: &Attachment) -> Seen<Option<Finding>> {
    let age = Age::stamped(attachment.metadata.deleting);
    if !cx.older_than(&age, Threshold::Detach) {
        return Ok(None);
    }
    let attacher = facts::attacher(cx, &attachment.attacher);
    let summary = match facts::may_be_attached(attachment) {
        true => "has been detaching for long",
        false => "is detached, and something else keeps the object",
    };
    Ok(Some(
        RULE.on_attachment(cx, attachment, summary)
            .aged(age)
            .shows_controller(&attacher)
            .remedied_by(cx, attachment, &remedies::FIX_ATTACHMENT),
    ))
}

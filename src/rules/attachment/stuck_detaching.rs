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
    title: "A VolumeAttachment is Terminating for longer than the threshold",
    danger: "Until the volume is detached, no other node gets it if only one node can have it: pods that were \
             moved wait. Forcing the detachment while the node may still write to the volume damages the \
             data.",
    remedy: "The tool never removes the finalizer of external-attacher here. The finding shows the last error \
             of the driver, and whether node and external-attacher are running. If the machine is known to be \
             off, taint its node node.kubernetes.io/out-of-service. A third-party finalizer on a detached \
             VolumeAttachment is removed by its name: --remove-finalizer.",
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
    let node = &attachment.node;
    let summary = match (facts::may_be_attached(attachment), &attachment.detach_error) {
        (true, Some(error)) => {
            format!("Terminating, not detached from node {node}: {}", facts::brief_error(error))
        }
        (true, None) => format!("Terminating, but not confirmed as detached from node {node}"),
        (false, _) => {
            format!("Terminating and detached from node {node}, blocked by other finalizers")
        }
    };
    Ok(Some(
        RULE.on_attachment(cx, attachment, summary)
            .aged(age)
            .shows_controller(&attacher)
            .remedied_by(cx, attachment, &remedies::FIX_ATTACHMENT),
    ))
}

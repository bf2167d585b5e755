//! F83: a volume is attached to a node on which no pod uses it.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{
    Age, Attachment, AttachmentSource, Finding, Kind, Phase, Severity, Threshold, Trust,
};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "va-not-referenced",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::None,
    needs: &[
        Kind::PersistentVolume,
        Kind::PersistentVolumeClaim,
        Kind::Pod,
        Kind::Node,
        Kind::VolumeAttachment,
    ],
    remedies: &[],
    title: "A VolumeAttachment remains for a node on which no pod uses the volume",
    danger: "It occupies one of the few volumes that a node can have attached. If only one node can have the \
             volume, a pod on another node waits for it.",
    remedy: "The tool changes nothing: the attach/detach controller detaches what no pod uses, after kubelet \
             has unmounted it. It does not know VolumeAttachments that another program created while it was \
             running.",
    source: "kubernetes attachdetach reconciler.go",
    judge: &[Judge::Attachment(judge)],
};

fn judge(cx: &Cx, attachment: &Attachment) -> Seen<Option<Finding>> {
    let AttachmentSource::Volume(volume) = &attachment.source else { return Ok(None) };
    // When the last pod was deleted is unknown: at the earliest when the attachment was created.
    let made = Age { since: attachment.metadata.created, trust: Trust::LowerBound };
    if attachment.metadata.deleting.is_some() || !cx.older_than(&made, Threshold::Detach) {
        return Ok(None);
    }
    // A node that does not exist is another finding (F82), and the cause.
    if matches!(cx.node(&attachment.node, Kind::VolumeAttachment), Ok(None)) {
        return Ok(None);
    }
    let Some(volume) = cx.attached_volume(volume)? else { return Ok(None) };
    let Some(claim) = volume.claim_ref.as_ref().filter(|_| volume.phase == Phase::Bound) else {
        return Ok(None);
    };
    let pods = cx.pods_of(&claim.key)?;
    if pods.iter().any(|pod| pod.node.as_ref() == Some(&attachment.node)) {
        return Ok(None);
    }
    // If the server records it, the condition Unused shows since when no pod has used the claim.
    let unused = cx.claim(&claim.key)?.and_then(|claim| claim.condition("Unused"));
    let since = unused.and_then(|condition| condition.since);
    let age = since.map(|since| Age { since: Some(since), trust: Trust::SingleSource });
    if age.is_some_and(|age| !cx.older_than(&age, Threshold::Detach)) {
        return Ok(None);
    }
    let elsewhere = pods.iter().map(|pod| pod.object());
    let node = &attachment.node;
    let summary = match attachment.attached {
        true => format!("attached to node {node}, where no pod of its claim runs"),
        // The driver may have been asked to attach it all the same.
        false => {
            format!("not confirmed as attached to node {node}, where no pod of its claim runs")
        }
    };
    let mut finding = RULE
        .on_attachment(cx, attachment, summary)
        .shows_of(&volume.object(), "spec.claimRef", claim.key.to_string())
        .relates([volume.object()])
        .relates(elsewhere);
    if let Some(age) = age {
        finding = finding.aged(age);
    }
    let (name, begun) = (attachment.object(), facts::has_attacher_finalizer(&attachment.metadata));
    Ok(Some(finding.report_only(match (attachment.attached, begun) {
        (false, false) => format!(
            "external-attacher has not begun to attach it: if kube-controller-manager does not delete it, `kubectl delete {name}`"
        ),
        (true, _) | (false, true) => format!(
            "kube-controller-manager deletes it after kubelet has unmounted the volume; if it does not, and node {node} does \
             not list the volume in status.volumesInUse, `kubectl delete {name}` has external-attacher detach it"
        ),
    })))
}

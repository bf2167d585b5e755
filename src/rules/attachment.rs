//! Findings about attachments.

use super::{CapacityRisk, Judge, Rule};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{
    Age, Attachment, AttachmentSource, Finding, Kind, Phase, Severity, Threshold, Trust,
};
use crate::remedies;

/// The rules about attachments, in the order of the documentation.
pub(super) static RULES: &[&Rule] =
    &[&ORPHAN_PV_MISSING, &STUCK_DETACHING, &NODE_MISSING, &NOT_REFERENCED];

/// F80: the volume of a `VolumeAttachment` does not exist any more.
static ORPHAN_PV_MISSING: Rule = Rule {
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
    judge: &[Judge::Attachment(orphan_pv_missing)],
};

fn orphan_pv_missing(cx: &Cx, attachment: &Attachment) -> Seen<Option<Finding>> {
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
    let mut finding = ORPHAN_PV_MISSING
        .on_attachment(cx, attachment, summary)
        .severe(severity)
        .shows_controller(&facts::attacher(cx, &attachment.attacher));
    if deleting.is_some() {
        finding = finding.aged(Age::stamped(deleting));
    }
    Ok(Some(finding.remedied_by(cx, attachment, &remedies::FIX_ATTACHMENT)))
}

/// F81: a `VolumeAttachment` is Terminating for longer than the threshold.
static STUCK_DETACHING: Rule = Rule {
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
    judge: &[Judge::Attachment(stuck_detaching)],
};

#[expect(clippy::unnecessary_wraps, reason = "what every judge returns")]
fn stuck_detaching(cx: &Cx, attachment: &Attachment) -> Seen<Option<Finding>> {
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
        STUCK_DETACHING
            .on_attachment(cx, attachment, summary)
            .aged(age)
            .shows_controller(&attacher)
            .remedied_by(cx, attachment, &remedies::FIX_ATTACHMENT),
    ))
}

/// F82: the node of a `VolumeAttachment` does not exist any more.
static NODE_MISSING: Rule = Rule {
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
    judge: &[Judge::Attachment(node_missing)],
};

fn node_missing(cx: &Cx, attachment: &Attachment) -> Seen<Option<Finding>> {
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
        NODE_MISSING
            .on_attachment(cx, attachment, summary)
            .shows_controller(&facts::attacher(cx, &attachment.attacher))
            .remedied_by(cx, attachment, &remedies::FIX_ATTACHMENT),
    ))
}

/// F83: a volume is attached to a node on which no pod uses it.
static NOT_REFERENCED: Rule = Rule {
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
    judge: &[Judge::Attachment(not_referenced)],
};

fn not_referenced(cx: &Cx, attachment: &Attachment) -> Seen<Option<Finding>> {
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
    let mut finding = NOT_REFERENCED
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

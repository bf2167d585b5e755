//! F81: an attachment that should be gone, and is not.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{
    Age, Attachment, AttachmentSource, Finding, Kind, Liveness, Severity, Threshold,
};
use crate::rules::{Judge, Rule, Stake};

pub(super) static RULE: Rule = Rule {
    id: "va-stuck-detaching",
    severity: Severity::Medium,
    stake: Stake::None,
    needs: &[
        Kind::PersistentVolume,
        Kind::Pod,
        Kind::Node,
        Kind::CsiDriver,
        Kind::CsiNode,
        Kind::VolumeAttachment,
        Kind::StatefulSet,
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::DaemonSet,
        Kind::Lease,
        Kind::Event,
    ],
    remedies: &[],
    title: "A volume has been detaching from its node for long",
    danger: "Until it is detached, no other node gets a volume that only one may have: pods that moved away wait. \
             Forcing it while the node may still write to the disk destroys data.",
    remedy: "None by the tool. The evidence shows what the driver last said, and whether node and attacher are \
             there. Where a node is known to be off, its administrator can tell Kubernetes so with the taint \
             node.kubernetes.io/out-of-service; the attachment's finalizer is the attacher's to remove.",
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
    let held = facts::may_be_attached(attachment);
    let (summary, reason) = if held {
        ("has been detaching for long", waits_for(cx, attachment, attacher.liveness))
    } else {
        let keepers = attachment.metadata.finalizers.join(", ");
        let reason = format!("it is not attached any more: whoever set {keepers} has to remove it");
        ("is detached, and something else keeps the object", reason)
    };
    Ok(Some(
        RULE.on_attachment(cx, attachment, summary)
            .aged(age)
            .shows_controller(&attacher)
            .report_only(reason),
    ))
}

/// What detaching waits for, as far as it shows, and what to do about it.
fn waits_for(cx: &Cx, attachment: &Attachment, attacher: Liveness) -> String {
    let volume_gone = match &attachment.source {
        AttachmentSource::Volume(name) => cx.attached_volume(name).is_ok_and(|it| it.is_none()),
        AttachmentSource::Inline { .. } | AttachmentSource::None => false,
    };
    let node = cx.node(&attachment.node, Kind::VolumeAttachment);
    if volume_gone {
        return "its volume is gone: create the object again, so that it can be detached"
            .to_owned();
    }
    if attacher == Liveness::Absent {
        return format!(
            "the attacher of {} is gone: reinstall the driver, and let it detach",
            attachment.attacher
        );
    }
    if let Some(error) = &attachment.detach_error {
        return format!("the driver fails to detach it, and is asked again: {error}");
    }
    match node {
        Ok(None) => "its node is gone; the driver has to finish".to_owned(),
        Ok(Some(node)) if node.out_of_service => {
            "its node is marked as out of service; the driver has to finish".to_owned()
        }
        Ok(Some(node)) if !node.ready => {
            "its node is not Ready: bring it back, or, knowing that it is off, taint it \
             node.kubernetes.io/out-of-service"
                .to_owned()
        }
        Ok(Some(_)) | Err(_) => format!(
            "the driver has to finish: look at the logs of the attacher of {}",
            attachment.attacher
        ),
    }
}

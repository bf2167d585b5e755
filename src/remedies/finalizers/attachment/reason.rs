//! The sentences for the decisions about attachments.

use super::super::describe_third_party;
use super::table::{AttachmentReason, AttachmentStep};
use super::{AttachmentEvidence, own_finalizer};
use crate::cluster::Cx;
use crate::facts::{self, FinalizerController, FinalizerOwner};
use crate::model::{Attachment, AttachmentSource, Effect, Text, Threshold, format_duration};

/// Returns the effect of a step.
pub(super) fn effect(attachment: &Attachment, step: AttachmentStep) -> Effect {
    let (driver, node) = (&attachment.attacher, &attachment.node);
    let (what, risk) = match step {
        AttachmentStep::Delete => (
            format!(
                "deletes the attachment: the attacher of {driver} detaches the disk from {node}, and lets the object go"
            ),
            "the machine may still run, or come back, and write to a disk that another node has by then",
        ),
        AttachmentStep::RemoveItsAttachers => (
            format!(
                "removes the finalizer of the attacher of {driver}: the object goes, and nobody detaches the disk from {node}"
            ),
            "if the machine still runs, two nodes may write to one disk",
        ),
        AttachmentStep::RemoveThirdParty => return refused(attachment),
    };
    Effect { what, risk: risk.to_owned() }
}

/// Returns the effect of removing all its finalizers, for a refusal.
pub(super) fn refused(attachment: &Attachment) -> Effect {
    let finalizers = attachment.metadata.finalizers.join(", ");
    let what = match (finalizers.is_empty(), attachment.metadata.deleting.is_some()) {
        (true, _) => "deletes the attachment: its attacher detaches the disk".to_owned(),
        (false, true) => format!("removes {finalizers}: the object goes"),
        (false, false) => {
            "deletes the attachment: its attacher detaches the disk, and lets the object go"
                .to_owned()
        }
    };
    let risk = match facts::may_be_attached(attachment) {
        true => "if a node still writes to the disk, two nodes may write to one disk",
        false => "what the owner of a finalizer wanted to finish is skipped",
    };
    Effect { what, risk: risk.to_owned() }
}

/// Returns the notice about a step.
pub(super) fn notice(attachment: &Attachment, step: AttachmentStep) -> Option<String> {
    let (name, node) = (attachment.object(), &attachment.node);
    match step {
        AttachmentStep::Delete => {
            Some(format!("no/{node} may come back: make sure that the machine is off"))
        }
        AttachmentStep::RemoveItsAttachers => Some(format!(
            "the last resort: where it is known what {} named, `fix-finalizers {name} --from FILE` has the disk detached; \
             otherwise look at the storage system for where it is attached",
            volume_of(attachment)
        )),
        AttachmentStep::RemoveThirdParty => None,
    }
}

/// Explains why an attachment is left, which controller should act, and what to do instead.
pub(super) fn reason(
    cx: &Cx,
    attachment: &Attachment,
    evidence: &AttachmentEvidence,
    why: AttachmentReason,
) -> String {
    let name = attachment.object();
    let attacher = evidence.attacher.describe();
    let reason = match why {
        AttachmentReason::NotTerminating => {
            return format!(
                "nothing holds it: it is not being deleted, and its volume and no/{} are there",
                attachment.node
            );
        }
        AttachmentReason::NothingWasAttached => format!(
            "{} is gone, and nothing was attached: the attachment can be deleted in the ordinary way",
            volume_of(attachment)
        ),
        AttachmentReason::VolumeUnnamed => {
            "it names no volume: what it attaches is not known".to_owned()
        }
        AttachmentReason::VolumeMissing if !facts::has_attacher_finalizer(&attachment.metadata) => {
            format!(
                "{} is gone, and it lacks the finalizer of its attacher: where its driver attaches disks, look at the storage \
             system first; otherwise the attachment can be deleted in the ordinary way",
                volume_of(attachment)
            )
        }
        AttachmentReason::VolumeMissing => format!(
            "{} is gone, and without it nobody can detach the disk: create it again with `fix-finalizers {name} --from FILE` \
             (a saved manifest, or the one that the journal kept), so that its attacher detaches it",
            volume_of(attachment)
        ),
        AttachmentReason::PodExists => {
            let pod = evidence.pod.as_ref().map_or_else(String::new, ToString::to_string);
            format!(
                "its node is gone, but {pod} is said to run there and to use the volume: the machine may still write to it"
            )
        }
        AttachmentReason::AttacherAbsent => {
            return format!(
                "its node is gone, and nobody would detach the disk: {attacher}; reinstall the driver first"
            );
        }
        AttachmentReason::Detaching => {
            facts::detaching_waits_for(cx, attachment, evidence.attacher.liveness())
        }
        AttachmentReason::OfAnotherAttacher => {
            "the disk may be attached: another attacher than the one it names holds it".to_owned()
        }
        AttachmentReason::OfGarbageCollector => {
            "only the garbage collector holds it: leave it to kube-controller-manager".to_owned()
        }
        AttachmentReason::NoFinalizer => {
            return "nothing holds it: it is being deleted, and has no finalizer".to_owned();
        }
        AttachmentReason::TooSoon => {
            let threshold = match own_finalizer(attachment) {
                Some(_) => Threshold::Detach,
                None => Threshold::Stuck,
            };
            let least = format_duration(cx.settings().thresholds.get(threshold));
            format!("it has not been terminating for {least} yet: wait")
        }
        AttachmentReason::NeedsFinalizerName => {
            let keepers = attachment.metadata.finalizers.join(", ");
            format!(
                "it is not attached any more: whoever set {keepers} has to remove it; doing so for them needs --remove-finalizer NAME"
            )
        }
        AttachmentReason::NeedsObjectName => match own_finalizer(attachment) {
            Some(_) if attachment.metadata.deleting.is_some() => format!(
                "{} and its node are gone: create the volume again with `fix-finalizers {name} --from FILE`; \
                 as the last resort its finalizer is removed where the attachment is named: `fix-finalizers {name}`",
                volume_of(attachment)
            ),
            Some(_) | None => {
                let first = "make sure that the machine is off, and name the attachment";
                format!("its node is gone: {first}: `fix-finalizers {name}`")
            }
        },
    };
    let each = attachment.metadata.finalizers.iter();
    let each: Vec<_> = each.map(|it| described(cx, attachment, it)).collect();
    match each.is_empty() {
        true => format!("{reason}; {attacher}"),
        false => format!("{reason}; {}", each.join("; ")),
    }
}

/// Describes the controller that should remove a finalizer, and its state.
pub(super) fn described(cx: &Cx, attachment: &Attachment, finalizer: &Text) -> String {
    let who = match facts::owner_of(finalizer) {
        FinalizerOwner::Attacher(_) if own_finalizer(attachment).as_ref() == Some(finalizer) => {
            FinalizerController::attacher(cx, &attachment.attacher).describe()
        }
        FinalizerOwner::Attacher(_) => {
            "the attacher of another driver removes it, and of which is not known".to_owned()
        }
        FinalizerOwner::GarbageCollector => {
            let state = FinalizerController::controller_manager(cx).describe();
            format!("the garbage collector removes it, and {state}")
        }
        FinalizerOwner::Provisioner
        | FinalizerOwner::ControllerManager
        | FinalizerOwner::Cloning
        | FinalizerOwner::Snapshotter
        | FinalizerOwner::Unknown => describe_third_party(&attachment.metadata, finalizer),
    };
    format!("{finalizer}: {who}")
}

fn volume_of(attachment: &Attachment) -> String {
    match &attachment.source {
        AttachmentSource::Volume(name) => format!("pv/{name}"),
        AttachmentSource::Inline { .. } | AttachmentSource::None => "its volume".to_owned(),
    }
}

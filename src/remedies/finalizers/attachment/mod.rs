//! Finalizers of attachments: F80, F81, F82.
//!
//! An attachment has the finalizer of its attacher while the volume may be attached. Only the
//! attacher can detach it, and nearly always should: its finalizer is never removed while the node
//! or the volume exists.

mod reason;
mod table;

use super::super::{Remedy, checks};
use super::FinalizerRequest;
use super::decision::{Consent, FinalizerDecision};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, FinalizerController, FinalizerOwner};
use crate::model::{
    Action, Age, Attachment, AttachmentSource, Kind, ObjectRef, PodUse, Proposal, Refusal, Text,
    Threshold, Undo, Volume,
};
use table::{AttachmentInputs, AttachmentStep, BlockedBy, VolumeOfAttachment, decide};

/// Deletes an attachment that the user names, or removes its finalizers.
pub static REMEDY: Remedy<Attachment> = Remedy {
    id: "fix-attachment-finalizers",
    needs: facts::needs![controller: Node, VolumeAttachment],
    writes: &[("patch", "volumeattachments"), ("delete", "volumeattachments")],
    command: |cx, attachment| {
        let mut command = format!("fix-finalizers {}", attachment.object());
        if let Ok(Ok(proposal)) = propose(cx, attachment, &FinalizerRequest::named()) {
            super::add_flags(cx, &mut command, &proposal.relies_on, None);
        }
        Some(command)
    },
    propose: |cx, attachment| propose(cx, attachment, &FinalizerRequest::named()),
};

/// Proposes or refuses steps for an attachment.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn propose(
    cx: &Cx,
    attachment: &Attachment,
    request: &FinalizerRequest,
) -> Seen<Result<Proposal, Refusal>> {
    let refuse = |reason| Ok(Err(Refusal { reason, effect: reason::refused(attachment) }));
    if let Err(reason) = checks::not_exempt(cx, &attachment.metadata) {
        return refuse(reason);
    }
    let mut after = attachment.clone();
    let (mut steps, mut notices, mut relies_on) = (Vec::new(), Vec::new(), Vec::new());
    let mut effect = None;
    loop {
        let evidence = AttachmentEvidence::of(cx, &after, request)?;
        let step = match decide(evidence.inputs) {
            FinalizerDecision::Do(step) => step,
            FinalizerDecision::Leave(_) if !steps.is_empty() => break,
            FinalizerDecision::Leave(why) => {
                return refuse(reason::reason(cx, &after, &evidence, why));
            }
        };
        let finalizer = match step {
            AttachmentStep::Delete => None,
            AttachmentStep::RemoveItsAttachers => own_finalizer(&after),
            AttachmentStep::RemoveThirdParty => cx.settings().remove_finalizer.clone(),
        };
        effect.get_or_insert_with(|| reason::effect(&after, step));
        notices.extend(reason::notice(&after, step));
        let Some(finalizer) = finalizer else {
            steps.push(Action::DeleteAttachment { attachment: after.object() });
            break;
        };
        if step == AttachmentStep::RemoveThirdParty {
            relies_on.push("--remove-finalizer");
        }
        let kept = after.metadata.finalizers.iter().filter(|it| **it != finalizer).cloned();
        after.metadata.finalizers = kept.collect();
        let object = after.object();
        steps.push(Action::RemoveFinalizer { object, finalizer, guards: Vec::new() });
    }
    let deletes = matches!(steps.last(), Some(Action::DeleteAttachment { .. }));
    let left = after.metadata.finalizers.iter().filter(|_| !deletes);
    notices.extend(left.map(|it| format!("{it} still holds it")));
    Ok(Ok(Proposal {
        steps,
        effect: effect.unwrap_or_else(|| reason::refused(attachment)),
        undo: Undo::Never(match deletes {
            true => "an attachment that is deleted cannot be kept",
            false => "the API server allows no new finalizer on a terminating object",
        }),
        notices,
        relies_on,
        keeps_backend: false,
    }))
}

/// Returns the finalizer of the attacher in `spec.attacher`, where the attachment has it.
fn own_finalizer(attachment: &Attachment) -> Option<Text> {
    let own = facts::attacher_finalizer(&attachment.attacher);
    attachment.metadata.finalizers.iter().find(|it| ***it == *own).cloned()
}

/// The inputs of the table for an attachment, and their evidence.
#[derive(Debug)]
struct AttachmentEvidence {
    inputs: AttachmentInputs,
    pod: Option<ObjectRef>,
    attacher: FinalizerController,
}

impl AttachmentEvidence {
    fn of(cx: &Cx, attachment: &Attachment, request: &FinalizerRequest) -> Seen<Self> {
        let terminating = attachment.metadata.deleting.is_some();
        let (source, volume) = match &attachment.source {
            AttachmentSource::Volume(name) => match cx.attached_volume(name)? {
                Some(volume) => (VolumeOfAttachment::Exists, Some(volume)),
                None => (VolumeOfAttachment::Missing, None),
            },
            AttachmentSource::Inline { .. } => (VolumeOfAttachment::Exists, None),
            AttachmentSource::None => (VolumeOfAttachment::Unnamed, None),
        };
        let blocked_by = blocked_by(attachment);
        let attacher = FinalizerController::attacher(cx, &attachment.attacher);
        // Objects on which the decision does not rest need not be read.
        let needs_node = match (terminating, source) {
            (false, VolumeOfAttachment::Exists | VolumeOfAttachment::Missing)
            | (true, VolumeOfAttachment::Missing) => true,
            (true, VolumeOfAttachment::Exists) | (_, VolumeOfAttachment::Unnamed) => false,
        };
        let node_missing =
            needs_node && cx.node(&attachment.node, Kind::VolumeAttachment)?.is_none();
        let would_delete = !terminating && node_missing && source == VolumeOfAttachment::Exists;
        let pod = if would_delete { pod_on_node(cx, attachment, volume)? } else { None };
        let attacher_absent = would_delete && pod.is_none() && attacher.is_absent(cx)?;
        let third_party = third_party(attachment);
        let named = cx.settings().remove_finalizer.as_ref();
        let threshold = match blocked_by {
            BlockedBy::ItsAttacher | BlockedBy::AnotherAttacher => Threshold::Detach,
            BlockedBy::ThirdParty | BlockedBy::GarbageCollector | BlockedBy::Nothing => {
                Threshold::Stuck
            }
        };
        let inputs = AttachmentInputs {
            terminating,
            volume: source,
            may_be_attached: facts::may_be_attached(attachment),
            blocked_by,
            node_missing,
            pod_exists: pod.is_some(),
            attacher_absent,
            named: request.named,
            consent: Consent::new(named.is_some_and(|it| third_party.contains(&it))),
            waited: cx.older_than(&Age::stamped(attachment.metadata.deleting), threshold),
        };
        Ok(Self { inputs, pod, attacher })
    }
}

/// Returns the finalizers that neither an attacher nor the garbage collector removes.
fn third_party(attachment: &Attachment) -> Vec<&Text> {
    let is_third_party = |it: &&Text| match facts::owner_of(it) {
        FinalizerOwner::Attacher(_) | FinalizerOwner::GarbageCollector => false,
        FinalizerOwner::Provisioner
        | FinalizerOwner::ControllerManager
        | FinalizerOwner::Cloning
        | FinalizerOwner::Snapshotter
        | FinalizerOwner::Unknown => true,
    };
    attachment.metadata.finalizers.iter().filter(is_third_party).collect()
}

/// Returns the finalizer that decides about an attachment.
fn blocked_by(attachment: &Attachment) -> BlockedBy {
    if own_finalizer(attachment).is_some() {
        BlockedBy::ItsAttacher
    } else if facts::has_attacher_finalizer(&attachment.metadata) {
        BlockedBy::AnotherAttacher
    } else if !third_party(attachment).is_empty() {
        BlockedBy::ThirdParty
    } else if attachment.metadata.finalizers.is_empty() {
        BlockedBy::Nothing
    } else {
        BlockedBy::GarbageCollector
    }
}

/// Returns a pod on the node that uses the volume's claim: the machine may run although its Node
/// object does not exist.
fn pod_on_node(
    cx: &Cx,
    attachment: &Attachment,
    volume: Option<&Volume>,
) -> Seen<Option<ObjectRef>> {
    let Some(claim) = volume.and_then(|it| it.claim_ref.as_ref()) else { return Ok(None) };
    let pods = cx.pods_of(&claim.key)?;
    let there = pods.into_iter().find(|pod| pod.node.as_ref() == Some(&attachment.node));
    Ok(there.map(PodUse::object))
}

#[cfg(test)]
mod tests;

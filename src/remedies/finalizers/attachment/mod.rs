//! Finalizers of attachments: F80, F81, F82.
//!
//! An attachment has the finalizer of its attacher while the volume may be attached. Only the
//! attacher can detach it, and nearly always should: its finalizer is never removed while the node
//! or the volume exists.

mod table;

use super::super::{Remedy, checks};
use super::{Consent, FinalizerDecision, FinalizerRequest, describe_third_party};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, FinalizerController, FinalizerOwner};
use crate::model::{
    Action, Age, Attachment, AttachmentSource, Effect, Kind, Loss, ObjectRef, PodUse, Proposal,
    Refusal, Text, Threshold, Undo, Volume, format_duration,
};
use table::{
    AttachmentInputs, AttachmentReason, AttachmentStep, BlockedBy, VolumeOfAttachment, decide,
};

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
    let refuse = |reason| Ok(Err(Refusal { reason, effect: refused(attachment) }));
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
                return refuse(reason(cx, &after, &evidence, why));
            }
        };
        let finalizer = match step {
            AttachmentStep::Delete => None,
            AttachmentStep::RemoveItsAttachers => own_finalizer(&after),
            AttachmentStep::RemoveThirdParty => cx.settings().remove_finalizer.clone(),
        };
        effect.get_or_insert_with(|| effect_of(&after, step));
        notices.extend(notice(&after, step));
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
        effect: effect.unwrap_or_else(|| refused(attachment)),
        undo: Undo::Never(match deletes {
            true => "an attachment that is deleted cannot be kept",
            false => "the API server allows no new finalizer on a terminating object",
        }),
        notices,
        relies_on,
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

/// Returns the finalizer of the attacher in `spec.attacher`, if the attachment has it.
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

/// Returns the effect of a step on an attachment.
fn effect_of(attachment: &Attachment, step: AttachmentStep) -> Effect {
    let (driver, node) = (&attachment.attacher, &attachment.node);
    let (what, risk) = match step {
        AttachmentStep::Delete => (
            format!(
                "deletes the VolumeAttachment: external-attacher of {driver} detaches the volume from node {node}, and removes \
                 its finalizer"
            ),
            "the machine may still run, or return, and write to a volume that another node has by then",
        ),
        AttachmentStep::RemoveItsAttachers => (
            format!(
                "removes the finalizer of external-attacher of {driver}: the object is deleted, and no controller detaches the \
                 volume from node {node}"
            ),
            "if the machine still runs, two nodes may write to one volume",
        ),
        AttachmentStep::RemoveThirdParty => return refused(attachment),
    };
    Effect { what, risk: risk.to_owned() }
}

/// Returns the effect of removing all finalizers of an attachment, for a refusal.
fn refused(attachment: &Attachment) -> Effect {
    let finalizers = attachment.metadata.finalizers.join(", ");
    let what = match (finalizers.is_empty(), attachment.metadata.deleting.is_some()) {
        (true, _) => "deletes the VolumeAttachment".to_owned(),
        (false, true) => format!("removes {finalizers}: the object is deleted"),
        (false, false) => {
            "deletes the VolumeAttachment: external-attacher detaches the volume, and removes its finalizer"
                .to_owned()
        }
    };
    let risk = match facts::may_be_attached(attachment) {
        true => "if a node still writes to the volume, two nodes may write to it",
        false => "the cleanup that a finalizer stands for is skipped",
    };
    Effect { what, risk: risk.to_owned() }
}

/// Returns the notice about a step.
fn notice(attachment: &Attachment, step: AttachmentStep) -> Option<String> {
    let node = &attachment.node;
    match step {
        AttachmentStep::Delete => {
            Some(format!("no/{node} may return: make sure that the machine is off"))
        }
        AttachmentStep::RemoveItsAttachers => Some(format!(
            "the last resort: if a manifest of {} exists, as {file}, `{fix} --from {file}` has the volume detached; \
             otherwise see at the storage backend where it is attached",
            volume_of(attachment),
            fix = fix(attachment),
            file = manifest(attachment)
        )),
        AttachmentStep::RemoveThirdParty => None,
    }
}

/// Explains why an attachment is left, which controller should act, and what to do instead.
fn reason(
    cx: &Cx,
    attachment: &Attachment,
    evidence: &AttachmentEvidence,
    why: AttachmentReason,
) -> String {
    let name = attachment.object();
    let node = &attachment.node;
    let attacher = evidence.attacher.describe();
    let reason = match why {
        AttachmentReason::NotTerminating => return not_terminating(cx, attachment),
        AttachmentReason::NothingWasAttached => format!(
            "{} does not exist, and nothing was attached: `kubectl delete {name}`",
            volume_of(attachment)
        ),
        AttachmentReason::VolumeUnnamed => {
            "spec.source is empty, so what it attaches is unknown: see its creator".to_owned()
        }
        AttachmentReason::VolumeMissing if !facts::has_attacher_finalizer(&attachment.metadata) => {
            format!(
                "{} does not exist, and the finalizer of external-attacher is missing: see at the storage backend whether it is \
                 attached to node {node}; if not, `kubectl delete {name}`",
                volume_of(attachment)
            )
        }
        AttachmentReason::VolumeMissing => format!(
            "{} does not exist, and external-attacher cannot detach it from node {node}{} without that object: recreate it \
             from its manifest, a saved one or the one in the journal, as {file}: `{fix} --from {file}`",
            volume_of(attachment),
            node_state(cx, attachment),
            fix = fix(attachment),
            file = manifest(attachment)
        ),
        AttachmentReason::PodExists => {
            let pod = evidence.pod.as_ref().map_or_else(String::new, ToString::to_string);
            format!(
                "{pod} uses the volume on node {node}: once the machine is known to be off, delete that pod by force first"
            )
        }
        AttachmentReason::AttacherAbsent => {
            "no controller would detach the volume: reinstall the driver first".to_owned()
        }
        AttachmentReason::Detaching => {
            facts::detaching_waits_for(cx, attachment, evidence.attacher.liveness())
        }
        AttachmentReason::OfAnotherAttacher => {
            "the volume may be attached: its finalizer is that of another external-attacher than spec.attacher, whose driver \
             has to detach it"
                .to_owned()
        }
        AttachmentReason::OfGarbageCollector => {
            "only finalizers of the garbage collector remain: kube-controller-manager removes them".to_owned()
        }
        AttachmentReason::NoFinalizer => {
            return "it is Terminating without a finalizer: the API server deletes it".to_owned();
        }
        AttachmentReason::TooSoon => {
            let threshold = match own_finalizer(attachment) {
                Some(_) => Threshold::Detach,
                None => Threshold::Stuck,
            };
            let least = format_duration(cx.settings().thresholds.get(threshold));
            format!("it has not been Terminating for {least} yet: wait")
        }
        AttachmentReason::NeedsFinalizerName => {
            let keepers = attachment.metadata.finalizers.join(", ");
            format!(
                "it is detached: the controller of {keepers} has to remove it; removing it instead requires --remove-finalizer NAME"
            )
        }
        AttachmentReason::NeedsObjectName => match own_finalizer(attachment) {
            Some(_) if attachment.metadata.deleting.is_some() => format!(
                "{} and node {node} do not exist: recreate the volume from its manifest, as {file}, with \
                 `{fix} --from {file}`; as the last resort, `{fix}` removes the finalizer of the named attachment",
                volume_of(attachment),
                fix = fix(attachment),
                file = manifest(attachment)
            ),
            Some(_) | None => format!(
                "node {node} does not exist: make sure that its machine is off, then name the attachment, `{}`",
                fix(attachment)
            ),
        },
    };
    let each = attachment.metadata.finalizers.iter();
    let each: Vec<_> = each.map(|it| described(cx, attachment, it)).collect();
    match each.is_empty() {
        true => format!("{reason}; {attacher}"),
        false => format!("{reason}; {}", each.join("; ")),
    }
}

/// Returns advice about the deletion of an attachment that is not Terminating, and whose volume and node exist.
/// `status.attached: false` proves nothing: the driver may have been asked to attach.
fn not_terminating(cx: &Cx, attachment: &Attachment) -> String {
    let (name, node) = (attachment.object(), &attachment.node);
    let volume = match &attachment.source {
        AttachmentSource::Volume(name) => cx.attached_volume(name).ok().flatten(),
        AttachmentSource::Inline { .. } | AttachmentSource::None => None,
    };
    let state = format!("it is not Terminating, and {} and no/{node} exist", volume_of(attachment));
    let begun = facts::has_attacher_finalizer(&attachment.metadata);
    match (pod_on_node(cx, attachment, volume), begun) {
        (Ok(Some(pod)), _) => format!(
            "{state}: after {pod} is deleted, kube-controller-manager deletes it, and external-attacher detaches the volume"
        ),
        (Ok(None), true) => format!(
            "{state}: kube-controller-manager deletes it after kubelet has unmounted the volume; if it does not, and the node \
             does not list the volume in status.volumesInUse, `kubectl delete {name}` has external-attacher detach it"
        ),
        (Ok(None), false) => format!(
            "{state}: no pod on that node uses the volume, and without a finalizer of external-attacher nothing has to be \
             detached, so `kubectl delete {name}` deletes it"
        ),
        (Err(unseen), _) => format!(
            "{state}: whether a pod on that node uses the volume is unknown ({})",
            unseen.reason
        ),
    }
}

/// Returns the state of the node, in brackets.
fn node_state(cx: &Cx, attachment: &Attachment) -> String {
    match facts::node_state(cx, &attachment.node, Kind::VolumeAttachment) {
        Ok(Some(state)) => format!(" ({state})"),
        Ok(None) => " (does not exist)".to_owned(),
        Err(_) => String::new(),
    }
}

/// Describes the controller that should remove a finalizer, and its state.
fn described(cx: &Cx, attachment: &Attachment, finalizer: &Text) -> String {
    let who = match facts::owner_of(finalizer) {
        FinalizerOwner::Attacher(_) if own_finalizer(attachment).as_ref() == Some(finalizer) => {
            FinalizerController::attacher(cx, &attachment.attacher).describe()
        }
        FinalizerOwner::Attacher(_) => {
            "external-attacher of another driver removes it, and which one is unknown".to_owned()
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

/// Returns the command that repairs a named attachment.
fn fix(attachment: &Attachment) -> String {
    format!("kubectl storage fix-finalizers {}", facts::on_command_line(&attachment.object()))
}

/// Returns the file in which a manifest of the volume is expected, as an argument of a command.
fn manifest(attachment: &Attachment) -> String {
    let volume = match &attachment.source {
        AttachmentSource::Volume(name) => &**name,
        AttachmentSource::Inline { .. } | AttachmentSource::None => "volume",
    };
    facts::quoted(&format!("{volume}.yaml"))
}

fn volume_of(attachment: &Attachment) -> String {
    match &attachment.source {
        AttachmentSource::Volume(name) => format!("pv/{name}"),
        AttachmentSource::Inline { .. } | AttachmentSource::None => "its volume".to_owned(),
    }
}

#[cfg(test)]
mod tests;

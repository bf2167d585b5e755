//! The finalizers of attachments: F80, F81, F82.
//!
//! What keeps an attachment is that its disk may be attached: only its attacher can detach it, so
//! the way is nearly always to let the attacher do so. Its finalizer is never removed while its node
//! or its volume exists.

mod decision;
mod words;

use super::super::{Remedy, checks};
use super::Asked;
use crate::cluster::{Cx, Seen};
use crate::facts::{self, FinalizerController, FinalizerOwner};
use crate::model::{
    Action, Age, Attachment, AttachmentSource, Kind, ObjectRef, PodUse, Proposal, Refusal, Text,
    Threshold, Undo, Volume,
};
use decision::{Decision, Held, Row, Source, Why, Word, decide};

/// What is done about an attachment that is named.
pub static REMEDY: Remedy<Attachment> = Remedy {
    id: "fix-attachment-finalizers",
    needs: facts::needs![controller: Node, VolumeAttachment],
    writes: &[("patch", "volumeattachments"), ("delete", "volumeattachments")],
    command: |cx, attachment| {
        let mut command = format!("fix-finalizers {}", attachment.object());
        if let Ok(Ok(proposal)) = propose(cx, attachment, &named()) {
            super::remover::add_flags(cx, &mut command, &proposal.relies_on, None);
        }
        Some(command)
    },
    propose: |cx, attachment| propose(cx, attachment, &named()),
};

fn named() -> Asked {
    Asked { named: true, ..Asked::default() }
}

/// Proposes or refuses to repair one.
///
/// # Errors
/// When something was not seen that the decision needs.
pub fn propose(cx: &Cx, attachment: &Attachment, asked: &Asked) -> Seen<Result<Proposal, Refusal>> {
    let refuse = |reason| Ok(Err(Refusal { reason, effect: words::refused(attachment) }));
    if let Err(reason) = checks::not_exempt(cx, &attachment.metadata) {
        return refuse(reason);
    }
    let mut after = attachment.clone();
    let (mut steps, mut notices, mut relies_on) = (Vec::new(), Vec::new(), Vec::new());
    let mut effect = None;
    loop {
        let look = Look::at(cx, &after, asked)?;
        let decision = decide(look.row);
        let finalizer = match decision {
            Decision::Leave(_) if !steps.is_empty() => break,
            Decision::Leave(why) => return refuse(words::left(cx, &after, &look, why)),
            Decision::Delete => None,
            Decision::RemoveItsAttachers => own_finalizer(&after),
            Decision::RemoveOthers => cx.settings().remove_finalizer.clone(),
        };
        effect.get_or_insert_with(|| words::effect(&after, decision));
        notices.extend(words::notice(&after, decision));
        let Some(finalizer) = finalizer else {
            steps.push(Action::DeleteAttachment { attachment: after.object() });
            break;
        };
        if decision == Decision::RemoveOthers {
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
        effect: effect.unwrap_or_else(|| words::refused(attachment)),
        undo: Undo::Never(match deletes {
            true => "an attachment that is deleted cannot be kept",
            false => "the API server allows no new finalizer on a terminating object",
        }),
        notices,
        relies_on,
        keeps_backend: false,
    }))
}

/// The finalizer of the attacher that an attachment names, where it has it.
fn own_finalizer(attachment: &Attachment) -> Option<Text> {
    let own = facts::attacher_finalizer(&attachment.attacher);
    attachment.metadata.finalizers.iter().find(|it| ***it == *own).cloned()
}

/// What was looked at for a decision.
#[derive(Debug)]
struct Look {
    row: Row,
    pod: Option<ObjectRef>,
    attacher: FinalizerController,
}

impl Look {
    fn at(cx: &Cx, attachment: &Attachment, asked: &Asked) -> Seen<Self> {
        let terminating = attachment.metadata.deleting.is_some();
        let (source, volume) = match &attachment.source {
            AttachmentSource::Volume(name) => match cx.attached_volume(name)? {
                Some(volume) => (Source::There, Some(volume)),
                None => (Source::Missing, None),
            },
            AttachmentSource::Inline { .. } => (Source::There, None),
            AttachmentSource::None => (Source::Nameless, None),
        };
        let held = held(attachment);
        let attacher = FinalizerController::attacher(cx, &attachment.attacher);
        // What does not bear on the decision need not be seen.
        let asks_node = match (terminating, source) {
            (false, Source::There | Source::Missing) | (true, Source::Missing) => true,
            (true, Source::There) | (_, Source::Nameless) => false,
        };
        let node_gone = asks_node && cx.node(&attachment.node, Kind::VolumeAttachment)?.is_none();
        let would_delete = !terminating && node_gone && source == Source::There;
        let pod = if would_delete { pod_there(cx, attachment, volume)? } else { None };
        let attacher_absent = would_delete && pod.is_none() && attacher.is_absent(cx)?;
        let others = others(attachment);
        let word = cx.settings().remove_finalizer.as_ref().filter(|it| others.contains(it));
        let threshold = match held {
            Held::ByItsAttacher | Held::ByAnotherAttacher => Threshold::Detach,
            Held::ByOthers | Held::ByTheCollector | Held::Not => Threshold::Stuck,
        };
        let row = Row {
            terminating,
            source,
            may_be_attached: facts::may_be_attached(attachment),
            held,
            node_gone,
            pod_there: pod.is_some(),
            attacher_absent,
            named: asked.named,
            word: if word.is_some() { Word::Said } else { Word::Unsaid },
            waited: cx.older_than(&Age::stamped(attachment.metadata.deleting), threshold),
        };
        Ok(Self { row, pod, attacher })
    }
}

/// The finalizers that no attacher and no garbage collector removes.
fn others(attachment: &Attachment) -> Vec<&Text> {
    let is_others = |it: &&Text| match facts::owner_of(it) {
        FinalizerOwner::Attacher(_) | FinalizerOwner::GarbageCollector => false,
        FinalizerOwner::Provisioner
        | FinalizerOwner::ControllerManager
        | FinalizerOwner::Cloning
        | FinalizerOwner::Snapshotter
        | FinalizerOwner::Unknown => true,
    };
    attachment.metadata.finalizers.iter().filter(is_others).collect()
}

fn held(attachment: &Attachment) -> Held {
    if own_finalizer(attachment).is_some() {
        Held::ByItsAttacher
    } else if facts::has_attacher_finalizer(&attachment.metadata) {
        Held::ByAnotherAttacher
    } else if !others(attachment).is_empty() {
        Held::ByOthers
    } else if attachment.metadata.finalizers.is_empty() {
        Held::Not
    } else {
        Held::ByTheCollector
    }
}

/// A pod that is said to be on the node and names the volume's claim: its machine may run, whatever
/// became of the node's object.
fn pod_there(cx: &Cx, attachment: &Attachment, volume: Option<&Volume>) -> Seen<Option<ObjectRef>> {
    let Some(claim) = volume.and_then(|it| it.claim_ref.as_ref()) else { return Ok(None) };
    let pods = cx.pods_of(&claim.key)?;
    let there = pods.into_iter().find(|pod| pod.node.as_ref() == Some(&attachment.node));
    Ok(there.map(PodUse::object))
}

#[cfg(test)]
mod tests;

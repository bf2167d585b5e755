//! `fix-finalizers`: which objects hang, and what is done about each.

use std::collections::BTreeSet;

use super::orphan::elsewhere;
use super::{About, Plan, Purpose};
use crate::cluster::{Cx, Seen, Subject};
use crate::journal::{Entry, History};
use crate::model::{
    Age, Attachment, AttachmentSource, Kind, ObjectKey, ObjectRef, RuleId, Threshold, Volume,
    parse_time,
};
use crate::remedies::Recreation;
use crate::remedies::finalizers::{self, Asked};
use crate::rules::{self, Rule};

/// The findings whose objects are looked at where none is named, besides all that have been
/// terminating for too long.
pub const FINDINGS: [RuleId; 17] = [
    "pv-leak-imminent",
    "pv-terminating-bound",
    "pv-stale-ext-finalizer-retain",
    "pv-ext-finalizer-orphaned-driver",
    "pv-delete-in-progress-or-failing",
    "pv-stale-intree-finalizer-migrated",
    "pv-stale-ext-finalizer-intree",
    "pv-stuck-attacher-finalizer",
    "pv-or-pvc-unknown-finalizer",
    "pv-terminating-intree-deadlock",
    "pv-intree-finalizer-rolled-back",
    "pvc-terminating-stuck",
    "pvc-missing-protection",
    "pvc-source-finalizer-stuck",
    "va-orphan-pv-missing",
    "va-stuck-detaching",
    "va-node-missing",
];

/// What `fix-finalizers` is told besides the settings.
#[derive(Debug, Default)]
pub struct Hanging<'a> {
    /// These objects; all that hang when empty.
    pub names: Vec<ObjectKey>,
    /// The manifest of the volume that an attachment names (`--from`).
    pub from: Option<Recreation>,
    /// What the journal knows of earlier volumes.
    pub history: Option<&'a History>,
}

/// Plans to repair what hangs.
pub fn fix_finalizers(cx: &Cx, hanging: &Hanging) -> Plan {
    let mut plan = Plan::new(finalizers::ID, cx);
    for key in &hanging.names {
        let object = ObjectRef { key: key.clone(), uid: None };
        match subject(cx, key) {
            Ok(Some(subject)) => hanging.take(cx, &mut plan, &subject, true),
            Ok(None) => {
                let reason = format!("there is no such {}", noun(key.kind));
                plan.refuse(object, finalizers::ID, reason, false);
            }
            Err(unseen) => plan.refuse(object, finalizers::ID, unseen.reason, true),
        }
    }
    if hanging.names.is_empty() {
        let findings: Vec<_> = FINDINGS.iter().filter_map(|id| rules::find(id)).collect();
        for subject in rules::subjects(cx.cluster()) {
            let in_scope = rules::in_scope(cx.cluster(), cx.settings(), &subject);
            if in_scope && hangs(cx, &subject, &findings) {
                hanging.take(cx, &mut plan, &subject, false);
            }
        }
    }
    plan.sorted()
}

const fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::PersistentVolumeClaim => "claim",
        Kind::VolumeAttachment => "attachment",
        _ => "volume",
    }
}

/// Finds a named object.
fn subject(cx: &Cx, key: &ObjectKey) -> Seen<Option<Subject>> {
    let cluster = cx.cluster();
    if let Some(subject) = cluster.subject(key) {
        return Ok(Some(subject));
    }
    cluster.reach(key.kind, key.namespace.as_ref())?;
    Ok(None)
}

/// Whether an object is one that a user of this command looks for.
fn hangs(cx: &Cx, subject: &Subject, findings: &[&Rule]) -> bool {
    let is_one = matches!(subject, Subject::Volume(_) | Subject::Claim(_) | Subject::Attachment(_));
    let found = rules::metadata(cx.cluster(), subject).filter(|_| is_one);
    let Some(metadata) = found else { return false };
    let terminating = Age::stamped(metadata.deleting);
    let too_long = metadata.deleting.is_some()
        && !metadata.finalizers.is_empty()
        && cx.older_than(&terminating, Threshold::Finalizer);
    too_long || findings.iter().any(|rule| rules::judge_with(cx, subject, rule).finding.is_some())
}

/// Plans to create a volume again: several attachments may wait for the same one.
fn recreate(cx: &Cx, plan: &mut Plan, recreation: Recreation, named: bool) {
    let object = recreation.volume().object();
    let known = plan.changes.iter().map(|it| &it.object);
    if !known.chain(plan.refusals.iter().map(|it| &it.object)).any(|it| *it == object) {
        let about = About::of_created(cx, recreation.volume());
        plan.take_proposed(cx, Purpose::Recreate(Box::new(recreation)), object, about, named);
    }
}

impl Hanging<'_> {
    fn take(&self, cx: &Cx, plan: &mut Plan, subject: &Subject, named: bool) {
        let cluster = cx.cluster();
        let (object, volume) = match subject {
            Subject::Volume(id) => {
                let Some(volume) = cluster.volume_at(*id) else { return };
                (volume.object(), Some(volume))
            }
            Subject::Claim(id) => {
                let Some(claim) = cluster.claim_at(*id) else { return };
                (claim.object(), None)
            }
            Subject::Attachment(id) => {
                let Some(attachment) = cluster.attachment_at(*id) else { return };
                match self.recreation(cx, attachment, named) {
                    Ok(Some(recreation)) => return recreate(cx, plan, recreation, named),
                    Ok(None) => {}
                    Err(reason) => {
                        return plan.refuse(attachment.object(), finalizers::ID, reason, false);
                    }
                }
                (attachment.object(), None)
            }
            _ => return,
        };
        let asked = Asked { named, elsewhere: self.elsewhere(volume) };
        let purpose = Purpose::FixFinalizers(Box::new(asked));
        let about = About::of_object(cx, &object).with_holders(cx, &object);
        plan.take_proposed(cx, purpose, object, about, named);
    }

    /// What would bring back a volume that is gone, if anything was kept of it: what the user has,
    /// else the last of its objects that the journal has. Only for what was named: a volume that is
    /// created again is billed again.
    ///
    /// # Errors
    /// When what the user has is of no use here, as a reason to refuse.
    fn recreation(
        &self,
        cx: &Cx,
        attachment: &Attachment,
        named: bool,
    ) -> Result<Option<Recreation>, String> {
        let AttachmentSource::Volume(name) = &attachment.source else { return Ok(None) };
        let gone = cx.attached_volume(name).is_ok_and(|volume| volume.is_none());
        if let Some(from) = &self.from {
            let given = from.volume().name();
            let attacher = &attachment.attacher;
            return match gone {
                true if *given == **name && !is_of(from, attachment) => Err(format!(
                    "--from is a volume of another driver than {attacher}, which would detach by its handle"
                )),
                true if *given == **name => Ok(Some(from.clone())),
                true => Err(format!("it names pv/{name}, and --from is pv/{given}")),
                false => Err(format!("pv/{name}, which it names, is there: leave out --from")),
            };
        }
        let Some(history) = self.history.filter(|_| named && gone) else { return Ok(None) };
        let of_it = history.entries.iter().rev().filter(|it| {
            let key = &it.intent.object.key;
            key.kind == Kind::PersistentVolume && key.name == *name
        });
        let mut kept = of_it.filter_map(|it| was_attached(it, attachment));
        let made = kept.find_map(|saved| Recreation::of(saved, None).ok());
        Ok(made.filter(|it| is_of(it, attachment)))
    }

    fn elsewhere(&self, volume: Option<&Volume>) -> BTreeSet<Box<str>> {
        let backend = volume.and_then(|it| it.backend.as_ref());
        match (self.history, backend) {
            (Some(history), Some(backend)) => elsewhere(history, backend),
            _ => BTreeSet::new(),
        }
    }
}

/// Whether a volume is one that the attacher of an attachment knows. An attacher takes the handle of
/// whatever has the name, whose driver it may be, and what its driver does not know counts as
/// detached (external-attacher `csi_handler.go`, `csiDetach`).
fn is_of(recreation: &Recreation, attachment: &Attachment) -> bool {
    let (volume, attacher) = (recreation.volume(), &*attachment.attacher);
    let translated = volume.backend.as_ref().is_some_and(|it| &*it.driver == attacher);
    translated || volume.drivers().any(|it| it == attacher)
}

/// What an entry of the journal kept of the volume that was attached: an object of that name that
/// was there when the attachment was made. Names are used again, and another one's handle would
/// have the wrong disk detached.
fn was_attached<'a>(entry: &'a Entry, attachment: &Attachment) -> Option<&'a serde_json::Value> {
    let saved = entry.intent.pre_image.as_ref()?;
    let born = parse_time(saved["metadata"]["creationTimestamp"].as_str()?).ok()??;
    let attached = attachment.metadata.created?;
    (born <= attached && attached <= entry.at?).then_some(saved)
}

#[cfg(test)]
mod tests;

//! `fix-finalizers`: selects objects whose deletion is blocked and plans steps for each.

use std::collections::BTreeSet;

use super::orphan::elsewhere;
use super::{ObjectDetails, Plan, Purpose, no_such};
use crate::cluster::{Cx, Seen, Subject};
use crate::journal::{Entry, History};
use crate::model::{
    Age, Attachment, AttachmentSource, Kind, ObjectKey, ObjectRef, RuleId, Threshold, Volume,
    parse_time,
};
use crate::remedies::Recreation;
use crate::remedies::finalizers::{self, FinalizerRequest};
use crate::rules::{self, Rule};

/// Findings that select objects where the user names none, besides all objects that have been Terminating for too long.
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

/// Objects that `fix-finalizers` plans for, and manifests of volumes.
#[derive(Debug, Default)]
pub struct FinalizerSelection<'a> {
    /// Keys of the objects; when empty, all whose deletion is blocked.
    pub names: Vec<ObjectKey>,
    /// Manifest of the volume of an attachment (`--from`).
    pub from: Option<Recreation>,
    /// Journal with the manifests of earlier volumes.
    pub history: Option<&'a History>,
}

/// Plans steps for the selected objects.
pub fn fix_finalizers(cx: &Cx, selection: &FinalizerSelection) -> Plan {
    let mut plan = Plan::new(finalizers::ID, cx);
    for key in &selection.names {
        let object = ObjectRef { key: key.clone(), uid: None };
        match subject(cx, key) {
            Ok(Some(subject)) => selection.take(cx, &mut plan, &subject, true),
            Ok(None) => {
                plan.refuse(object, finalizers::ID, no_such(key.kind).to_owned(), false);
            }
            Err(unseen) => plan.refuse(object, finalizers::ID, unseen.reason, true),
        }
    }
    if selection.names.is_empty() {
        let findings: Vec<_> = FINDINGS.iter().filter_map(|id| rules::find(id)).collect();
        for subject in rules::subjects(cx.cluster()) {
            let in_scope = rules::in_scope(cx.cluster(), cx.settings(), &subject);
            if in_scope && is_blocked(cx, &subject, &findings) {
                selection.take(cx, &mut plan, &subject, false);
            }
        }
    }
    plan.sorted()
}

/// Finds an object that the user names.
fn subject(cx: &Cx, key: &ObjectKey) -> Seen<Option<Subject>> {
    let cluster = cx.cluster();
    if let Some(subject) = cluster.subject(key) {
        return Ok(Some(subject));
    }
    cluster.reach(key.kind, key.namespace.as_ref())?;
    Ok(None)
}

/// Whether the deletion of an object is blocked, or a finding selects it.
fn is_blocked(cx: &Cx, subject: &Subject, findings: &[&Rule]) -> bool {
    let is_one = matches!(subject, Subject::Volume(_) | Subject::Claim(_) | Subject::Attachment(_));
    let found = rules::metadata(cx.cluster(), subject).filter(|_| is_one);
    let Some(metadata) = found else { return false };
    let terminating = Age::stamped(metadata.deleting);
    let too_long = metadata.deleting.is_some()
        && !metadata.finalizers.is_empty()
        && cx.older_than(&terminating, Threshold::Finalizer);
    too_long || findings.iter().any(|rule| rules::judge_with(cx, subject, rule).finding.is_some())
}

/// Plans to recreate a volume, once for all attachments that wait for it.
fn recreate(cx: &Cx, plan: &mut Plan, recreation: Recreation, named: bool) {
    let object = recreation.volume().object();
    let known = plan.changes.iter().map(|it| &it.object);
    if !known.chain(plan.refusals.iter().map(|it| &it.object)).any(|it| *it == object) {
        let about = ObjectDetails::of_created(cx, recreation.volume());
        plan.take_proposed(cx, Purpose::Recreate(Box::new(recreation)), object, about, named);
    }
}

impl FinalizerSelection<'_> {
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
        let asked = FinalizerRequest { named, elsewhere: self.elsewhere(volume) };
        let purpose = Purpose::FixFinalizers(Box::new(asked));
        let about = ObjectDetails::of_object(cx, &object).with_holders(cx, &object);
        plan.take_proposed(cx, purpose, object, about, named);
    }

    /// Returns the manifest to recreate the missing volume of an attachment: that of `--from`, or the last one in the
    /// journal. The latter only for an attachment that the user names: a recreated volume is billed again.
    ///
    /// # Errors
    /// Why the manifest of `--from` does not fit, as a reason to refuse.
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
                    "--from is a volume of another driver than {attacher}, which would detach it \
                     by its volume handle"
                )),
                true if *given == **name => Ok(Some(from.clone())),
                true => Err(format!("it references pv/{name}, but --from is pv/{given}")),
                false => Err(format!("pv/{name}, which it references, exists: omit --from")),
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

/// Whether a volume has the driver of the attachment. An attacher detaches by the handle of the volume with that name,
/// whatever its driver, and a volume that the driver does not know counts as detached (external-attacher
/// `csi_handler.go`, `csiDetach`).
fn is_of(recreation: &Recreation, attachment: &Attachment) -> bool {
    let (volume, attacher) = (recreation.volume(), &*attachment.attacher);
    let translated = volume.backend.as_ref().is_some_and(|it| &*it.driver == attacher);
    translated || volume.drivers().any(|it| it == attacher)
}

/// Returns the manifest in a journal entry, if it is of the volume that was attached: one of that
/// name that existed when the attachment was created. Names are reused, and with the handle of
/// another volume the wrong one would be detached.
fn was_attached<'a>(entry: &'a Entry, attachment: &Attachment) -> Option<&'a serde_json::Value> {
    let saved = entry.intent.pre_image.as_ref()?;
    let born = parse_time(saved["metadata"]["creationTimestamp"].as_str()?).ok()??;
    let attached = attachment.metadata.created?;
    (born <= attached && attached <= entry.at?).then_some(saved)
}

#[cfg(test)]
mod tests;

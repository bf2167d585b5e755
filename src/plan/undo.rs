//! `undo`: plans to revert the change of a journal entry.

use serde_json::Value;

use super::{ObjectDetails, Plan, Purpose, orphan::not_reclaimed_elsewhere};
use crate::cluster::Cx;
use crate::guard::GUARD;
use crate::journal::{Entry, History};
use crate::model::{ClaimKey, Kind, ObjectKey, ObjectRef, Retention, Uid, WorkloadScale};
use crate::remedies::{
    AddedOwner, DELETED_AT_ONCE, FormerClaim, LoweredRequest, Rebinding, Recreation, Restart,
    RetentionRequest, Reversal, STOP, adopt, disown, expand, finalizers, placeholder, recreate,
    retention, retention_set, revert,
};

/// Choice of the entry that `undo` without a number undoes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Undoable {
    /// Last entry that can be undone.
    pub entry: Option<u64>,
    /// Later entries, with the reasons why they cannot be undone.
    pub passed: Vec<(u64, String)>,
}

/// Finds the last entry that can be undone, by the journal alone.
pub fn undoable(history: &History) -> Undoable {
    let mut passed = Vec::new();
    for entry in history.entries.iter().rev() {
        // An entry that wrote nothing, or undid another, is not undone.
        let idle = unwritten(entry) || history.undone().contains(&entry.sequence);
        if idle || entry.intent.undoes.is_some() {
            continue;
        }
        match purpose(history, entry) {
            Ok(_) => return Undoable { entry: Some(entry.sequence), passed },
            Err(reason) => passed.push((entry.sequence, reason)),
        }
    }
    Undoable { entry: None, passed }
}

/// Plans to undo an entry.
pub fn undo(cx: &Cx, history: &History, entry: &Entry) -> Plan {
    let mut plan = Plan::new("undo", cx);
    let object = &entry.intent.object;
    let purpose = match purpose(history, entry) {
        Ok(purpose) => purpose,
        Err(reason) => {
            let number = history.numbered(entry.sequence);
            let reason = format!("entry {number} cannot be undone: {reason}");
            plan.refuse(object.clone(), "undo", reason, false);
            return plan;
        }
    };
    match &purpose {
        Purpose::Recreate(recreation) => {
            let about = ObjectDetails::of_created(cx, recreation.volume());
            let object = recreation.volume().object();
            plan.take_proposed(cx, purpose, object, about, true);
        }
        Purpose::Rebind(_) => {
            // The entry is about the claim, and the volume is what is changed.
            let saved = entry.intent.pre_image.as_ref();
            let name = saved.and_then(|it| it["spec"]["volumeName"].as_str()).unwrap_or_default();
            let key = ObjectKey::cluster_wide(Kind::PersistentVolume, name);
            plan.take_object(cx, purpose, &ObjectRef { key, uid: None }, |_| Ok(()));
        }
        _ => plan.take_object(cx, purpose, object, |_| Ok(())),
    }
    plan
}

/// Returns the purpose that undoes an entry, or why none does.
fn purpose(history: &History, entry: &Entry) -> Result<Purpose, String> {
    let intent = &entry.intent;
    if history.entry(entry.sequence).is_none() {
        return Err("its number is used twice: the journal was edited".to_owned());
    }
    if history.undone().contains(&entry.sequence) {
        return Err("it was undone already".to_owned());
    }
    if unwritten(entry) {
        return Err("nothing was written".to_owned());
    }
    if intent.because == GUARD {
        return Err("`kubectl storage guard` installs and uninstalls the guard".to_owned());
    }
    let saved = intent.pre_image.as_ref();
    let saved = saved.ok_or_else(|| {
        "the journal does not contain the object as it was \
                                     before"
            .to_owned()
    });
    let at_once = DELETED_AT_ONCE;
    match (intent.action.as_str(), intent.because.as_str()) {
        ("remove-finalizer", _) if intent.keeps && was_being_deleted(saved.clone()?) => {
            Err("unknown whether its backend volume still exists".to_owned())
        }
        _ if intent.keeps => {
            not_reclaimed_elsewhere(history, entry)?;
            let recreation = Recreation::of(saved?, Some(entry.sequence))?;
            Ok(Purpose::Recreate(Box::new(recreation)))
        }
        (DELETE_CLAIM, _) => rebinding(history, entry, saved?),
        ("set-reclaim-policy", "retain" | finalizers::ID | DELETE_CLAIM | retention::LEFTOVER) => {
            Ok(Purpose::Revert(Box::new(Reversal::of(saved?, entry.sequence)?)))
        }
        ("set-reclaim-policy", revert::ID) => {
            Err("`retain` sets the policy to Retain again".to_owned())
        }
        ("set-reclaim-policy" | "condemn-volume", _) => Err(at_once.to_owned()),
        ("create-volume", placeholder::ID) => {
            Err("the driver was requested to delete the backend volume".to_owned())
        }
        ("create-volume", recreate::ID) => {
            Err("`gc --keep-backend` deletes a Released PersistentVolume again".to_owned())
        }
        ("announce" | "record-announcement", _) => {
            Err("removing the annotation of an announced volume vetoes it".to_owned())
        }
        ("record-veto", _) => Err("--include-vetoed announces the volume again".to_owned()),
        ("create-snapshot", _) => {
            Err("a snapshot is kept until its VolumeSnapshot is deleted by hand".to_owned())
        }
        ("reserve-volume", _) => Err("a claim may have bound the volume".to_owned()),
        ("create-volume", adopt::ID) | ("create-claim" | "bind-volume", _) => {
            Err("`delete pvc NAME --keep-data` releases the volume again".to_owned())
        }
        ("remove-finalizer", _) => Err("controllers may have acted on the removal".to_owned()),
        ("delete-with-claims", _) => {
            Err("what was deleted with it is not recreated; the journal has its manifest"
                .to_owned())
        }
        ("remove-owner-references", disown::ID) => Err(disown::NEVER_UNDONE.to_owned()),
        ("add-owner-reference", _) => {
            let added = AddedOwner::of(&intent.request.body, entry.sequence)?;
            Ok(Purpose::TakeBackOwner(Box::new(added)))
        }
        ("remove-owner-references", _) => Err(retention::NEVER_ADDED.to_owned()),
        ("scale-workload", stop) if stop == STOP.id => restart(entry, saved?),
        ("scale-workload", _) => Err("`teardown` stops it again".to_owned()),
        ("delete-pod", _) => Err("a deleted pod is not created again".to_owned()),
        ("delete-snapshot", _) => Err("the snapshot is deleted at the storage system".to_owned()),
        ("request-storage", expand::ID) => {
            let lowered = LoweredRequest::of(saved?, &intent.request.body, entry.sequence)?;
            Ok(Purpose::LowerRequest(Box::new(lowered)))
        }
        ("request-storage", _) => Err("`expand` requests a larger size again".to_owned()),
        ("set-retention-policy", _) => policy_before(entry, saved?),
        (action, _) => Err(format!("nothing undoes {action}")),
    }
}

/// Returns the purpose that starts a workload again.
fn restart(entry: &Entry, saved: &Value) -> Result<Purpose, String> {
    let key = &entry.intent.object.key;
    let to = match (key.kind, saved["spec"]["replicas"].as_i64()) {
        (Kind::Job | Kind::CronJob, _) => WorkloadScale::Suspended(false),
        (_, Some(count)) => {
            WorkloadScale::Replicas(i32::try_from(count).map_err(|_| "its number of replicas")?)
        }
        (_, None) => return Err("the journal does not contain its number of replicas".to_owned()),
    };
    // The names of the claims that a CloneSet makes are not known before.
    let own_claims = match key.kind.is_custom_workload() {
        true => saved["spec"]["volumeClaimTemplates"].as_array().map_or(0, Vec::len),
        false => 0,
    };
    Ok(Purpose::Restart(Box::new(Restart { undoes: entry.sequence, to, own_claims })))
}

/// Name of the deletion of a claim, as an action and as a purpose.
const DELETE_CLAIM: &str = "delete-claim";

/// Returns the purpose that recreates a claim, and binds its volume to it.
fn rebinding(history: &History, entry: &Entry, saved: &Value) -> Result<Purpose, String> {
    let ObjectKey { namespace, name, .. } = &entry.intent.object.key;
    let undoes = entry.sequence;
    let volume = saved["spec"]["volumeName"].as_str().filter(|it| !it.is_empty());
    let volume = volume.ok_or_else(|| {
        format!(
            "the claim had no volume; `kubectl storage journal {} -o yaml` shows its manifest",
            history.numbered(undoes).arguments()
        )
    })?;
    if let Some((journal, later)) = history.after(entry).find(|(_, it)| reclaims(it, volume)) {
        return Err(format!(
            "entry {} had its volume reclaimed afterwards, which deletes the backend volume",
            journal.numbered(later.sequence)
        ));
    }
    let uid = saved["metadata"]["uid"].as_str().and_then(Uid::parse);
    let uid = uid.ok_or("the journal does not contain the uid of the claim")?;
    let namespace = namespace.clone().ok_or("the journal does not contain its namespace")?;
    Ok(Purpose::Rebind(Box::new(Rebinding {
        to: Some(ClaimKey { namespace, name: name.clone() }),
        former: Some(FormerClaim::of(saved)),
        of: Some(uid),
        undoes: Some(undoes),
    })))
}

/// Returns the purpose that sets the retention policy of a set to what it was, unless claims would be
/// more deletable then (I.6).
fn policy_before(entry: &Entry, saved: &Value) -> Result<Purpose, String> {
    let before = retention_set::policy_of(saved);
    let before =
        before.ok_or("the journal does not contain the retention policy as it was before")?;
    let operations = entry.intent.request.body.as_array();
    let mut written = before.clone();
    for operation in operations.into_iter().flatten().filter(|it| it["op"] == "replace") {
        let value = operation["value"].as_str().map(Retention::parse);
        let value = value.ok_or("its request does not contain a retention policy")?;
        match operation["path"].as_str().and_then(|it| it.rsplit('/').next()) {
            Some("whenDeleted") => written.when_deleted = value,
            Some("whenScaled") => written.when_scaled = value,
            _ => return Err("its request does not contain a retention policy".to_owned()),
        }
    }
    if retention_set::towards_retain(&before, &written) {
        let key = &entry.intent.object.key;
        let namespace = key.namespace.as_deref().unwrap_or("default");
        return Err(format!(
            "it would make claims deletable; `kubectl storage retention set sts/{} -n {namespace} \
             --when-deleted {} --when-scaled {}` does that",
            key.name, before.when_deleted, before.when_scaled
        ));
    }
    // The other field may have been set by a user since.
    let back = |before: Retention, written: &Retention| (before != *written).then_some(before);
    Ok(Purpose::SetRetention(Box::new(RetentionRequest {
        when_deleted: back(before.when_deleted, &written.when_deleted),
        when_scaled: back(before.when_scaled, &written.when_scaled),
        undoes: Some(entry.sequence),
    })))
}

/// Whether an entry has, or may have, set the policy of a volume to Delete.
pub(super) fn reclaims(entry: &Entry, volume: &str) -> bool {
    let key = &entry.intent.object.key;
    key.kind == Kind::PersistentVolume
        && *key.name == *volume
        && entry.may_have_written()
        && entry.intent.reclaims()
}

/// Whether the reclaiming controller may have begun to delete the backend volume: not before the
/// volume is Released (R-2644-8).
fn was_being_deleted(saved: &serde_json::Value) -> bool {
    saved["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
        && saved["status"]["phase"] != "Bound"
}

fn unwritten(entry: &Entry) -> bool {
    !entry.may_have_written()
}

//! `destroy-orphan`: plans to create a placeholder volume, so that its driver deletes a backend
//! volume.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{ObjectDetails, Plan, Purpose};
use crate::cluster::Cx;
use crate::drivers::{self, meeting};
use crate::journal::{Backend, Entry, History, Outcome};
use crate::model::{BackendKey, JournalPlace, Kind, ObjectKey, ObjectRef, SecretAssertion, Text};
use crate::remedies::{Manifest, Orphan, placeholder};

/// Identification of the backend volume by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrphanSource {
    /// By the journal entry that kept it; `exclusive` asserts that no other cluster uses the backend of
    /// its driver.
    Entry { sequence: u64, exclusive: bool },
    /// By driver and handle; `exclusive` asserts that no other cluster uses the backend of the
    /// driver.
    Named { driver: Text, handle: Box<str>, exclusive: bool },
}

/// Refusal of an entry in the cluster, which can be forged by all who may create `ConfigMap`s in its namespace.
const FORGEABLE: &str = "the entry is in the cluster, where others may have forged it: \
                         --backend-exclusive asserts that no other cluster uses the storage of this \
                         driver";

/// Plans to have a driver delete a backend volume that no volume references.
pub fn orphan(cx: &Cx, history: &History, which: &OrphanSource, secret: &SecretAssertion) -> Plan {
    let mut plan = Plan::new(placeholder::ID, cx);
    let object = |name: &str| ObjectRef {
        key: ObjectKey::cluster_wide(Kind::PersistentVolume, name),
        uid: None,
    };
    let entry = match which {
        OrphanSource::Entry { sequence, .. } => history.entry(*sequence),
        OrphanSource::Named { .. } => None,
    };
    let fallback = entry.map_or("kubectl-storage-reclaim", |it| &*it.intent.object.key.name);
    let Some(cluster) = plan.cluster.clone() else {
        let reason = placeholder::CLUSTER_UNIDENTIFIED.to_owned();
        plan.refuse(object(fallback), placeholder::ID, reason, true);
        return plan;
    };
    match build(&cluster, history, entry, which, secret) {
        Ok(orphan) => {
            let volume = orphan.placeholder.volume();
            let mut about = ObjectDetails::of_created(cx, volume);
            if let Some(columns) = &mut about.volume {
                // The claim does not exist, and without a manifest the capacity is a placeholder.
                columns.claim = None;
                columns.capacity = columns.capacity.filter(|_| entry.is_some());
            }
            let object = volume.object();
            plan.take_proposed(cx, Purpose::DestroyOrphan(Box::new(orphan)), object, about, true);
        }
        Err(reason) => plan.refuse(object(fallback), placeholder::ID, reason, false),
    }
    plan
}

/// Journal entry that kept a backend volume, and the manifest in it.
struct KeptEntry<'a> {
    sequence: u64,
    saved: &'a Value,
}

fn build(
    cluster: &str,
    history: &History,
    entry: Option<&Entry>,
    which: &OrphanSource,
    secret: &SecretAssertion,
) -> Result<Orphan, String> {
    let mut relies_on = Vec::new();
    let (backend, kept) = match which {
        OrphanSource::Entry { sequence, exclusive } => {
            let entry = entry.ok_or_else(|| {
                let number = history.numbered(*sequence);
                format!("the journal does not have exactly one entry {number}")
            })?;
            let (backend, saved) = kept(history, entry)?;
            if history.place != JournalPlace::Machine {
                if !exclusive {
                    return Err(FORGEABLE.to_owned());
                }
                relies_on.push("--backend-exclusive");
            }
            (backend, Some(KeptEntry { sequence: *sequence, saved }))
        }
        OrphanSource::Named { driver, handle, exclusive } => {
            let backend = BackendKey { driver: driver.clone(), handle: handle.as_ref().into() };
            // Nothing is done on account of what was recorded in another cluster.
            let all = history.all().filter(|it| it.distrusted.is_none());
            let mut known = all.flat_map(|of| of.kept().into_iter().map(move |it| (of, it)));
            if let Some((journal, entry)) = known.find(|(_, it)| names(it, &backend)) {
                let number = journal.numbered(entry.sequence);
                let instead = match (&history.place, &journal.place) {
                    (JournalPlace::Cluster(_), JournalPlace::Machine) => {
                        " instead of --cluster-journal"
                    }
                    _ => "",
                };
                return Err(format!(
                    "entry {number} of the journal kept it and contains its manifest: pass \
                     --from-journal {}{instead}",
                    number.arguments()
                ));
            }
            if !exclusive {
                return Err("unknown whether another cluster uses it: --backend-exclusive asserts that no other cluster uses the storage of this driver".to_owned());
            }
            relies_on.push("--backend-exclusive");
            (backend, None)
        }
    };
    let saved = kept.as_ref().map(|it| it.saved);
    let (placeholder, mut word) = placeholder::manifest(saved, &backend, cluster, secret)?;
    relies_on.append(&mut word);
    let elsewhere = elsewhere(history, &backend);
    let of = saved.and_then(|it| it["metadata"]["name"].as_str()).map(Box::from);
    let former = saved.map(|it| Manifest::read(it.clone())).transpose()?;
    let undoes = kept.map(|it| it.sequence);
    Ok(Orphan { undoes, placeholder, of, former, elsewhere, relies_on })
}

/// Returns the backend volume that an entry kept, and the manifest in it.
fn kept<'a>(history: &History, entry: &'a Entry) -> Result<(BackendKey, &'a Value), String> {
    let sequence = history.numbered(entry.sequence);
    if !entry.intent.keeps {
        return Err(format!("entry {sequence} kept no backend volume"));
    }
    if history.undone().contains(&entry.sequence) {
        return Err(format!(
            "entry {sequence} was undone, or its backend volume destroyed, already"
        ));
    }
    not_reclaimed_elsewhere(history, entry)?;
    if matches!(entry.last(), Some(Outcome::Refused | Outcome::Stale | Outcome::Failed)) {
        return Err(format!("nothing was written by entry {sequence}"));
    }
    let backend = entry.intent.backend.as_ref().map(key);
    let backend =
        backend.ok_or_else(|| format!("entry {sequence} references no backend volume"))?;
    let saved = entry.intent.pre_image.as_ref();
    let saved =
        saved.ok_or_else(|| format!("entry {sequence} contains no manifest of its volume"))?;
    Ok((backend, saved))
}

fn key(backend: &Backend) -> BackendKey {
    BackendKey { driver: backend.driver.as_str().into(), handle: backend.handle.as_str().into() }
}

/// Whether two keys reference one backend volume, or may.
fn may_be(one: &BackendKey, other: &BackendKey) -> bool {
    meeting(&drivers::by_handle(one), &drivers::by_handle(other)).is_some()
}

fn names(entry: &Entry, backend: &BackendKey) -> bool {
    entry.intent.backend.as_ref().is_some_and(|it| may_be(&key(it), backend))
}

/// Refuses an entry if another journal tells that its backend volume was deleted since, or may have been. In its own
/// journal, the entry that destroyed it undoes it.
pub(super) fn not_reclaimed_elsewhere(history: &History, entry: &Entry) -> Result<(), String> {
    let Some(backend) = entry.intent.backend.as_ref().map(key) else { return Ok(()) };
    let mut elsewhere = history.after(entry).filter(|(of, _)| of.place != history.place);
    let later = elsewhere
        .find(|(_, it)| it.may_have_written() && it.intent.reclaims() && names(it, &backend));
    match later {
        None => Ok(()),
        Some((journal, later)) => Err(format!(
            "entry {} of the journal {} may have had its backend volume deleted",
            journal.numbered(later.sequence),
            journal.place
        )),
    }
}

/// Returns the names of volumes that referenced other backend volumes by every entry about them in any journal.
pub(super) fn elsewhere(history: &History, backend: &BackendKey) -> BTreeSet<Box<str>> {
    let suspects: BTreeSet<_> = history
        .all()
        .flat_map(volumes)
        .filter(|it| names(it, backend))
        .map(|it| &it.intent.object.key.name)
        .collect();
    // What other journals say excuses nothing.
    let others = volumes(history).map(|it| &it.intent.object.key.name);
    others.filter(|name| !suspects.contains(name)).cloned().collect()
}

/// Returns the entries about volumes whose backend volume is known.
fn volumes(history: &History) -> impl Iterator<Item = &Entry> {
    let known = history.entries.iter().filter(|it| it.intent.backend.is_some());
    known.filter(|it| it.intent.object.key.kind == Kind::PersistentVolume)
}

#[cfg(test)]
mod tests;

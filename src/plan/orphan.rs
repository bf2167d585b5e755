//! `destroy-orphan`: what would be created to have a driver delete a backend volume.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{About, Plan, Purpose};
use crate::cluster::Cx;
use crate::journal::{Backend, Entry, History, Outcome};
use crate::model::{BackendKey, Kind, ObjectKey, ObjectRef, SecretAssertion, Text};
use crate::remedies::{Orphan, tombstone};

/// Which backend volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// One that the journal says was kept.
    Entry(u64),
    /// One that somebody names; `exclusive` is their word that no other cluster uses its backend.
    Named { driver: Text, handle: Box<str>, exclusive: bool },
}

/// Plans to have a driver delete a backend volume that no volume names.
pub fn orphan(cx: &Cx, history: &History, which: &Which, secret: &SecretAssertion) -> Plan {
    let mut plan = Plan::new(tombstone::ID, cx);
    let object = |name: &str| ObjectRef {
        key: ObjectKey::cluster_wide(Kind::PersistentVolume, name),
        uid: None,
    };
    let entry = match which {
        Which::Entry(sequence) => history.entry(*sequence),
        Which::Named { .. } => None,
    };
    let fallback = entry.map_or("kubectl-storage-reclaim", |it| &*it.intent.object.key.name);
    let Some(cluster) = plan.cluster.clone() else {
        let reason = "the uid of namespace kube-system, which tells clusters apart, was not seen";
        plan.refuse(object(fallback), tombstone::ID, reason.to_owned(), true);
        return plan;
    };
    match build(&cluster, history, entry, which, secret) {
        Ok(orphan) => {
            let volume = orphan.tombstone.volume();
            let mut about = About::of_created(cx, volume);
            if let Some(columns) = &mut about.volume {
                // The claim never was, and without a manifest the capacity is made up.
                columns.claim = None;
                columns.capacity = columns.capacity.filter(|_| entry.is_some());
            }
            let object = volume.object();
            plan.take_proposed(cx, Purpose::Tombstone(Box::new(orphan)), object, about, true);
        }
        Err(reason) => plan.refuse(object(fallback), tombstone::ID, reason, false),
    }
    plan
}

/// What was kept, and what is created of it.
struct Kept<'a> {
    sequence: u64,
    saved: &'a Value,
}

fn build(
    cluster: &str,
    history: &History,
    entry: Option<&Entry>,
    which: &Which,
    secret: &SecretAssertion,
) -> Result<Orphan, String> {
    let mut relies_on = Vec::new();
    let (backend, kept) = match which {
        Which::Entry(sequence) => {
            let entry = entry.ok_or_else(|| format!("there is no single entry {sequence}"))?;
            let (backend, saved) = kept(history, entry)?;
            (backend, Some(Kept { sequence: *sequence, saved }))
        }
        Which::Named { driver, handle, exclusive } => {
            let backend = BackendKey { driver: driver.clone(), handle: handle.as_ref().into() };
            let known = history.kept().into_iter().find(|it| names(it, &backend));
            if let Some(entry) = known {
                let entry = entry.sequence;
                return Err(format!(
                    "entry {entry} of the journal kept it, and has its manifest: say --from-journal {entry}"
                ));
            }
            if !exclusive {
                return Err("whether another cluster uses it is not known: --backend-exclusive is your word that none uses this driver's backend".to_owned());
            }
            relies_on.push("--backend-exclusive");
            (backend, None)
        }
    };
    let saved = kept.as_ref().map(|it| it.saved);
    let (tombstone, mut word) = tombstone::manifest(saved, &backend, cluster, secret)?;
    relies_on.append(&mut word);
    let elsewhere = elsewhere(history, &backend);
    Ok(Orphan { undoes: kept.map(|it| it.sequence), tombstone, elsewhere, relies_on })
}

/// What an entry kept, and the volume as it was.
fn kept<'a>(history: &History, entry: &'a Entry) -> Result<(BackendKey, &'a Value), String> {
    let sequence = entry.sequence;
    if !entry.intent.keeps {
        return Err(format!("entry {sequence} left no backend volume behind"));
    }
    if history.undone().contains(&sequence) {
        return Err(format!(
            "entry {sequence} was undone, or its backend volume destroyed, already"
        ));
    }
    if matches!(entry.last(), Some(Outcome::Refused | Outcome::Stale | Outcome::Failed)) {
        return Err(format!("nothing was written by entry {sequence}"));
    }
    let backend = entry.intent.backend.as_ref().map(key);
    let backend = backend.ok_or_else(|| format!("entry {sequence} names no backend volume"))?;
    let saved = entry.intent.pre_image.as_ref();
    let saved = saved.ok_or_else(|| format!("entry {sequence} has no manifest of its volume"))?;
    Ok((backend, saved))
}

fn key(backend: &Backend) -> BackendKey {
    BackendKey { driver: backend.driver.as_str().into(), handle: backend.handle.as_str().into() }
}

fn names(entry: &Entry, backend: &BackendKey) -> bool {
    entry.intent.backend.as_ref().is_some_and(|it| key(it).same(backend))
}

/// The volumes that, as far as the journal knows any of their name, named another backend volume.
pub(super) fn elsewhere(history: &History, backend: &BackendKey) -> BTreeSet<Box<str>> {
    let volumes = || {
        let known = history.entries.iter().filter(|it| it.intent.backend.is_some());
        known.filter(|it| it.intent.object.key.kind == Kind::PersistentVolume)
    };
    let suspects: BTreeSet<_> =
        volumes().filter(|it| names(it, backend)).map(|it| &it.intent.object.key.name).collect();
    let others = volumes().map(|it| &it.intent.object.key.name);
    others.filter(|name| !suspects.contains(name)).cloned().collect()
}

#[cfg(test)]
mod table;

//! Objects of which something could not be read: they exist, and blind nothing that has nothing to
//! do with them.

use std::collections::BTreeMap;

use super::{Doubt, Gap, OddObject, Reach, Seen, Unseen};
use crate::model::{Kind, ObjectKey, Text};

/// The objects of which something could not be read, and what it is.
#[derive(Debug, Default)]
pub(super) struct OddObjects(BTreeMap<ObjectKey, OddEntry>);

/// What could not be read of one object.
#[derive(Debug)]
pub(super) struct OddEntry {
    doubt: Doubt,
    gap: Gap,
    /// When it was last seen, in the order of changes.
    seen: u64,
}

impl OddObjects {
    /// Adds an object that was taken out before it was changed. Returns whether something else than
    /// before is in doubt.
    pub(super) fn insert(&mut self, odd: OddObject, known: Option<OddEntry>, seen: u64) -> bool {
        let OddObject { key, doubt, reason } = odd;
        let namespace = key.namespace.clone().filter(|_| doubt != Doubt::Kind);
        let entry = OddEntry { doubt, gap: Gap { kind: key.kind, namespace, reason }, seen };
        let was = known.filter(|it| it.doubt > Doubt::Field);
        let differs = match (was, doubt > Doubt::Field) {
            (None, new) => new,
            (Some(was), _) => (was.doubt, was.gap) != (doubt, entry.gap.clone()),
        };
        self.0.insert(key, entry);
        differs
    }

    pub(super) fn take(&mut self, key: &ObjectKey) -> Option<OddEntry> {
        self.0.remove(key)
    }

    /// Removes an object, and returns whether that was in doubt.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> bool {
        self.take(key).is_some_and(|it| it.doubt > Doubt::Field)
    }

    /// The same, by its names.
    pub(super) fn remove_named(&mut self, kind: Kind, namespace: &str, name: &str) -> bool {
        !self.0.is_empty() && self.remove(&key(kind, namespace, name))
    }

    /// Removes the objects within reach that were last seen before a point in the order of changes.
    pub(super) fn keep_listed(&mut self, reach: &Reach, began: u64) {
        let within = |key: &ObjectKey| {
            key.kind == reach.kind
                && (reach.namespace.is_none() || key.namespace == reach.namespace)
        };
        self.0.retain(|key, entry| !within(key) || entry.seen >= began);
    }

    /// Whether an object could be read, but for sizes and times.
    pub(super) fn legible(&self, kind: Kind, namespace: &str, name: &str) -> Seen<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let key = key(kind, namespace, name);
        match self.0.get(&key) {
            Some(entry) if entry.doubt > Doubt::Field => {
                let reason = entry.gap.reason.clone();
                Err(Unseen { kind, namespace: key.namespace, reason })
            }
            _ => Ok(()),
        }
    }

    /// Whether no object of a kind may have to do with what is looked for. An object of a namespace
    /// has nothing to do with what is looked for in another one.
    pub(super) fn reach(&self, kind: Kind, namespace: Option<&Text>) -> Seen<()> {
        let in_doubt = |(key, entry): &(&ObjectKey, &OddEntry)| match entry.doubt {
            _ if key.kind != kind => false,
            Doubt::Field | Doubt::Object => false,
            Doubt::Namespace => namespace.is_some() && key.namespace.as_ref() == namespace,
            Doubt::Kind => namespace.is_none() || key.namespace.as_ref() == namespace,
        };
        match self.0.iter().find(in_doubt) {
            None => Ok(()),
            Some((_, entry)) => {
                let reason = entry.gap.reason.clone();
                Err(Unseen { kind, namespace: namespace.cloned(), reason })
            }
        }
    }

    /// What was not read because of them.
    pub(super) fn gaps(&self) -> impl Iterator<Item = &Gap> {
        self.0.values().filter(|it| it.doubt >= Doubt::Namespace).map(|it| &it.gap)
    }

    /// What could not be read of objects that are judged nevertheless.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.values().filter(|it| it.doubt == Doubt::Field).map(|it| &*it.gap.reason)
    }
}

fn key(kind: Kind, namespace: &str, name: &str) -> ObjectKey {
    let namespace = kind.is_namespaced().then(|| Text::from(namespace));
    ObjectKey { kind, namespace, name: name.into() }
}

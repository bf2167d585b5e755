//! Coverage: which kinds were read, in which namespaces, and objects of which something could not be
//! read.

use std::collections::BTreeMap;

use super::{Doubt, Gap, OddObject, Reach};
use crate::model::{Kind, ObjectKey, Text};

/// The result of a lookup: `Err` means that the answer depends on something that was not read.
pub type Seen<T> = Result<T, Unseen>;

/// Reason why a lookup cannot answer: something was not read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Unseen {
    /// The kind.
    pub kind: Kind,
    /// The namespace, or `None` for all.
    pub namespace: Option<Text>,
    /// The reason, for the user: lower case, no full stop.
    pub reason: String,
}

/// Extent to which a kind was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Coverage {
    /// A list is being read since this point in the order of changes.
    Listing { began: u64 },
    /// Read completely, by a list that began and ended at these points in the order of changes.
    Seen { began: u64, ended: u64 },
    /// Not read, or not completely.
    Gap(Gap),
    /// The server does not serve it: no objects exist.
    NotServed,
    /// Not read, and a gap only for rules about the guard that need it; no gap of an inventory that lies in the cluster.
    Withheld(Gap),
}

impl Coverage {
    /// The coverage of a kind that a dump lacks or holds in part: `Withheld` for the guard and for inventories, which few
    /// dumps hold.
    pub fn unread(gap: Gap) -> Self {
        let is_aside = gap.kind.is_of_guard() || gap.kind.is_inventory();
        if is_aside { Self::Withheld(gap) } else { Self::Gap(gap) }
    }
}

/// The coverage of every kind, as a whole and by namespace.
#[derive(Debug, Default)]
pub(super) struct Coverages(BTreeMap<Reach, Coverage>);

impl Coverages {
    /// Sets the coverage within reach, and returns whether it changed.
    ///
    /// The whole includes every part: what was said of single namespaces is history as soon as
    /// anything is said of all. Otherwise the gap of a namespace that was deleted would remain, and
    /// the list of one that was deleted and created again would prove absence in the new one.
    pub(super) fn set(&mut self, reach: Reach, coverage: Coverage) -> bool {
        let before = self.0.len();
        if reach.namespace.is_none() {
            self.0.retain(|known, _| known.kind != reach.kind || known.namespace.is_none());
        }
        let drops_parts = self.0.len() < before;
        let is_known = self.0.get(&reach) == Some(&coverage);
        self.0.insert(reach, coverage);
        drops_parts || !is_known
    }

    pub(super) fn get(&self, reach: &Reach) -> Option<&Coverage> {
        self.0.get(reach)
    }

    /// Returns the coverage that answers for one namespace: its own, else that of the whole.
    pub(super) fn of(&self, kind: Kind, namespace: Option<&Text>) -> Option<&Coverage> {
        namespace
            .and_then(|namespace| {
                self.0.get(&Reach { kind, namespace: Some(Text::clone(namespace)) })
            })
            .or_else(|| self.0.get(&Reach::all(kind)))
    }

    pub(super) fn gaps(&self) -> impl Iterator<Item = &Gap> {
        self.0.values().filter_map(|coverage| match coverage {
            Coverage::Gap(gap) => Some(gap),
            _ => None,
        })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Reach, &Coverage)> {
        self.0.iter()
    }

    /// Returns when the list of everything within reach began and ended.
    pub(super) fn reach(&self, kind: Kind, namespace: Option<&Text>) -> Seen<(u64, u64)> {
        let unseen = |reason: String| Unseen { kind, namespace: namespace.cloned(), reason };
        match self.of(kind, namespace) {
            Some(Coverage::Seen { began, ended }) => Ok((*began, *ended)),
            Some(Coverage::NotServed) => Ok((u64::MAX, 0)),
            Some(Coverage::Gap(gap) | Coverage::Withheld(gap)) => Err(unseen(gap.reason.clone())),
            Some(Coverage::Listing { .. }) => {
                Err(unseen(format!("{} are still being listed", kind.plural())))
            }
            None => Err(unseen(format!("{} were not read", kind.plural()))),
        }
    }
}

/// The objects that could not be read in full, each with its unreadable part.
#[derive(Debug, Default)]
pub(super) struct OddObjects(BTreeMap<ObjectKey, OddEntry>);

/// Unreadable part of one object.
#[derive(Debug)]
pub(super) struct OddEntry {
    doubt: Doubt,
    gap: Gap,
    /// Point in the order of changes at which the object was last seen.
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

    /// Removes an object, and returns whether its judgement was in doubt.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> bool {
        self.take(key).is_some_and(|it| it.doubt > Doubt::Field)
    }

    /// Removes an object by kind, namespace and name, and returns whether its judgement was in doubt.
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

    /// Fails where anything but sizes and times of an object could not be read.
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

    /// Fails where an object that could not be read may concern a lookup in this kind and namespace. An object of a
    /// namespace has nothing to do with what is looked for in another one.
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

    /// Gaps that odd objects leave.
    pub(super) fn gaps(&self) -> impl Iterator<Item = &Gap> {
        self.0.values().filter(|it| it.doubt >= Doubt::Namespace).map(|it| &it.gap)
    }

    /// Unreadable fields of objects that are judged nevertheless.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.values().filter(|it| it.doubt == Doubt::Field).map(|it| &*it.gap.reason)
    }
}

fn key(kind: Kind, namespace: &str, name: &str) -> ObjectKey {
    let namespace = kind.is_namespaced().then(|| Text::from(namespace));
    ObjectKey { kind, namespace, name: name.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_all_replaces_what_was_said_of_namespaces() {
        let (all, kind) = (Reach::all(Kind::Pod), Kind::Pod);
        let part = |kind: Kind| Reach { kind, namespace: Some("shop".into()) };
        let gap = |namespace: Option<Text>| {
            Coverage::Gap(Gap { kind, namespace, reason: "forbidden".to_owned() })
        };
        let seen = Coverage::Seen { began: 1, ended: 2 };
        for whole in [gap(None), Coverage::NotServed, Coverage::Listing { began: 3 }, seen.clone()]
        {
            for before in [gap(Some("shop".into())), seen.clone()] {
                let mut coverages = Coverages::default();
                assert!(coverages.set(all.clone(), whole.clone()));
                assert!(!coverages.set(all.clone(), whole.clone()));
                assert!(coverages.set(part(kind), before.clone()));
                assert!(coverages.set(part(Kind::PersistentVolumeClaim), before.clone()));
                // Of the whole it is nothing new, but of its part.
                assert!(coverages.set(all.clone(), whole.clone()));
                assert_eq!(coverages.get(&part(kind)), None);
                assert_eq!(coverages.of(kind, Some(&"shop".into())), Some(&whole));
                // What is said of a part afterwards is of this part, and of no other kind.
                assert!(coverages.set(part(kind), before.clone()));
                assert_eq!(coverages.of(kind, Some(&"shop".into())), Some(&before));
                assert_eq!(coverages.of(kind, None), Some(&whole));
                assert_eq!(coverages.get(&part(Kind::PersistentVolumeClaim)), Some(&before));
            }
        }
    }
}

//! Rows of one kind, found by name.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::model::{
    Attachment, AttributesClass, Autoscaler, Claim, CsiDriver, CsiNode, Event, Kind, Lease, Node,
    ObjectId, PodUse, SnapshotContent, StorageClass, Volume, VolumeSnapshot, Workload,
};

/// A row that is found by kind, namespace and name.
pub(super) trait Named {
    /// Kind, namespace (empty for cluster-wide kinds) and name.
    fn identity(&self) -> (Kind, &str, &str);
}

/// The rows of one table, in slots with small ids, and where to find them by name.
#[derive(Debug)]
pub(super) struct Table<R> {
    slots: Vec<Option<Slot<R>>>,
    free: Vec<ObjectId>,
    names: HashTable<ObjectId>,
    hasher: DefaultHashBuilder,
}

#[derive(Debug)]
struct Slot<R> {
    /// When it was last seen, in the order of changes.
    seen: u64,
    row: Box<R>,
}

impl<R> Default for Table<R> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            names: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl<R: Named> Table<R> {
    pub(super) fn find(&self, kind: Kind, namespace: &str, name: &str) -> Option<ObjectId> {
        let hash = self.hasher.hash_one((kind, namespace, name));
        let is_it = |id: &ObjectId| {
            self.get(*id).is_some_and(|row| row.identity() == (kind, namespace, name))
        };
        self.names.find(hash, is_it).copied()
    }

    pub(super) fn get(&self, id: ObjectId) -> Option<&R> {
        self.slots.get(id as usize)?.as_ref().map(|slot| &*slot.row)
    }

    /// Puts a row into the slot of its namesake, or into a free one.
    pub(super) fn insert(&mut self, row: Box<R>, seen: u64) -> ObjectId {
        let (kind, namespace, name) = row.identity();
        if let Some(id) = self.find(kind, namespace, name) {
            self.slots[id as usize] = Some(Slot { seen, row });
            return id;
        }
        let hash = self.hasher.hash_one((kind, namespace, name));
        let slot = Some(Slot { seen, row });
        let id = if let Some(id) = self.free.pop() {
            self.slots[id as usize] = slot;
            id
        } else {
            self.slots.push(slot);
            ObjectId::try_from(self.slots.len() - 1).expect("because no cluster has 2^32 objects")
        };
        let (slots, hasher) = (&self.slots, &self.hasher);
        self.names.insert_unique(hash, id, |id| {
            slots[*id as usize].as_ref().map_or(0, |slot| hasher.hash_one(slot.row.identity()))
        });
        id
    }

    pub(super) fn remove(&mut self, id: ObjectId) -> Option<Box<R>> {
        let hash = self.hasher.hash_one(self.get(id)?.identity());
        if let Ok(entry) = self.names.find_entry(hash, |known| *known == id) {
            entry.remove();
        }
        self.free.push(id);
        self.slots[id as usize].take().map(|slot| slot.row)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ObjectId, &R)> + Clone {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let row = slot.as_ref().map(|slot| &*slot.row)?;
            Some((ObjectId::try_from(index).ok()?, row))
        })
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Returns what was last seen before a point in the order of changes.
    pub(super) fn unseen_since(
        &self,
        began: u64,
        kind: Kind,
        namespace: Option<&str>,
    ) -> Vec<ObjectId> {
        let stale = |slot: &Slot<R>| {
            let (known, place, _) = slot.row.identity();
            slot.seen < began
                && known == kind
                && namespace.is_none_or(|namespace| namespace == place)
        };
        let ids =
            self.slots.iter().enumerate().filter(|(_, slot)| slot.as_ref().is_some_and(stale));
        ids.filter_map(|(index, _)| ObjectId::try_from(index).ok()).collect()
    }
}

macro_rules! named {
    ($($row:ty: $row_name:ident => $kind:expr, $namespace:expr, $name:expr;)+) => {$(
        impl Named for $row {
            fn identity(&self) -> (Kind, &str, &str) {
                let $row_name = self;
                ($kind, $namespace, $name)
            }
        }
    )+};
}

named! {
    Volume: row => Kind::PersistentVolume, "", &row.metadata.name;
    Claim: row => Kind::PersistentVolumeClaim, &row.namespace, &row.metadata.name;
    PodUse: row => Kind::Pod, &row.namespace, &row.name;
    Workload: row => row.kind, &row.namespace, &row.name;
    Autoscaler: row => Kind::HorizontalPodAutoscaler, &row.namespace, &row.name;
    Node: row => Kind::Node, "", &row.metadata.name;
    StorageClass: row => Kind::StorageClass, "", &row.metadata.name;
    AttributesClass: row => Kind::VolumeAttributesClass, "", &row.metadata.name;
    CsiDriver: row => Kind::CsiDriver, "", &row.metadata.name;
    CsiNode: row => Kind::CsiNode, "", &row.metadata.name;
    Attachment: row => Kind::VolumeAttachment, "", &row.metadata.name;
    Lease: row => Kind::Lease, &row.namespace, &row.metadata.name;
    Event: row => Kind::Event, &row.namespace, &row.name;
    VolumeSnapshot: row => Kind::VolumeSnapshot, &row.namespace, &row.metadata.name;
    SnapshotContent: row => row.kind, "", &row.metadata.name;
}

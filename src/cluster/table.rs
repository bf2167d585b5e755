//! Tables: the rows of one type, by id and by name; and the links of a type of row: the indexes by which it is found,
//! and the subjects whose judgement rests on it.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::indexes::{EntryChange, Indexes};
use super::{Cluster, Dirty};
use crate::model::{Kind, NamedRow, ObjectId, for_each_row};

/// A type of row with a table.
pub(super) trait Stored: NamedRow + PartialEq + Sized {
    /// The table of this type of row.
    fn table(tables: &Tables) -> &RowTable<Self>;

    /// The table of this type of row, to change it.
    fn table_mut(tables: &mut Tables) -> &mut RowTable<Self>;
}

/// A row with index entries, and with subjects that rest on it.
pub(super) trait Linked: Stored {
    /// Adds the row to the indexes by which lookups find it, or removes it from them.
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes);

    /// Marks the subjects whose judgement may rest on the row.
    ///
    /// This is the reverse of what lookups of [`Cx`](super::Cx) do, before a change and after it.
    fn touch(&self, id: ObjectId, cluster: &Cluster, dirty: &mut Dirty);

    /// Marks the drivers whose facts rest on the row; not called where these stay the same with a change.
    fn touch_drivers(&self, _: &mut Dirty) {}

    /// Whether the row contributes the same to the facts of these drivers as before a change.
    fn tells_the_same_of_drivers(&self, _before: &Self) -> bool {
        true
    }
}

macro_rules! declare_tables {
    ($($table:ident: $variant:ident($row:ident) [$($kind:ident)+] $($field:ident)+;)+) => {
        /// One table for each type of row.
        #[derive(Debug, Default)]
        pub(super) struct Tables {
            $(pub(super) $table: RowTable<crate::model::$row>,)+
        }

        $(impl Stored for crate::model::$row {
            fn table(tables: &Tables) -> &RowTable<Self> {
                &tables.$table
            }

            fn table_mut(tables: &mut Tables) -> &mut RowTable<Self> {
                &mut tables.$table
            }
        })+
    };
}

for_each_row!(declare_tables);

/// The rows of one type, in slots with small ids, and an index of their names.
#[derive(Debug)]
pub(super) struct RowTable<R> {
    slots: Vec<Option<Slot<R>>>,
    free: Vec<ObjectId>,
    names: HashTable<ObjectId>,
    hasher: DefaultHashBuilder,
}

#[derive(Debug)]
struct Slot<R> {
    /// Point in the order of changes at which the row was last put.
    seen: u64,
    row: Box<R>,
}

impl<R> Default for RowTable<R> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            names: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl<R: NamedRow> RowTable<R> {
    pub(super) fn find(&self, kind: Kind, namespace: &str, name: &str) -> Option<ObjectId> {
        let hash = self.hasher.hash_one((kind, namespace, name));
        let is_it = |id: &ObjectId| {
            self.get(*id).is_some_and(|row| row.identity() == (kind, namespace, name))
        };
        self.names.find(hash, is_it).copied()
    }

    /// Returns the row of this kind, namespace (empty for cluster-wide kinds) and name.
    pub(super) fn named(&self, kind: Kind, namespace: &str, name: &str) -> Option<&R> {
        self.get(self.find(kind, namespace, name)?)
    }

    pub(super) fn get(&self, id: ObjectId) -> Option<&R> {
        self.slots.get(id as usize)?.as_ref().map(|slot| &*slot.row)
    }

    /// Puts a row into the slot of the row with the same key, or into a free one.
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

    /// Changes a row in place, but not its name.
    pub(super) fn change(&mut self, id: ObjectId, change: impl FnOnce(&mut R)) {
        if let Some(Some(slot)) = self.slots.get_mut(id as usize) {
            change(&mut slot.row);
        }
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

    /// Returns the rows that were last listed before a point in the order of changes.
    pub(super) fn listed_before(
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

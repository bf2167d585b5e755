//! Indexes: which rows reference a volume, a claim, a class, a node, a driver…, from hashed keys to
//! the ids of rows, without copies of the keys.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hash};
use std::slice;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::model::ObjectId;

/// Indexes of the rows that hold a reference, by the referenced object.
#[derive(Debug, Default)]
pub(super) struct Indexes {
    pub(super) volumes_by_place: Index,
    pub(super) volumes_by_token: Index,
    pub(super) volumes_by_claim: Index,
    pub(super) volumes_by_driver: Index,
    pub(super) volumes_by_class: Index,
    pub(super) volumes_by_secret: Index,
    pub(super) volumes_by_attributes: Index,
    pub(super) claims_by_volume: Index,
    pub(super) claims_by_stem: Index,
    pub(super) claims_by_owner: Index,
    pub(super) claims_by_source: Index,
    pub(super) claims_by_class: Index,
    pub(super) claims_by_node: Index,
    pub(super) claims_by_attributes: Index,
    /// Pending claims without a class, which wait for a default class.
    pub(super) classless_claims: BTreeSet<ObjectId>,
    pub(super) pods_by_claim: Index,
    pub(super) pods_by_set: Index,
    /// By the name of their controller, and by the beginning of its name that is before the last hyphen: what controls it.
    pub(super) pods_by_controller: Index,
    pub(super) pods_by_place: Index,
    pub(super) pods_by_token: Index,
    pub(super) workloads_by_place: Index,
    pub(super) workloads_by_token: Index,
    pub(super) pods_by_node: Index,
    pub(super) workloads_by_claim: Index,
    pub(super) workloads_by_controller: Index,
    pub(super) sets_by_stem: Index,
    pub(super) sidecar_workloads: BTreeSet<ObjectId>,
    pub(super) autoscalers_by_target: Index,
    pub(super) volume_snapshots_by_claim: Index,
    pub(super) attachments_by_volume: Index,
    pub(super) attachments_by_node: Index,
    pub(super) attachments_by_place: Index,
    pub(super) attachments_by_token: Index,
    pub(super) snapshots_by_place: Index,
    pub(super) contents_by_snapshot: Index,
    pub(super) nodes_by_label: Index,
    pub(super) nodes_by_place: Index,
    pub(super) csi_nodes_by_driver: Index,
    pub(super) leases_by_name: Index,
    pub(super) events_by_object: Index,
    pub(super) sidecar_pods: BTreeSet<ObjectId>,
}

/// Change of the index entries of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum EntryChange {
    Add,
    Remove,
}

impl EntryChange {
    /// Adds or removes the entry of a row in an index.
    pub(super) fn apply(self, index: &mut Index, key: impl Hash, id: ObjectId) {
        match self {
            Self::Add => index.insert(key, id),
            Self::Remove => index.remove(key, id),
        }
    }

    /// Adds a row to a set, or removes it.
    pub(super) fn mark(self, ids: &mut BTreeSet<ObjectId>, id: ObjectId) {
        match self {
            Self::Add => ids.insert(id),
            Self::Remove => ids.remove(&id),
        };
    }
}

/// Ids of rows under the hash of a key that they contain.
///
/// The keys themselves are only in the rows: a lookup returns candidates, and the caller compares.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: HashTable<IndexEntry>,
    /// Sorted ids of each entry with more than one row: a driver or a class has as many rows as volumes.
    many: Vec<Vec<ObjectId>>,
    /// Free places in `many`.
    free: Vec<u32>,
    hasher: DefaultHashBuilder,
}

/// The rows under one hash, in twelve bytes, since there may be an entry for each row.
#[derive(Debug)]
struct IndexEntry {
    hash: [u32; 2],
    /// The ids of the rows, mostly one.
    ids: Ids,
}

/// The id of a row, or, with the highest bit set, the place of several ids in `many`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ids(u32);

impl Ids {
    const MANY: u32 = 1 << 31;

    fn many(self) -> Option<usize> {
        (self.0 & Self::MANY != 0).then_some((self.0 & !Self::MANY) as usize)
    }
}

impl IndexEntry {
    fn hash(&self) -> u64 {
        u64::from(self.hash[0]) << 32 | u64::from(self.hash[1])
    }

    #[expect(clippy::cast_possible_truncation, reason = "both halves are kept")]
    fn halves(hash: u64) -> [u32; 2] {
        [(hash >> 32) as u32, hash as u32]
    }
}

impl Index {
    pub(super) fn insert(&mut self, key: impl Hash, id: ObjectId) {
        debug_assert!(id & Ids::MANY == 0, "no cluster has 2^31 objects");
        let hash = self.hasher.hash_one(key);
        let Some(entry) = self.entries.find_mut(hash, |entry| entry.hash() == hash) else {
            let entry = IndexEntry { hash: IndexEntry::halves(hash), ids: Ids(id) };
            self.entries.insert_unique(hash, entry, IndexEntry::hash);
            return;
        };
        match entry.ids.many() {
            None if entry.ids.0 == id => {}
            None => {
                let known = entry.ids.0;
                let ids = vec![id.min(known), id.max(known)];
                let place = if let Some(place) = self.free.pop() {
                    self.many[place as usize] = ids;
                    place
                } else {
                    self.many.push(ids);
                    u32::try_from(self.many.len() - 1)
                        .expect("because there are no more lists than rows")
                };
                entry.ids = Ids(place | Ids::MANY);
            }
            Some(place) => {
                let ids = &mut self.many[place];
                if let Err(place) = ids.binary_search(&id) {
                    ids.insert(place, id);
                }
            }
        }
    }

    pub(super) fn remove(&mut self, key: impl Hash, id: ObjectId) {
        let hash = self.hasher.hash_one(key);
        let Ok(mut found) = self.entries.find_entry(hash, |entry| entry.hash() == hash) else {
            return;
        };
        let ids = found.get().ids;
        match ids.many() {
            None if ids.0 == id => {
                found.remove();
            }
            None => {}
            Some(place) => {
                let known = &mut self.many[place];
                if let Ok(at) = known.binary_search(&id) {
                    known.remove(at);
                }
                if let [last] = known[..] {
                    *known = Vec::new();
                    self.free.push(ids.0 & !Ids::MANY);
                    found.get_mut().ids = Ids(last);
                }
            }
        }
    }

    /// Returns the ids of rows that may contain `key`, each once.
    pub(super) fn candidates(&self, key: impl Hash) -> impl Iterator<Item = ObjectId> + '_ {
        let hash = self.hasher.hash_one(key);
        let entry = self.entries.find(hash, |entry| entry.hash() == hash);
        let ids = match entry {
            None => &[][..],
            Some(entry) => match entry.ids.many() {
                None => slice::from_ref(&entry.ids.0),
                Some(place) => &self.many[place],
            },
        };
        ids.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_once_until_it_is_removed() {
        let mut index = Index::default();
        let found = |index: &Index, key: &str| index.candidates(key).collect::<Vec<_>>();
        for id in [7, 3, 9, 3, 7] {
            index.insert("gp3", id);
        }
        index.insert("own", 1);
        assert_eq!(found(&index, "gp3"), [3, 7, 9]);
        assert_eq!(found(&index, "own"), [1]);
        for (id, left) in [(9, &[3, 7][..]), (4, &[3, 7]), (3, &[7]), (3, &[7]), (7, &[]), (7, &[])]
        {
            index.remove("gp3", id);
            assert_eq!(found(&index, "gp3"), left);
        }
        index.remove("own", 2);
        assert_eq!(found(&index, "own"), [1]);
    }

    #[test]
    fn a_place_for_several_rows_is_used_again_and_by_one_key_at_a_time() {
        let mut index = Index::default();
        let found = |index: &Index, key: &str| index.candidates(key).collect::<Vec<_>>();
        for key in ["a", "b", "c"] {
            index.insert(key, 1);
            index.insert(key, 2);
        }
        index.remove("a", 1);
        index.remove("b", 2);
        index.insert("d", 8);
        index.insert("d", 9);
        index.insert("a", 3);
        assert_eq!(index.many.len(), 3);
        assert_eq!([found(&index, "a"), found(&index, "b")], [vec![2, 3], vec![1]]);
        assert_eq!([found(&index, "c"), found(&index, "d")], [vec![1, 2], vec![8, 9]]);
    }
}

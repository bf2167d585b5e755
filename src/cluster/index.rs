//! Finding rows by what they name, without repeating it.

use std::{
    hash::{BuildHasher, Hash},
    slice,
};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::model::ObjectId;

/// Ids of rows under the hash of what they name.
///
/// The names themselves stay in the rows: a lookup returns candidates, and the caller compares.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: HashTable<Entry>,
    hasher: DefaultHashBuilder,
}

/// The rows under one hash.
#[derive(Debug)]
struct Entry {
    hash: u64,
    ids: Ids,
}

/// Mostly there is one; of a driver or a class there are as many as there are volumes.
#[derive(Debug)]
enum Ids {
    One(ObjectId),
    /// Sorted. Boxed, so that the many entries of one id stay small.
    #[expect(clippy::box_collection, reason = "a vector is three words")]
    Many(Box<Vec<ObjectId>>),
}

impl Ids {
    fn all(&self) -> &[ObjectId] {
        match self {
            Self::One(id) => slice::from_ref(id),
            Self::Many(ids) => ids,
        }
    }
}

impl Index {
    pub(super) fn insert(&mut self, key: impl Hash, id: ObjectId) {
        let hash = self.hasher.hash_one(key);
        let Some(entry) = self.entries.find_mut(hash, |entry| entry.hash == hash) else {
            let entry = Entry { hash, ids: Ids::One(id) };
            self.entries.insert_unique(hash, entry, |entry| entry.hash);
            return;
        };
        match &mut entry.ids {
            Ids::One(known) if *known == id => {}
            Ids::One(known) => {
                entry.ids = Ids::Many(Box::new(vec![id.min(*known), id.max(*known)]));
            }
            Ids::Many(ids) => {
                if let Err(place) = ids.binary_search(&id) {
                    ids.insert(place, id);
                }
            }
        }
    }

    pub(super) fn remove(&mut self, key: impl Hash, id: ObjectId) {
        let hash = self.hasher.hash_one(key);
        let Ok(mut found) = self.entries.find_entry(hash, |entry| entry.hash == hash) else {
            return;
        };
        match &mut found.get_mut().ids {
            Ids::One(known) if *known == id => {
                found.remove();
            }
            Ids::One(_) => {}
            Ids::Many(ids) => {
                if let Ok(place) = ids.binary_search(&id) {
                    ids.remove(place);
                }
                if let [last] = ids[..] {
                    found.get_mut().ids = Ids::One(last);
                }
            }
        }
    }

    /// Returns the ids of rows that may name `key`, each once.
    pub(super) fn candidates(&self, key: impl Hash) -> impl Iterator<Item = ObjectId> + '_ {
        let hash = self.hasher.hash_one(key);
        let entry = self.entries.find(hash, |entry| entry.hash == hash);
        entry.map_or(&[][..], |entry| entry.ids.all()).iter().copied()
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
}

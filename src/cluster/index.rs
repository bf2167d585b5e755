//! Finding rows by what they name, without repeating it.

use std::hash::{BuildHasher, Hash};

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    hash: u64,
    id: ObjectId,
}

impl Index {
    pub(super) fn insert(&mut self, key: impl Hash, id: ObjectId) {
        let entry = Entry { hash: self.hasher.hash_one(key), id };
        if self.entries.find(entry.hash, |known| *known == entry).is_none() {
            self.entries.insert_unique(entry.hash, entry, |entry| entry.hash);
        }
    }

    pub(super) fn remove(&mut self, key: impl Hash, id: ObjectId) {
        let entry = Entry { hash: self.hasher.hash_one(key), id };
        if let Ok(found) = self.entries.find_entry(entry.hash, |known| *known == entry) {
            found.remove();
        }
    }

    /// Returns the ids of rows that may name `key`, each once.
    pub(super) fn candidates(&self, key: impl Hash) -> impl Iterator<Item = ObjectId> + '_ {
        let hash = self.hasher.hash_one(key);
        self.entries.iter_hash(hash).filter(move |entry| entry.hash == hash).map(|entry| entry.id)
    }
}

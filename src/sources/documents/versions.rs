//! Comparison of the versions of an object that is in the inputs more than once.
//!
//! Forty-eight bytes are kept of each object, whatever its size.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
};

use hashbrown::HashMap;

use super::Occurrences;
use crate::dump;
use crate::model::{Kind, ObjectKey};

/// Stamp of an object and its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ObjectStamp {
    key: u64,
    state: KnownVersion,
}

/// Version of an object, in a few bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KnownVersion {
    uid: u64,
    version: VersionStamp,
    /// The digits of the object's creation timestamp; 0 if it has none.
    created: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VersionStamp {
    /// A `resourceVersion` that is a number: a higher one is newer, as long as the uid is the same
    /// (KEP-5504, and what every API server on etcd has always done).
    Number(u64),
    /// Another `resourceVersion`, or in its place the object itself: equal or not, and no more.
    Other(u64),
    /// Two versions of which it is unknown which is the newer one.
    Contradictory,
}

/// Decision about an object that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionOrder {
    /// The object is taken in.
    New,
    /// The object is taken in instead of the version that is known.
    Newer,
    /// The object is left: this very version, or a newer one, is known, or nothing tells which it would be.
    Known,
    /// The object is left, and the known version is taken back: nothing tells which of them is the newer one.
    Contradictory,
}

/// All versions that were read.
#[derive(Default)]
pub(super) struct ObjectVersions {
    hasher: RandomState,
    known: HashMap<u64, KnownVersion>,
    /// Objects of which an older version was read as well.
    pub(super) older: Occurrences,
    /// Objects of which it is unknown which version is the newer one.
    pub(super) unordered: BTreeMap<Kind, Occurrences>,
}

impl ObjectVersions {
    /// Returns the stamp of an object.
    pub(super) fn stamp(hasher: &RandomState, object: &dump::DumpObject<'_>) -> ObjectStamp {
        let version = match object.resource_version {
            "" => VersionStamp::Other(hasher.hash_one(object.body)),
            text => match text.parse() {
                Ok(number) => VersionStamp::Number(number),
                Err(_) => VersionStamp::Other(hasher.hash_one(text)),
            },
        };
        let uid = hasher.hash_one(object.uid);
        let created = object.created.bytes().filter(u8::is_ascii_digit).take(14);
        let created = created.fold(0, |digits, digit| digits * 10 + u64::from(digit - b'0'));
        ObjectStamp {
            key: hasher.hash_one((object.kind, object.namespace, object.name)),
            state: KnownVersion { uid, version, created },
        }
    }

    /// Returns the hasher of the stamps that are compared here.
    pub(super) fn hasher(&self) -> RandomState {
        self.hasher.clone()
    }

    /// Decides about an object. `at_once` is whether the input itself vouches for its moment: what
    /// it says last then holds.
    pub(super) fn judge(
        &mut self,
        stamp: ObjectStamp,
        at_once: bool,
        object: impl FnOnce() -> (ObjectKey, String),
    ) -> VersionOrder {
        let new = stamp.state;
        let Some(known) = self.known.insert(stamp.key, new) else { return VersionOrder::New };
        if known.version == VersionStamp::Contradictory {
            self.known.insert(stamp.key, known);
            return VersionOrder::Known;
        }
        if (known.uid, known.version) == (new.uid, new.version) {
            return VersionOrder::Known;
        }
        let is_newer = known.is_older_than(new);
        if at_once && !(is_newer.is_some() && known.uid == new.uid) {
            return VersionOrder::Newer;
        }
        let Some(is_newer) = is_newer else {
            self.known
                .insert(stamp.key, KnownVersion { version: VersionStamp::Contradictory, ..new });
            let (key, origin) = object();
            let tally = self.unordered.entry(key.kind).or_default();
            tally.add(|| format!("{key} in the inputs, the second in {origin}"));
            return VersionOrder::Contradictory;
        };
        if !is_newer {
            self.known.insert(stamp.key, known);
        }
        if !at_once {
            let (key, origin) = object();
            self.older.add(|| format!("{key} in the inputs, the second in {origin}"));
        }
        if is_newer { VersionOrder::Newer } else { VersionOrder::Known }
    }
}

impl KnownVersion {
    /// Returns whether another version of the same name is newer, where that is certain.
    ///
    /// Of one object that is what the `resourceVersion` says. An object that was created anew is the
    /// newer one, unless its `resourceVersion` contradicts: then they are of different clusters.
    fn is_older_than(self, new: Self) -> Option<bool> {
        let numbers = match (self.version, new.version) {
            (VersionStamp::Number(old), VersionStamp::Number(new)) => Some(new > old),
            _ => None,
        };
        if self.uid == new.uid {
            return numbers;
        }
        let both_known = self.created > 0 && new.created > 0 && self.created != new.created;
        let created = both_known.then_some(new.created > self.created)?;
        numbers.is_none_or(|numbers| numbers == created).then_some(created)
    }
}

//! The versions of objects that were read: inputs that show two of the same object were not taken
//! at one moment.
//!
//! Forty-eight bytes are kept of each object, whatever its size.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
};

use hashbrown::HashMap;

use super::Tally;
use crate::dump;
use crate::model::{Kind, ObjectKey};

/// Which version of which object this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    key: u64,
    state: State,
}

/// What is known of the version of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    uid: u64,
    version: Version,
    /// The digits of its creation timestamp; 0 if it has none.
    created: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// A `resourceVersion` that is a number: a higher one is newer, as long as the uid is the same
    /// (KEP-5504, and what every API server on etcd has always done).
    Number(u64),
    /// One that is not, or in its place the object itself: equal or not, and no more.
    Other(u64),
    /// Two of which nothing tells which is the newer one.
    Contradictory,
}

/// What to do with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Take it in.
    New,
    /// Take it in instead of the one that is there.
    Newer,
    /// Leave it: this very version, or a newer one, is there, or nothing tells which it would be.
    Known,
    /// Leave it, and take back the one that is there: nothing tells which of them is the newer one.
    Contradictory,
}

/// All versions that were read.
#[derive(Default)]
pub(super) struct Versions {
    hasher: RandomState,
    known: HashMap<u64, State>,
    /// Objects of which an older version was there as well.
    pub(super) older: Tally,
    /// Objects of which nobody can tell which version is the newer one.
    pub(super) unordered: BTreeMap<Kind, Tally>,
}

impl Versions {
    /// Returns the stamp of an object.
    pub(super) fn stamp(hasher: &RandomState, object: &dump::Object<'_>) -> Stamp {
        let version = match object.resource_version {
            "" => Version::Other(hasher.hash_one(object.body)),
            text => match text.parse() {
                Ok(number) => Version::Number(number),
                Err(_) => Version::Other(hasher.hash_one(text)),
            },
        };
        let uid = hasher.hash_one(object.uid);
        let created = object.created.bytes().filter(u8::is_ascii_digit).take(14);
        let created = created.fold(0, |digits, digit| digits * 10 + u64::from(digit - b'0'));
        Stamp {
            key: hasher.hash_one((object.kind, object.namespace, object.name)),
            state: State { uid, version, created },
        }
    }

    /// What hashes the stamps that are compared here.
    pub(super) fn hasher(&self) -> RandomState {
        self.hasher.clone()
    }

    /// Decides about an object. `at_once` is whether the input itself vouches for its moment: what
    /// it says last then holds.
    pub(super) fn judge(
        &mut self,
        stamp: Stamp,
        at_once: bool,
        object: impl FnOnce() -> (ObjectKey, String),
    ) -> Verdict {
        let new = stamp.state;
        let Some(known) = self.known.insert(stamp.key, new) else { return Verdict::New };
        if known.version == Version::Contradictory {
            self.known.insert(stamp.key, known);
            return Verdict::Known;
        }
        if (known.uid, known.version) == (new.uid, new.version) {
            return Verdict::Known;
        }
        let is_newer = known.is_older_than(new);
        if at_once && !(is_newer.is_some() && known.uid == new.uid) {
            return Verdict::Newer;
        }
        let Some(is_newer) = is_newer else {
            self.known.insert(stamp.key, State { version: Version::Contradictory, ..new });
            let (key, origin) = object();
            let tally = self.unordered.entry(key.kind).or_default();
            tally.add(|| format!("{key} in the inputs, the second in {origin}"));
            return Verdict::Contradictory;
        };
        if !is_newer {
            self.known.insert(stamp.key, known);
        }
        if !at_once {
            let (key, origin) = object();
            self.older.add(|| format!("{key} in the inputs, the second in {origin}"));
        }
        if is_newer { Verdict::Newer } else { Verdict::Known }
    }
}

impl State {
    /// Returns whether another version of the same name is newer, where that is certain.
    ///
    /// Of one object that is what the `resourceVersion` says. An object that was created anew is the
    /// newer one, unless its `resourceVersion` contradicts: then they are of different clusters.
    fn is_older_than(self, new: Self) -> Option<bool> {
        let numbers = match (self.version, new.version) {
            (Version::Number(old), Version::Number(new)) => Some(new > old),
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

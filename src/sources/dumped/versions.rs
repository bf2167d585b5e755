//! The versions of objects that were read: inputs that show two of the same object were not taken
//! at one moment.
//!
//! Forty bytes are kept of each object, whatever its size.

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
    uid: u64,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// A `resourceVersion` that is a number: a higher one is newer, as long as the uid is the same
    /// (KEP-5504, and what every API server on etcd has always done).
    Number(u64),
    /// One that is not, or in its place the object itself: equal or not, and no more.
    Other(u64),
}

/// What to do with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Take it in.
    New,
    /// Take it in instead of the one that is there.
    Newer,
    /// Leave it: this very version, or a newer one, is there.
    Known,
}

/// All versions that were read.
#[derive(Default)]
pub(super) struct Versions {
    hasher: RandomState,
    known: HashMap<u64, (u64, Version)>,
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
        Stamp {
            key: hasher.hash_one((object.kind, object.namespace, object.name)),
            uid: hasher.hash_one(object.uid),
            version,
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
        let new = (stamp.uid, stamp.version);
        let Some(known) = self.known.insert(stamp.key, new) else { return Verdict::New };
        if known == new {
            return Verdict::Known;
        }
        let verdict = match (known, new) {
            ((old_uid, Version::Number(old)), (uid, Version::Number(new))) if old_uid == uid => {
                if new > old {
                    Verdict::Newer
                } else {
                    Verdict::Known
                }
            }
            _ if at_once => return Verdict::Newer,
            _ => {
                let (key, origin) = object();
                let tally = self.unordered.entry(key.kind).or_default();
                tally.add(|| format!("{key} in the inputs, the second in {origin}"));
                return Verdict::Newer;
            }
        };
        if verdict == Verdict::Known {
            self.known.insert(stamp.key, known);
        }
        if !at_once {
            let (key, origin) = object();
            self.older.add(|| format!("{key} in the inputs, the second in {origin}"));
        }
        verdict
    }
}

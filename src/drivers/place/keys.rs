//! Keys by which overlapping places are found without comparing all with all.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Extent, Place};

/// A key of the index of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlaceKey {
    /// What is exactly here.
    At(u64),
    /// What is in this directory, at any depth.
    Beneath(u64),
    /// What is undecided in this space.
    Undecided(u64),
    /// Everything in this space.
    Space(u64),
}

/// The bytes by which names are found that may be equal: in lower case, and a single one for every
/// name with characters that Unicode writes in more than one form.
fn loose(name: &str) -> impl Iterator<Item = u8> {
    let plain = if name.is_ascii() { name } else { "\u{0}" };
    plain.bytes().map(|byte| byte.to_ascii_lowercase())
}

impl Place<'_> {
    /// The keys under which a place is found: itself, and each directory around it.
    pub fn keys(&self) -> Vec<PlaceKey> {
        let (whole, around) = self.hashes();
        let mut keys = vec![PlaceKey::At(whole), PlaceKey::Space(self.space_hash())];
        keys.extend(around.into_iter().map(PlaceKey::Beneath));
        if matches!(self.extent, Extent::Undecided(..)) {
            keys.push(PlaceKey::Undecided(self.space_hash()));
        }
        keys
    }

    /// The keys under which places are found that overlap with it, or may: those at the same place,
    /// in it, and around it, and the undecided ones of its space. An undecided place may overlap with
    /// everything in its space.
    pub fn searches(&self) -> Vec<PlaceKey> {
        if matches!(self.extent, Extent::Undecided(..)) {
            return vec![PlaceKey::Space(self.space_hash())];
        }
        let (whole, around) = self.hashes();
        let mut keys = vec![PlaceKey::At(whole)];
        keys.extend(around.into_iter().map(PlaceKey::At));
        if matches!(self.extent, Extent::Directory(_) | Extent::Within(..)) {
            keys.push(PlaceKey::Beneath(whole));
        }
        keys.push(PlaceKey::Undecided(self.space_hash()));
        keys
    }

    fn space_hash(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        self.space.hash(&mut hash);
        hash.finish()
    }

    /// The hash of the place, and those of the directories around it. Names that are compared
    /// loosely have one hash.
    fn hashes(&self) -> (u64, Vec<u64>) {
        let mut hash = DefaultHasher::new();
        self.space.hash(&mut hash);
        let mut step = |name: &str| {
            loose(name).for_each(|byte| hash.write_u8(byte));
            hash.write_u8(0xff);
            hash.finish()
        };
        match &self.extent {
            Extent::Device(name) | Extent::Undecided(name, _) => (step(name), Vec::new()),
            Extent::Directory(path) | Extent::Within(path, _) => {
                let mut around = vec![step("/")];
                around.extend(path.iter().map(|name| step(name)));
                let whole = around.pop().unwrap_or_default();
                (whole, around)
            }
        }
    }
}

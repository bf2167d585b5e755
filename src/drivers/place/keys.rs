//! Keys by which overlapping places are found without comparing all with all.

use std::{
    borrow::Cow,
    hash::{BuildHasher, Hash, Hasher},
    sync::LazyLock,
};

use hashbrown::DefaultHashBuilder;

use super::{Extent, Place, tails};

/// The hasher of names. It is made anew by each process: whoever names volumes cannot make them
/// collide.
static NAMES: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

/// A key of the index of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlaceKey {
    /// What is exactly here.
    At(u64),
    /// What is in this directory, at any depth.
    Beneath(u64),
    /// What NFSv4 may show exactly here, without the directory that is its root.
    TailAt(u64),
    /// What NFSv4 may show in this directory.
    TailBeneath(u64),
    /// What is undecided in this space.
    Undecided(u64),
    /// Everything in this space.
    Space(u64),
}

/// Adds a name by which others are found that may be equal: in lower case, and a single byte for
/// every name with characters that Unicode writes in more than one form.
fn loose(name: &str, hash: &mut impl Hasher) {
    let plain = if name.is_ascii() { name } else { "\u{0}" };
    for chunk in plain.as_bytes().chunks(64) {
        let mut lower = [0; 64];
        let lower = &mut lower[..chunk.len()];
        lower.copy_from_slice(chunk);
        lower.make_ascii_lowercase();
        hash.write(lower);
    }
    hash.write_u8(0xff);
}

impl Place<'_> {
    /// The keys under which a place is found: itself, and each directory around it.
    pub fn keys(&self) -> Vec<PlaceKey> {
        let mut keys = Vec::with_capacity(self.depth() + 3);
        self.each_hash(|hash| keys.push(PlaceKey::Beneath(hash)));
        if let Some(last) = keys.last_mut()
            && let PlaceKey::Beneath(whole) = *last
        {
            *last = PlaceKey::At(whole);
        }
        for tail in self.path_on_nfs().into_iter().flat_map(tails) {
            self.each_directory(tail, &mut |hash| keys.push(PlaceKey::TailBeneath(hash)));
            if let Some(PlaceKey::TailBeneath(whole)) = keys.last().copied() {
                keys.pop();
                keys.push(PlaceKey::TailAt(whole));
            }
        }
        keys.push(PlaceKey::Space(self.space_hash()));
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
        let mut keys = Vec::with_capacity(self.depth() + 3);
        self.each_hash(|hash| keys.push(PlaceKey::At(hash)));
        if matches!(self.extent, Extent::Directory(_) | Extent::Within(..))
            && let Some(PlaceKey::At(whole)) = keys.last().copied()
        {
            keys.push(PlaceKey::Beneath(whole));
        }
        if let Some(path) = self.path_on_nfs() {
            let mut whole = None;
            self.each_directory(path, &mut |hash| {
                keys.push(PlaceKey::TailAt(hash));
                whole = Some(hash);
            });
            keys.extend(whole.map(PlaceKey::TailBeneath));
            for tail in tails(path) {
                let mut whole = None;
                self.each_directory(tail, &mut |hash| {
                    keys.push(PlaceKey::At(hash));
                    whole = Some(hash);
                });
                keys.extend(whole.map(PlaceKey::Beneath));
            }
        }
        keys.push(PlaceKey::Undecided(self.space_hash()));
        keys
    }

    fn space_hash(&self) -> u64 {
        NAMES.hash_one(&*self.space)
    }

    /// How many components it has.
    fn depth(&self) -> usize {
        match &self.extent {
            Extent::Device(_) | Extent::Undecided(..) => 0,
            Extent::Directory(path) | Extent::Within(path, _) => path.len(),
        }
    }

    /// Takes the hashes of the directories around it, the root first, and at last its own. Names
    /// that are compared loosely have one hash.
    fn each_hash(&self, mut take: impl FnMut(u64)) {
        match &self.extent {
            Extent::Device(name) | Extent::Undecided(name, _) => {
                let mut hash = NAMES.build_hasher();
                self.space.hash(&mut hash);
                loose(name, &mut hash);
                take(hash.finish());
            }
            Extent::Directory(path) | Extent::Within(path, _) => {
                take(self.root_hash().finish());
                self.each_directory(path, &mut take);
            }
        }
    }

    /// The hash of the directory that contains all others of its space, to be continued.
    fn root_hash(&self) -> impl Hasher + use<> {
        let mut hash = NAMES.build_hasher();
        self.space.hash(&mut hash);
        loose("/", &mut hash);
        hash
    }

    /// Takes the hashes of the directories of a path beneath the root, and at last its own.
    fn each_directory(&self, path: &[Cow<'_, str>], take: &mut dyn FnMut(u64)) {
        let mut hash = self.root_hash();
        for name in path {
            loose(name, &mut hash);
            take(hash.finish());
        }
    }
}

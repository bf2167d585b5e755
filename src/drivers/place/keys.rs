//! Keys by which overlapping places are found without comparing all with all.

use std::{
    borrow::Cow,
    hash::{BuildHasher, Hash, Hasher},
    sync::LazyLock,
};

use hashbrown::DefaultHashBuilder;

use super::{ANY_NODE, Extent, Part, Place, one_value, tails};
use crate::drivers::{INLINE, Reference};

/// The hasher of names. It is made anew by each process: a user who names volumes cannot make them
/// collide.
static NAMES: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

/// The label by which nodes are told apart: another value is another node.
const HOST: &str = "kubernetes.io/hostname";

/// A key of the index of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlaceKey {
    /// Places that are exactly here.
    At(u64),
    /// Places in this directory, at any depth.
    Beneath(u64),
    /// Places somewhere in this directory, where is not known.
    Somewhere(u64),
    /// Places that NFSv4 may show exactly here, without the directory that is its root.
    TailAt(u64),
    /// Places that NFSv4 may show in this directory.
    TailBeneath(u64),
    /// Undecided places in this space.
    Undecided(u64),
    /// All places in this space.
    Space(u64),
}

/// By what a place is found that overlaps with another one for certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExactKey {
    /// The directories around it, the root first.
    pub around: Vec<u64>,
    /// Itself; `None` where it is not known where in the last of these directories it is.
    pub own: Option<u64>,
}

/// Scope of a key, by the first part of a realm: a name such as `/` is that of very many places, which are filed apart
/// by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Scope {
    /// The part agrees with everything.
    Open,
    /// The part may be another name of what others name.
    Loose,
    /// The part is one of two known things of a kind, which are two if they have no mark in common.
    Known(Known),
    /// The part has this hash of a name: two that agree for certain have one in common, unless one is open.
    Marked(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Known {
    Thing,
    Server,
    Host,
}

/// Range of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Search {
    /// Everything that may overlap.
    Possible,
    /// Only what overlaps for certain.
    Certain,
}

impl Scope {
    const ANY: [Self; 5] = [
        Self::Open,
        Self::Loose,
        Self::Known(Known::Thing),
        Self::Known(Known::Server),
        Self::Known(Known::Host),
    ];

    /// Returns the hash of a name within this scope.
    fn on(self, hash: u64) -> u64 {
        match self {
            Self::Open => hash,
            scope => hash ^ NAMES.hash_one(scope),
        }
    }
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

/// Keys of names, each with every scope.
struct Keys {
    scopes: Vec<Scope>,
    found: Vec<PlaceKey>,
}

impl Keys {
    /// Adds the keys of a place by the hashes of its directories: `beneath` for each one around the last, `at` for
    /// that.
    fn file(&mut self, hashes: &[u64], beneath: fn(u64) -> PlaceKey, at: fn(u64) -> PlaceKey) {
        if let [around @ .., whole] = hashes {
            for hash in around {
                self.add(beneath, *hash);
            }
            self.add(at, *whole);
        }
    }

    fn add(&mut self, key: fn(u64) -> PlaceKey, hash: u64) {
        self.found.extend(self.scopes.iter().map(|scope| key(scope.on(hash))));
    }
}

impl Place<'_> {
    /// Returns the keys under which a place is found: itself, and each directory around it.
    pub fn keys(&self) -> Vec<PlaceKey> {
        let mut keys = Keys { scopes: self.filed(), found: Vec::new() };
        keys.add(PlaceKey::Space, self.space_hash());
        if matches!(self.extent, Extent::Undecided(..)) {
            keys.add(PlaceKey::Undecided, self.space_hash());
        }
        for tail in self.path_on_nfs().into_iter().flat_map(tails) {
            keys.file(&self.directories(tail), PlaceKey::TailBeneath, PlaceKey::TailAt);
        }
        if !self.tells_by_realm() {
            keys.scopes = vec![Scope::Open];
        }
        let at = match self.extent {
            Extent::Within(..) => PlaceKey::Somewhere,
            Extent::Device(_) | Extent::Directory(_) | Extent::Undecided(..) => PlaceKey::At,
        };
        keys.file(&self.hashes(), PlaceKey::Beneath, at);
        keys.found
    }

    /// Returns the keys under which places are found that overlap with this one, or may: those at the same place, in
    /// it, and around it, and the undecided ones of its space. An undecided place may overlap with everything in its
    /// space.
    pub fn searches(&self) -> Vec<PlaceKey> {
        let mut keys = Keys { scopes: self.asked(Search::Possible), found: Vec::new() };
        if matches!(self.extent, Extent::Undecided(..)) {
            keys.add(PlaceKey::Space, self.space_hash());
            return keys.found;
        }
        keys.add(PlaceKey::Undecided, self.space_hash());
        if !self.tells_by_realm() {
            keys.scopes = vec![Scope::Open];
        }
        self.ask_around(&self.hashes(), &mut keys);
        if let Some(path) = self.path_on_nfs() {
            // Only of one server: different names are apart already.
            keys.scopes = self.asked(Search::Certain);
            let hashes = self.directories(path);
            for hash in &hashes {
                keys.add(PlaceKey::TailAt, *hash);
            }
            if let Some(whole) = hashes.last() {
                keys.add(PlaceKey::TailBeneath, *whole);
            }
            for tail in tails(path) {
                self.ask_around(&self.directories(tail), &mut keys);
            }
        }
        keys.found
    }

    /// Returns the keys under which every place is found that overlaps with this one for certain, and every device that
    /// may be this one: without those that are only somewhere in the same directory, of which there may be very many.
    /// `by_number` leaves out devices elsewhere that have the same number.
    pub fn certain_searches(&self, by_number: bool) -> Vec<PlaceKey> {
        let scopes = match (&self.extent, self.tells_by_realm()) {
            (_, false) => vec![Scope::Open],
            (Extent::Device(_), true) if !by_number => self.asked(Search::Possible),
            (_, true) => self.asked(Search::Certain),
        };
        let mut keys = Keys { scopes, found: Vec::new() };
        let hashes = self.hashes();
        for hash in &hashes {
            keys.add(PlaceKey::At, *hash);
        }
        if let (Extent::Directory(_), Some(whole)) = (&self.extent, hashes.last()) {
            keys.add(PlaceKey::Beneath, *whole);
            keys.add(PlaceKey::Somewhere, *whole);
        }
        keys.found
    }

    /// The keys by which places of several clusters are found that overlap for certain: one for each way to name its
    /// server, none where a part of its realm is unknown or a node, which tell nothing in another cluster.
    pub fn exact_keys(&self) -> Vec<ExactKey> {
        let mut realms = vec![Vec::new()];
        for part in &self.realm {
            if is_of_one_cluster(part.name()) {
                return Vec::new();
            }
            let mut names: Vec<String> = match part {
                Part::Unknown(_) | Part::Nodes(_) => return Vec::new(),
                Part::Is(name) | Part::Named(name) => vec![name.to_ascii_lowercase()],
                Part::Server { identity, address } => {
                    identity.iter().chain(address).map(|name| name.to_ascii_lowercase()).collect()
                }
            };
            names.dedup();
            realms = realms
                .iter()
                .flat_map(|realm| {
                    names.iter().map(|name| [&realm[..], std::slice::from_ref(name)].concat())
                })
                .collect();
        }
        realms.iter().map(|realm| self.exact_key(realm)).collect()
    }

    fn exact_key(&self, realm: &[String]) -> ExactKey {
        let mut hash = NAMES.build_hasher();
        (&*self.space, realm).hash(&mut hash);
        // Whether they are one, the places decide.
        let fold = |name: &str| name.to_ascii_lowercase();
        match &self.extent {
            Extent::Device(name) | Extent::Undecided(name, _) => {
                ("device", fold(name)).hash(&mut hash);
                ExactKey { around: Vec::new(), own: Some(hash.finish()) }
            }
            Extent::Directory(path) | Extent::Within(path, _) => {
                let mut around = vec![hash.finish()];
                for name in path {
                    fold(name).hash(&mut hash);
                    around.push(hash.finish());
                }
                // Where exactly it is in the last directory is not known.
                let own = matches!(self.extent, Extent::Directory(_)).then(|| around.pop());
                ExactKey { around, own: own.flatten() }
            }
        }
    }

    /// The key by which a place of another cluster is found that may be this one, because a part of the realm of either
    /// is unknown; `None` where its realm has no parts, or its name is that of very many.
    pub(in crate::drivers) fn open_key(&self) -> Option<ExactKey> {
        Some(ExactKey { around: Vec::new(), ..self.wide_key()? })
    }

    /// The key by which a place of another cluster is found that may be this one, or around it or in it, because servers
    /// have several names; `None` where there is no [open key](Self::open_key).
    pub fn wide_key(&self) -> Option<ExactKey> {
        let is_apart =
            |part: &Part<'_>| matches!(part, Part::Nodes(_)) || is_of_one_cluster(part.name());
        if self.realm.is_empty() || self.realm.iter().any(is_apart) || !self.is_told_by_name() {
            return None;
        }
        let mut key = self.exact_key(&["?".to_owned()]);
        // The root of a server is around all that it has.
        key.around.drain(..key.around.len().min(1));
        Some(key)
    }

    /// Whether a name says more than that there is a first device, or the root of a server.
    fn is_told_by_name(&self) -> bool {
        match &self.extent {
            Extent::Device(name) => !is_number(name),
            Extent::Directory(path) => !path.is_empty(),
            Extent::Within(..) | Extent::Undecided(..) => false,
        }
    }

    /// Returns the key of everything in its space, by which places are compared that are undecided.
    pub fn space_key(&self) -> u64 {
        self.space_hash()
    }

    /// The keys by which references of several clusters are found that may name the same, where their places do not
    /// tell: the handle of one family, and the UUIDs of devices and of directories that are not on a server.
    pub(in crate::drivers) fn loose_keys(
        reference: &Reference<'_>,
        places: &[Self],
    ) -> Vec<ExactKey> {
        let mut servers = places.iter().flat_map(|it| &it.realm);
        if servers.any(|part| is_of_one_cluster(part.name())) {
            return Vec::new();
        }
        let key = |hash| ExactKey { around: Vec::new(), own: Some(hash) };
        // A server has a copy of the directories of another one, by design.
        let is_on_server =
            |it: &Self| it.realm.iter().any(|part| matches!(part, Part::Server { .. }));
        let names = places.iter().filter_map(|it| match &it.extent {
            Extent::Device(name) | Extent::Undecided(name, _) => Some((&*it.space, name.clone())),
            Extent::Directory(path) if !is_on_server(it) => {
                Some((&*it.space, path.join("/").into()))
            }
            Extent::Directory(_) | Extent::Within(..) => None,
        });
        let uuids = names.filter_map(|(space, name)| {
            Some(NAMES.hash_one(("uuid", space, last_uuid(&name)?.to_ascii_lowercase())))
        });
        let handle = (reference.handle != INLINE).then(|| Self::handle_key(reference));
        handle.into_iter().chain(uuids).map(key).collect()
    }

    /// The key of a handle in its family.
    pub(in crate::drivers) fn handle_key(reference: &Reference<'_>) -> u64 {
        NAMES.hash_one(("handle", reference.family.id, reference.handle))
    }

    /// Adds the keys of what is at directories, somewhere in them, or in the last one.
    fn ask_around(&self, hashes: &[u64], keys: &mut Keys) {
        let is_path = matches!(self.extent, Extent::Directory(_) | Extent::Within(..));
        for hash in hashes {
            keys.add(PlaceKey::At, *hash);
            if is_path {
                keys.add(PlaceKey::Somewhere, *hash);
            }
        }
        if let Some(whole) = hashes.last().filter(|_| is_path) {
            keys.add(PlaceKey::Beneath, *whole);
        }
    }

    /// Returns the scopes of places whose realm agrees with this one, or may.
    fn asked(&self, search: Search) -> Vec<Scope> {
        let mut scopes = self.filed();
        let own = scopes.remove(0);
        // What may have any name is filed without it as well.
        if search == Search::Possible && !matches!(own, Scope::Known(_)) {
            scopes.clear();
        }
        let agrees = |scope: &Scope| match (own, search) {
            (Scope::Open, _) => true,
            (_, Search::Certain) => *scope == Scope::Open,
            (_, Search::Possible) => own == Scope::Loose || *scope != own,
        };
        scopes.extend(Scope::ANY.into_iter().filter(agrees));
        scopes
    }

    /// Returns the scopes under which the place is filed: the first one is not a mark.
    fn filed(&self) -> Vec<Scope> {
        let mark = |name: &str| {
            let mut hash = NAMES.build_hasher();
            loose(name, &mut hash);
            Scope::Marked(hash.finish())
        };
        match self.realm.first() {
            None => vec![Scope::Open],
            Some(Part::Nodes(nodes)) if *nodes == ANY_NODE => vec![Scope::Open],
            Some(Part::Unknown(_)) => vec![Scope::Loose],
            Some(Part::Is(name)) => vec![Scope::Known(Known::Thing), mark(name)],
            Some(part @ Part::Server { identity: Some(identity), .. }) => {
                let mut scopes =
                    vec![Scope::Known(Known::Server), mark(identity), mark(part.name())];
                scopes.dedup();
                scopes
            }
            Some(part @ (Part::Named(_) | Part::Server { identity: None, .. })) => {
                vec![Scope::Loose, mark(part.name())]
            }
            Some(Part::Nodes(nodes)) => match one_value(nodes) {
                Some((HOST, value)) => vec![Scope::Known(Known::Host), mark(value)],
                Some((_, value)) => vec![Scope::Loose, mark(value)],
                None => vec![Scope::Loose, mark(nodes)],
            },
        }
    }

    /// Whether the place is told from others of its name by its realm. The names of devices mostly do so alone.
    fn tells_by_realm(&self) -> bool {
        !matches!(&self.extent, Extent::Device(name) if !is_number(name))
    }

    fn space_hash(&self) -> u64 {
        NAMES.hash_one(&*self.space)
    }

    /// Returns the hashes of the directories around the place, the root first, and at last its own. Names that are
    /// compared loosely have one hash.
    fn hashes(&self) -> Vec<u64> {
        match &self.extent {
            Extent::Device(name) | Extent::Undecided(name, _) => {
                let mut hash = NAMES.build_hasher();
                self.space.hash(&mut hash);
                loose(name, &mut hash);
                vec![hash.finish()]
            }
            Extent::Directory(path) | Extent::Within(path, _) => {
                let mut hashes = self.directories(path);
                hashes.insert(0, self.root_hash().finish());
                hashes
            }
        }
    }

    /// Returns the hash of the directory that contains all others of the space, to be continued.
    fn root_hash(&self) -> impl Hasher + use<> {
        let mut hash = NAMES.build_hasher();
        self.space.hash(&mut hash);
        loose("/", &mut hash);
        hash
    }

    /// Returns the hashes of the directories of a path beneath the root, and at last its own.
    fn directories(&self, path: &[Cow<'_, str>]) -> Vec<u64> {
        let mut hash = self.root_hash();
        let continued = path.iter().map(|name| {
            loose(name, &mut hash);
            hash.finish()
        });
        continued.collect()
    }
}

/// Whether a server is one of the cluster, or of the node, that names it: a Service, a loopback address.
fn is_of_one_cluster(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_service = name.trim_end_matches(".cluster.local").rsplit('.').next() == Some("svc");
    let address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    is_service || name == "localhost" || address.is_ok_and(|it| it.is_loopback())
}

/// Returns the last UUID in a text.
pub(super) fn last_uuid(text: &str) -> Option<&str> {
    const LENGTH: usize = 36;
    let starts = (0..=text.len().checked_sub(LENGTH)?).rev();
    let mut found = starts.filter_map(|at| text.get(at..at + LENGTH));
    found.find(|it| it.as_bytes()[8] == b'-' && uuid::Uuid::try_parse(it).is_ok())
}

/// Whether a device has only a number, as every target and server has one of it.
pub(super) fn is_number(name: &str) -> bool {
    name.bytes().all(|it| it.is_ascii_digit())
}

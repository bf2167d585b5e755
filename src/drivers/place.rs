//! Places: what a volume names at its storage backend, and whether two of them overlap
//! (semantics#place).

use std::{
    borrow::Cow,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
};

/// More components than any real path has: what lies deeper is told apart by nothing.
const DEEPEST: usize = 64;

/// The storage that a volume names, so that it can be compared with what others name, also through
/// other drivers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place<'a> {
    /// The kind of storage in which places are compared: never the driver where several drivers
    /// reach the same storage.
    pub space: Cow<'a, str>,
    /// What must agree besides the extent: a server, a zone, a node.
    pub realm: Vec<Part<'a>>,
    /// What it covers.
    pub extent: Extent<'a>,
    /// Whether upper and lower case tell names apart.
    pub letters: Letters,
}

/// What a place covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Extent<'a> {
    /// A device, which contains no other: its name.
    Device(Cow<'a, str>),
    /// A directory with everything in it: the components of its path, the root first.
    Directory(Vec<Cow<'a, str>>),
    /// Something in a directory; where exactly the cluster does not show, and why.
    Within(Vec<Cow<'a, str>>, &'static str),
    /// Nothing can be told from this handle, and why.
    Undecided(Cow<'a, str>, Cow<'static, str>),
}

/// A part of a realm.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part<'a> {
    /// Two different ones are two different things.
    Is(Cow<'a, str>),
    /// One of the names of a thing, such as a pool: different names prove nothing.
    Named(Cow<'a, str>),
    /// A server: by what its family knows it, which tells it apart from others that are known so,
    /// and by one of its addresses.
    Server { identity: Option<Cow<'a, str>>, address: Option<Cow<'a, str>> },
    /// Nodes, by the canonical text of a node affinity; `any` stands for all nodes.
    Nodes(Cow<'a, str>),
    /// Not shown by the cluster, and why: it agrees with everything.
    Unknown(&'static str),
}

/// Whether upper and lower case tell names apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Letters {
    /// They do.
    Distinct,
    /// They do not.
    Alike,
    /// The storage system decides.
    Unclear,
}

/// How another place lies to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relation {
    /// Both are the same.
    Equal,
    /// The other one is in it.
    Inside,
    /// The other one contains it.
    Around,
}

/// Two places overlap, or may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// How the other one lies to this one.
    pub relation: Relation,
    /// Why it is not certain; `None` if it is.
    pub doubt: Option<Cow<'static, str>>,
}

impl Overlap {
    /// Whether nothing unknown is needed for it.
    pub const fn is_certain(&self) -> bool {
        self.doubt.is_none()
    }
}

/// The nodes of a path whose nodes are unknown.
const ANY_NODE: &str = "any";

impl<'a> Place<'a> {
    /// A device in a space.
    pub fn device(space: impl Into<Cow<'a, str>>, name: impl Into<Cow<'a, str>>) -> Self {
        Self {
            space: space.into(),
            realm: Vec::new(),
            extent: Extent::Device(name.into()),
            letters: Letters::Unclear,
        }
    }

    /// A directory in a space, by its path. A path that leads upwards is undecided.
    pub fn directory(space: impl Into<Cow<'a, str>>, path: &'a str) -> Self {
        Self {
            space: space.into(),
            realm: Vec::new(),
            extent: components(path),
            letters: Letters::Distinct,
        }
    }

    /// A place of which nothing can be told.
    pub fn undecided(
        space: impl Into<Cow<'a, str>>,
        handle: impl Into<Cow<'a, str>>,
        why: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            space: space.into(),
            realm: Vec::new(),
            extent: Extent::Undecided(handle.into(), why.into()),
            letters: Letters::Unclear,
        }
    }

    /// The same, in this part of its space.
    #[must_use]
    pub fn of(mut self, part: Part<'a>) -> Self {
        self.realm.push(part);
        self
    }

    /// The same, with another rule for upper and lower case.
    #[must_use]
    pub fn letters(mut self, letters: Letters) -> Self {
        self.letters = letters;
        self
    }

    /// Something in this directory, where is not known.
    #[must_use]
    pub fn somewhere_within(mut self, why: &'static str) -> Self {
        if let Extent::Directory(path) = self.extent {
            self.extent = Extent::Within(path, why);
        }
        self
    }

    /// The same place without borrowed texts.
    pub fn into_owned(self) -> Place<'static> {
        let own = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        let path = |path: Vec<Cow<'a, str>>| path.into_iter().map(own).collect();
        Place {
            space: own(self.space),
            realm: self.realm.into_iter().map(Part::into_owned).collect(),
            extent: match self.extent {
                Extent::Device(name) => Extent::Device(own(name)),
                Extent::Directory(it) => Extent::Directory(path(it)),
                Extent::Within(it, why) => Extent::Within(path(it), why),
                Extent::Undecided(handle, why) => Extent::Undecided(own(handle), why),
            },
            letters: self.letters,
        }
    }

    /// Why nothing can be told of it, if so.
    pub fn doubt(&self) -> Option<&str> {
        match &self.extent {
            Extent::Undecided(_, why) => Some(why),
            Extent::Device(_) | Extent::Directory(_) | Extent::Within(..) => None,
        }
    }

    /// How another place lies to this one, if they overlap or may.
    ///
    /// A part that is unknown agrees with everything, the others still decide.
    pub fn overlap(&self, other: &Self) -> Option<Overlap> {
        if self.space != other.space {
            return None;
        }
        let mut doubt = None;
        for (mine, theirs) in self.realm.iter().zip(&other.realm) {
            mine.agrees(theirs, &mut doubt)?;
        }
        let letters = self.letters.max(other.letters);
        let relation = self.extent.relation(&other.extent, letters, &mut doubt)?;
        Some(Overlap { relation, doubt })
    }

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

/// How the closest of some places lies to the closest of others, if any of them overlap or may:
/// what is certain before what is not.
pub fn meeting(mine: &[Place<'_>], theirs: &[Place<'_>]) -> Option<Overlap> {
    let pairs = mine.iter().flat_map(|mine| theirs.iter().filter_map(|it| mine.overlap(it)));
    pairs.min_by_key(|overlap| (!overlap.is_certain(), overlap.relation))
}

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

/// Splits a path into its components.
fn components(path: &str) -> Extent<'_> {
    let mut parts = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            return Extent::Undecided(path.into(), "its path leads upwards with ..".into());
        }
        if parts.len() == DEEPEST {
            return Extent::Within(parts, "its path is too long to be compared");
        }
        parts.push(Cow::Borrowed(part));
    }
    Extent::Directory(parts)
}

impl Extent<'_> {
    fn relation(
        &self,
        other: &Self,
        letters: Letters,
        doubt: &mut Option<Cow<'static, str>>,
    ) -> Option<Relation> {
        let path = |extent: &Self| match extent {
            Self::Directory(path) | Self::Within(path, _) => path.len(),
            Self::Device(_) | Self::Undecided(..) => 0,
        };
        match (self, other) {
            (Self::Undecided(mine, why), Self::Undecided(theirs, _)) if mine != theirs => {
                doubt.get_or_insert_with(|| why.clone());
                Some(Relation::Equal)
            }
            (Self::Undecided(..), Self::Undecided(..)) => Some(Relation::Equal),
            (Self::Undecided(_, why), _) | (_, Self::Undecided(_, why)) => {
                doubt.get_or_insert_with(|| why.clone());
                Some(Relation::Equal)
            }
            (Self::Device(mine), Self::Device(theirs)) => {
                same(mine, theirs, letters, doubt)?;
                Some(Relation::Equal)
            }
            // A directory and a device of one space: a share, and a disk in it.
            (Self::Device(_), _) | (_, Self::Device(_)) => None,
            (
                Self::Directory(mine) | Self::Within(mine, _),
                Self::Directory(theirs) | Self::Within(theirs, _),
            ) => {
                for (mine, theirs) in mine.iter().zip(theirs) {
                    same(mine, theirs, letters, doubt)?;
                }
                let (mine, theirs) = (path(self), path(other));
                // Only a directory contains everything beneath it for certain.
                let (outer, relation) = match mine.cmp(&theirs) {
                    std::cmp::Ordering::Less => (self, Relation::Inside),
                    std::cmp::Ordering::Greater => (other, Relation::Around),
                    std::cmp::Ordering::Equal => match (self, other) {
                        (Self::Within(..), Self::Directory(_)) => (other, Relation::Around),
                        (Self::Directory(_), Self::Within(..)) => (self, Relation::Inside),
                        _ => (self, Relation::Equal),
                    },
                };
                if let Self::Within(_, why) = outer {
                    doubt.get_or_insert(Cow::Borrowed(why));
                }
                Some(relation)
            }
        }
    }
}

/// Whether two names are the same; adds a doubt where only loosely.
fn same(
    mine: &str,
    theirs: &str,
    letters: Letters,
    doubt: &mut Option<Cow<'static, str>>,
) -> Option<()> {
    if mine == theirs {
        return Some(());
    }
    if mine.eq_ignore_ascii_case(theirs) {
        return match letters {
            Letters::Alike => Some(()),
            Letters::Distinct => None,
            Letters::Unclear => {
                doubt.get_or_insert(Cow::Borrowed("they differ only in upper and lower case"));
                Some(())
            }
        };
    }
    if decomposed(mine) || decomposed(theirs) {
        doubt.get_or_insert(Cow::Borrowed("Unicode may write the same name in both ways"));
        return (!mine.is_ascii() && !theirs.is_ascii()).then_some(());
    }
    None
}

/// Whether a name contains characters that Unicode also has composed with the one before.
fn decomposed(name: &str) -> bool {
    name.chars().any(
        |c| matches!(c, '\u{300}'..='\u{36f}' | '\u{1100}'..='\u{11ff}' | '\u{3099}' | '\u{309a}'),
    )
}

impl<'a> Part<'a> {
    fn into_owned(self) -> Part<'static> {
        let own = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Is(text) => Part::Is(own(text)),
            Self::Named(text) => Part::Named(own(text)),
            Self::Nodes(text) => Part::Nodes(own(text)),
            Self::Server { identity, address } => {
                Part::Server { identity: identity.map(own), address: address.map(own) }
            }
            Self::Unknown(why) => Part::Unknown(why),
        }
    }

    /// What it is called.
    fn name(&self) -> &str {
        match self {
            Self::Is(text) | Self::Named(text) | Self::Nodes(text) => text,
            Self::Server { identity, address } => {
                address.as_ref().or(identity.as_ref()).map_or("", |text| text)
            }
            Self::Unknown(why) => why,
        }
    }

    /// Whether two parts agree; adds a doubt where one of them is not known well enough.
    fn agrees(&self, other: &Self, doubt: &mut Option<Cow<'static, str>>) -> Option<()> {
        match (self, other) {
            (Self::Unknown(why), _) | (_, Self::Unknown(why)) => {
                doubt.get_or_insert(Cow::Borrowed(why));
                Some(())
            }
            (Self::Nodes(mine), Self::Nodes(theirs)) => nodes_agree(mine, theirs, doubt),
            (
                Self::Server { identity: Some(mine), .. },
                Self::Server { identity: Some(theirs), .. },
            ) => (mine == theirs).then_some(()),
            _ => {
                let (mine, theirs) = (self.name(), other.name());
                if mine.eq_ignore_ascii_case(theirs) {
                    return Some(());
                }
                if matches!((self, other), (Self::Is(_), Self::Is(_))) {
                    return None;
                }
                doubt.get_or_insert_with(|| {
                    format!("{mine} and {theirs} may be two names of one thing").into()
                });
                Some(())
            }
        }
    }
}

/// Whether two node affinities can lead to one node.
fn nodes_agree(mine: &str, theirs: &str, doubt: &mut Option<Cow<'static, str>>) -> Option<()> {
    if mine == theirs || mine == ANY_NODE || theirs == ANY_NODE {
        return Some(());
    }
    if let (Some((label, mine)), Some((other, theirs))) = (values(mine), values(theirs)) {
        let mut both = mine.split(", ").filter(|value| theirs.split(", ").any(|it| it == *value));
        let (meet, one) = (both.next().is_some(), !mine.contains(", ") && !theirs.contains(", "));
        // The label of a node mostly is its name, and need not be.
        if meet && one {
            return Some(());
        }
        if !meet && label == other {
            return None;
        }
    }
    doubt.get_or_insert(Cow::Borrowed("their node affinities may lead to one node"));
    Some(())
}

/// Splits the canonical text `LABEL In ["a", "b"]` of one requirement.
fn values(affinity: &str) -> Option<(&str, &str)> {
    let one = !affinity.contains(" and ") && !affinity.contains(" or ");
    let (label, rest) = affinity.split_once(" In [").filter(|_| one)?;
    Some((label, rest.strip_suffix(']')?))
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.space)?;
        for part in &self.realm {
            match part {
                Part::Is(_) | Part::Named(_) | Part::Server { .. } => {
                    write!(f, " {}", part.name())?;
                }
                Part::Nodes(text) if *text == ANY_NODE => {}
                Part::Nodes(text) => write!(f, " on {text}")?,
                Part::Unknown(_) => f.write_str(" ?")?,
            }
        }
        match &self.extent {
            Extent::Device(name) => write!(f, " {name}"),
            Extent::Undecided(handle, _) => write!(f, " {handle:?}"),
            Extent::Directory(path) => write!(f, " /{}", path.join("/")),
            Extent::Within(path, _) => write!(f, " in /{}", path.join("/")),
        }
    }
}

#[cfg(test)]
mod tests;

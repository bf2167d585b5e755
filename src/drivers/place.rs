//! Places: what a volume names at its storage backend, and whether two of them overlap
//! (semantics#place).

mod keys;

use std::{borrow::Cow, cmp::Ordering, fmt};

use keys::is_number;
pub use keys::{ExactKey, PlaceKey};

/// Number of components beyond which paths are not told apart, more than any real path has.
const DEEPEST: usize = 64;

/// The space of everything that is reached through NFS, with any driver.
pub const NFS: &str = "NFS";

/// Largest number of components of the directory of a server that NFSv4 shows as its root.
const PSEUDO_ROOT: usize = 8;

/// Place of the storage that a volume references, comparable with those of other volumes, also through other drivers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place<'a> {
    /// The kind of storage in which places are compared: never the driver where several drivers
    /// reach the same storage.
    pub space: Cow<'a, str>,
    /// The parts that must agree besides the extent: a server, a zone, a node.
    pub realm: Vec<Part<'a>>,
    /// The extent in that space and realm.
    pub extent: Extent<'a>,
    /// Whether upper and lower case tell names apart.
    pub letters: Letters,
}

/// Extent of a place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Extent<'a> {
    /// A device, which contains no other: its name.
    Device(Cow<'a, str>),
    /// A directory with everything in it: the components of its path, the root first.
    Directory(Vec<Cow<'a, str>>),
    /// Something in a directory; the reason is why the cluster does not show where exactly.
    Within(Vec<Cow<'a, str>>, &'static str),
    /// Something unknown with this handle, and the reason.
    Undecided(Cow<'a, str>, Cow<'static, str>),
}

/// A part of a realm.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part<'a> {
    /// One thing: two different names are two different things.
    Is(Cow<'a, str>),
    /// One of the names of a thing, such as a pool: different names prove nothing.
    Named(Cow<'a, str>),
    /// A server: by what its family knows it, which tells it apart from others that are known so,
    /// and by one of its addresses.
    Server { identity: Option<Cow<'a, str>>, address: Option<Cow<'a, str>> },
    /// Nodes, by the canonical text of a node affinity; `any` stands for all nodes.
    Nodes(Cow<'a, str>),
    /// A part that the cluster does not show, with the reason: it agrees with everything.
    Unknown(&'static str),
}

/// Whether upper and lower case tell names apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Letters {
    /// Two names that differ in case are two names.
    Distinct,
    /// Two names that differ only in case are one name.
    Alike,
    /// The storage system decides.
    Unclear,
}

/// Relation of another place to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relation {
    /// Both places are the same.
    Equal,
    /// The other place is in this one.
    Inside,
    /// The other place contains this one.
    Around,
}

/// Overlap of two places, certain or possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// The relation of the other place to this one.
    pub relation: Relation,
    /// The reason for which the overlap is not certain; `None` if it is.
    pub doubt: Option<Cow<'static, str>>,
}

impl Overlap {
    /// Whether the overlap is certain.
    pub const fn is_certain(&self) -> bool {
        self.doubt.is_none()
    }

    /// Whether both are certainly the same storage.
    pub fn is_same(&self) -> bool {
        self.is_certain() && self.relation == Relation::Equal
    }
}

/// The text of a node affinity that allows every node.
const ANY_NODE: &str = "any";

impl<'a> Place<'a> {
    /// Returns a device in a space.
    pub fn device(space: impl Into<Cow<'a, str>>, name: impl Into<Cow<'a, str>>) -> Self {
        Self {
            space: space.into(),
            realm: Vec::new(),
            extent: Extent::Device(name.into()),
            letters: Letters::Unclear,
        }
    }

    /// Returns a directory in a space, by its path. A path that leads upwards is undecided.
    pub fn directory(space: impl Into<Cow<'a, str>>, path: &'a str) -> Self {
        Self {
            space: space.into(),
            realm: Vec::new(),
            extent: components(path),
            letters: Letters::Distinct,
        }
    }

    /// Returns the directory at this path in the place.
    #[must_use]
    pub fn descend(mut self, path: &'a str) -> Self {
        if let Extent::Directory(mut above) = self.extent {
            self.extent = match components(path) {
                Extent::Directory(below) if above.len() + below.len() <= DEEPEST => {
                    above.extend(below);
                    Extent::Directory(above)
                }
                Extent::Directory(_) | Extent::Within(..) => {
                    Extent::Within(above, "its path is too long to be compared")
                }
                Extent::Undecided(below, why) => {
                    Extent::Undecided(format!("{}/{below}", above.join("/")).into(), why)
                }
                device @ Extent::Device(_) => device,
            };
        }
        self
    }

    /// Returns a place of which nothing is known.
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

    /// Returns the place with a further part of its realm.
    #[must_use]
    pub fn of(mut self, part: Part<'a>) -> Self {
        self.realm.push(part);
        self
    }

    /// Sets whether upper and lower case tell names apart.
    #[must_use]
    pub fn letters(mut self, letters: Letters) -> Self {
        self.letters = letters;
        self
    }

    /// Returns a place somewhere in this directory; where is not known.
    #[must_use]
    pub fn somewhere_within(mut self, why: &'static str) -> Self {
        if let Extent::Directory(path) = self.extent {
            self.extent = Extent::Within(path, why);
        }
        self
    }

    /// Returns the same place without borrowed texts.
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

    /// Whether the place is on a server or in a storage cluster that every client may reach by its name.
    pub fn is_reached_by_name(&self) -> bool {
        self.realm.iter().any(|part| matches!(part, Part::Server { .. } | Part::Named(_)))
    }

    /// Whether the place is a device.
    pub fn is_device(&self) -> bool {
        matches!(self.extent, Extent::Device(_))
    }

    /// Whether the place is a directory, or in one.
    pub fn is_directory(&self) -> bool {
        matches!(self.extent, Extent::Directory(_) | Extent::Within(..))
    }

    /// Whether only a number names a device, which every target and server has.
    pub fn is_number(&self) -> bool {
        matches!(&self.extent, Extent::Device(name) if is_number(name))
    }

    /// Whether the place is in a bucket, which many mount by design, each with a prefix of its own that no volume
    /// shows.
    pub fn is_bucket(&self) -> bool {
        self.space.ends_with(" bucket")
    }

    /// Whether an overlap with another place rests on names that are the same everywhere: not on an address, which leads
    /// elsewhere in another network.
    pub fn is_named_alike(&self, other: &Self) -> bool {
        let alike = |(mine, theirs): (&Part<'_>, &Part<'_>)| match (mine, theirs) {
            (
                Part::Server { identity: Some(mine), .. },
                Part::Server { identity: Some(theirs), .. },
            ) => mine.eq_ignore_ascii_case(theirs),
            (Part::Server { .. }, _) | (_, Part::Server { .. }) => false,
            _ => true,
        };
        self.realm.iter().zip(&other.realm).all(alike)
    }

    /// Whether a part of its realm is one by its UUID, as a Ceph cluster is.
    pub fn has_uuid(&self) -> bool {
        self.realm.iter().any(|part| keys::last_uuid(part.name()).is_some())
    }

    /// Whether a part of its realm is unknown, or what it is in its space.
    pub fn is_open(&self) -> bool {
        matches!(self.extent, Extent::Undecided(..))
            || self.realm.iter().any(|part| matches!(part, Part::Unknown(_)))
    }

    /// Returns why nothing is known of the place, if so.
    pub fn doubt(&self) -> Option<&str> {
        match &self.extent {
            Extent::Undecided(_, why) => Some(why),
            Extent::Device(_) | Extent::Directory(_) | Extent::Within(..) => None,
        }
    }

    /// Returns how another place lies to this one, if they overlap or may.
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
        let (letters, is_one_server) = (self.letters.max(other.letters), doubt.is_none());
        match self.extent.relation(&other.extent, letters, &mut doubt) {
            Some(relation) => Some(Overlap { relation, doubt }),
            None if is_one_server => self.overlap_by_pseudo_root(other),
            None => None,
        }
    }

    /// Returns how another place on the same NFS server may lie to one: a server that exports a directory with `fsid=0`
    /// shows NFSv4 everything beneath it without that directory, so that `/exports/a` and `/a` may be one (exports(5)).
    fn overlap_by_pseudo_root(&self, other: &Self) -> Option<Overlap> {
        let (mine, theirs) = (self.path_on_nfs()?, other.path_on_nfs()?);
        let relation = |mine: usize, theirs: usize| match mine.cmp(&theirs) {
            Ordering::Less => Relation::Inside,
            Ordering::Equal => Relation::Equal,
            Ordering::Greater => Relation::Around,
        };
        let related = |tail: &[Cow<'_, str>], whole: &[Cow<'_, str>]| {
            !whole.is_empty() && tail.iter().zip(whole).all(|(tail, whole)| tail == whole)
        };
        let by_mine = tails(mine).filter(|tail| related(tail, theirs));
        let by_theirs = tails(theirs).filter(|tail| related(tail, mine));
        let relation = by_mine
            .map(|tail| relation(tail.len(), theirs.len()))
            .chain(by_theirs.map(|tail| relation(mine.len(), tail.len())))
            .min()?;
        let doubt = format!(
            "an NFSv4 server may show /{} and /{} as one directory",
            mine.join("/"),
            theirs.join("/")
        );
        Some(Overlap { relation, doubt: Some(doubt.into()) })
    }

    /// Returns the path on an NFS server that an administrator has set up: those of a provider show every path as it
    /// is.
    fn path_on_nfs(&self) -> Option<&[Cow<'a, str>]> {
        let is_known = |part: &Part<'_>| matches!(part, Part::Server { identity: Some(_), .. });
        match &self.extent {
            Extent::Directory(path) | Extent::Within(path, _)
                if self.space == NFS && !self.realm.iter().any(is_known) =>
            {
                Some(path)
            }
            _ => None,
        }
    }
}

/// Returns the paths that NFSv4 may show instead of one: without the components of each directory that may be its root.
fn tails<T>(path: &[T]) -> impl Iterator<Item = &[T]> {
    (1..path.len()).take(PSEUDO_ROOT).map(|root| &path[root..])
}

/// Returns how the closest of some places lies to the closest of others, if any of them overlap or may: what is certain
/// before what is not.
pub fn meeting(mine: &[Place<'_>], theirs: &[Place<'_>]) -> Option<Overlap> {
    let pairs = mine.iter().flat_map(|mine| theirs.iter().filter_map(|it| mine.overlap(it)));
    pairs.min_by_key(|overlap| (!overlap.is_certain(), overlap.relation))
}

/// Splits a path into its components.
fn components(path: &str) -> Extent<'_> {
    let mut parts = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            return Extent::Undecided(path.into(), "its path contains ..".into());
        }
        if parts.len() == DEEPEST {
            return Extent::Within(parts, "its path is too long to be compared");
        }
        parts.push(Cow::Borrowed(part));
    }
    Extent::Directory(parts)
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
                    Ordering::Less => (self, Relation::Inside),
                    Ordering::Greater => (other, Relation::Around),
                    Ordering::Equal => match (self, other) {
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

/// Compares two names; adds a doubt where they are the same only loosely.
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
        doubt.get_or_insert(Cow::Borrowed("both may be Unicode spellings of one name"));
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

    /// Returns the name of the part, as texts show it.
    fn name(&self) -> &str {
        match self {
            Self::Is(text) | Self::Named(text) | Self::Nodes(text) => text,
            Self::Server { identity, address } => {
                address.as_ref().or(identity.as_ref()).map_or("", |text| text)
            }
            Self::Unknown(why) => why,
        }
    }

    /// Compares two parts; adds a doubt where one of them is not known well enough.
    fn agrees(&self, other: &Self, doubt: &mut Option<Cow<'static, str>>) -> Option<()> {
        match (self, other) {
            (Self::Unknown(why), _) | (_, Self::Unknown(why)) => {
                doubt.get_or_insert(Cow::Borrowed(why));
                Some(())
            }
            (Self::Nodes(mine), Self::Nodes(theirs)) => nodes_agree(mine, theirs, doubt),
            (
                Self::Server { identity: Some(mine), address: here },
                Self::Server { identity: Some(theirs), address: there },
            ) => {
                if mine == theirs {
                    return Some(());
                }
                // One server has two addresses, but an address does not have two servers.
                here.as_ref().filter(|here| Some(*here) == there.as_ref())?;
                doubt.get_or_insert(Cow::Borrowed("two servers are listed with one address"));
                Some(())
            }
            _ => {
                let (mine, theirs) = (self.name(), other.name());
                if mine.eq_ignore_ascii_case(theirs) {
                    return Some(());
                }
                if matches!((self, other), (Self::Is(_), Self::Is(_))) {
                    return None;
                }
                doubt.get_or_insert_with(|| format!("{mine} and {theirs} may be the same").into());
                Some(())
            }
        }
    }
}

/// Compares two node affinities, which agree if both can lead to one node.
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
    doubt.get_or_insert(Cow::Borrowed("their node affinities may match the same node"));
    Some(())
}

/// Splits the canonical text `LABEL In ["a", "b"]` of one requirement.
fn values(affinity: &str) -> Option<(&str, &str)> {
    let one = !affinity.contains(" and ") && !affinity.contains(" or ");
    let (label, rest) = affinity.split_once(" In [").filter(|_| one)?;
    Some((label, rest.strip_suffix(']')?))
}

/// Returns the label and the only value that an affinity allows.
fn one_value(affinity: &str) -> Option<(&str, &str)> {
    values(affinity).filter(|(_, values)| !values.contains(", "))
}

#[cfg(test)]
mod tests;

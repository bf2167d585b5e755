//! Ids in the names of storage: the handles of unknown drivers may name what other volumes name
//! (semantics#place).

use hashbrown::HashSet;

use super::{Extent, INLINE, Place, Reference, is_unknown, used};

/// Length of the shortest id that is taken for one, unless it is numbered like `sv_77`.
const SHORTEST: usize = 8;

/// Length of the shortest number that is taken for an id: shorter ones are ports and years.
const SHORTEST_NUMBER: usize = 6;

/// An id in a handle, in lower case; UUIDs have their dashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token {
    /// The id itself.
    pub text: String,
    /// Whether the id is a UUID.
    pub is_uuid: bool,
}

/// A key of the index of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TokenKey<'a> {
    /// An id in the name of storage whose places are known.
    Known(&'a str),
    /// An id in the handle of a volume that its unknown driver made itself.
    Made(&'a str),
    /// An id in the name of another volume that may be anywhere.
    Unknown(&'a str),
    /// The last part of the handle of an unknown driver.
    Tail(&'a str),
    /// Another part of the handle of an unknown driver.
    Part(&'a str),
    /// A whole handle, of any driver, in lower case.
    Handle(&'a str),
}

/// The ids and other names by which a volume references its storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The driver.
    pub driver: String,
    /// The whole handle in lower case; empty where it names nothing by itself.
    pub handle: String,
    /// The ids in the reference.
    pub tokens: Vec<Token>,
    /// The parts of the handle of an unknown driver, each behind the driver's name.
    pub parts: Vec<String>,
    /// The last of these parts, unless it is a number or a kind.
    pub tail: Option<String>,
    /// Whether the volume's places do not show everything that may reference the same storage: nothing is known of its
    /// driver, or where it exports the volume.
    pub may_be_elsewhere: bool,
    /// Whether nothing is known of the volume's driver.
    pub is_unknown: bool,
    /// Whether the volume's driver made it: to a driver, two handles of its own are two volumes.
    pub is_made: bool,
}

impl Named {
    /// Reads the ids in what a reference names: all of a handle of unknown form, otherwise
    /// the last part of each place, since the others name arrays, pools and subscriptions.
    pub fn of(reference: &Reference<'_>, is_made: bool) -> Self {
        let is_unknown = is_unknown(reference.family);
        let (mut tokens, mut parts, mut tail) = (Vec::new(), Vec::new(), None);
        if is_unknown {
            tokens = ids(reference.handle);
            let names =
                reference.handle.split(['/', '#', ':', ',', ';']).filter(|part| !part.is_empty());
            let of_driver = |part: &str| format!("{}/{part}", reference.driver);
            tail = names.clone().next_back().filter(|part| is_name(part)).map(of_driver);
            parts = names.filter(|part| is_name(part)).map(of_driver).collect();
        } else {
            for place in &used(reference) {
                tokens.extend(last_part(place).map(ids).unwrap_or_default());
            }
        }
        tokens.sort_unstable();
        tokens.dedup();
        let may_be_elsewhere = is_unknown || (reference.family.exports_elsewhere)(reference);
        let driver = reference.driver.to_owned();
        let names_something = reference.handle != INLINE && reference.handle.len() > 2;
        let handle = if names_something { reference.handle } else { "" }.to_ascii_lowercase();
        Self { driver, handle, tokens, parts, tail, may_be_elsewhere, is_unknown, is_made }
    }

    /// Returns the keys under which the volume is found.
    pub fn keys(&self) -> impl Iterator<Item = TokenKey<'_>> {
        let ids = self.tokens.iter().map(|it| {
            match (self.may_be_elsewhere, self.is_unknown && self.is_made) {
                (false, _) => TokenKey::Known(&it.text),
                (true, true) => TokenKey::Made(&it.text),
                (true, false) => TokenKey::Unknown(&it.text),
            }
        });
        let whole = self.whole().map(TokenKey::Handle);
        let tail = self.tail.as_deref().map(TokenKey::Tail);
        ids.chain(whole).chain(tail).chain(self.parts.iter().map(|it| TokenKey::Part(it)))
    }

    /// Returns the keys under which others are found that may reference the same storage. What is found by none of them
    /// is known to be something else.
    pub fn searches(&self) -> impl Iterator<Item = TokenKey<'_>> {
        let ids = self.tokens.iter().flat_map(|it| {
            let text = &*it.text;
            let known = self.may_be_elsewhere.then_some(TokenKey::Known(text));
            [Some(TokenKey::Made(text)), Some(TokenKey::Unknown(text)), known].into_iter().flatten()
        });
        let whole = self.whole().map(TokenKey::Handle);
        let within = self.tail.as_deref().map(TokenKey::Part);
        ids.chain(whole).chain(within).chain(self.parts.iter().map(|it| TokenKey::Tail(it)))
    }

    /// Returns the id for which another one may be the same storage, if there is one: both have it,
    /// and nothing else tells them apart.
    pub fn shared<'a>(&'a self, other: &Self) -> Option<&'a str> {
        let of_one = self.driver == other.driver;
        if !(self.may_be_elsewhere || other.may_be_elsewhere) || of_one && !self.is_unknown {
            return None;
        }
        let theirs: HashSet<&Token> = other.tokens.iter().collect();
        let uuids = |it: &&Token| it.is_uuid;
        let mine: HashSet<&Token> = self.tokens.iter().collect();
        // What both have beside their own UUIDs is the array, the pool or the cluster.
        let apart = self.tokens.iter().filter(uuids).any(|it| !theirs.contains(it))
            && other.tokens.iter().filter(uuids).any(|it| !mine.contains(it));
        let made = of_one && self.is_made && other.is_made;
        let tells = |it: &&Token| theirs.contains(it) && !apart && (it.is_uuid || !made);
        let id = self.tokens.iter().filter(tells).max_by_key(|it| it.is_uuid).map(|it| &*it.text);
        let whole = || self.whole().filter(|it| !of_one && other.whole() == Some(it));
        // Of a list of disks each is one, whoever made the list.
        let is_whole = |it: &&str| [&self.handle, &other.handle].iter().any(|known| known == it);
        let part = || self.part_shared(other).filter(|it| !apart && (!made || is_whole(it)));
        id.or_else(whole).or_else(part)
    }

    /// Returns the whole handle, if it names anything.
    fn whole(&self) -> Option<&str> {
        Some(&*self.handle).filter(|it| !it.is_empty())
    }

    /// Returns the last part of one handle that is a part of the other, as a file system is of the
    /// handle of a directory in it.
    fn part_shared(&self, other: &Self) -> Option<&str> {
        let shared = |it: &&String| {
            other.tail.as_ref() == Some(*it)
                || self.tail.as_ref() == Some(*it) && other.parts.contains(*it)
        };
        let part = self.parts.iter().find(shared)?;
        part.strip_prefix(&*self.driver)?.strip_prefix('/')
    }
}

/// Returns the last part of the extent of a place.
fn last_part<'a>(place: &'a Place<'_>) -> Option<&'a str> {
    match &place.extent {
        Extent::Device(name) | Extent::Undecided(name, _) => {
            name.trim_end_matches('/').rsplit(['/', '#']).next()
        }
        Extent::Directory(path) | Extent::Within(path, _) => path.last().map(|it| &**it),
    }
}

/// Reads the ids in a text: UUIDs, words of some length with a digit in them, and a number at the end
/// such as `sv_77`. Addresses are none: they name servers.
fn ids(text: &str) -> Vec<Token> {
    let text = text.to_ascii_lowercase();
    let (mut found, mut rest) = (Vec::new(), String::new());
    let mut word_before = false;
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let length = letter.len_utf8();
        if !word_before && let Some((uuid, length)) = uuid(&text[at..]) {
            found.push(Token { text: uuid, is_uuid: true });
            rest.push('/');
            at += length;
            continue;
        }
        word_before = letter.is_ascii_alphanumeric();
        rest.push(letter);
        at += length;
    }
    let is_id = |word: &&str| match word.bytes().all(|it| it.is_ascii_digit()) {
        true => word.len() >= SHORTEST_NUMBER,
        false => word.len() >= SHORTEST && word.bytes().any(|it| it.is_ascii_digit()),
    };
    let separates = |it: char| !(it.is_alphanumeric() || matches!(it, '.' | '-' | '_'));
    let fields = rest.split(separates).filter(|field| !is_address(field));
    for field in fields {
        let words = field.split(|it: char| !it.is_alphanumeric()).filter(is_id);
        found.extend(words.map(|it| Token { text: without_type(it).to_owned(), is_uuid: false }));
    }
    let last = rest.rsplit(|it: char| !(it.is_alphanumeric() || it == '_')).next();
    if let Some((name, number)) = last.unwrap_or_default().rsplit_once('_')
        && !name.is_empty()
        && name.bytes().all(|it| it.is_ascii_alphabetic())
        && !number.is_empty()
        && number.bytes().all(|it| it.is_ascii_digit())
    {
        found.push(Token { text: format!("{name}_{number}"), is_uuid: false });
    }
    found
}

/// Returns a World Wide Name without what tells its form: `0x` of numbers, `3` of SCSI's NAA designators.
fn without_type(word: &str) -> &str {
    let number = word.strip_prefix("0x").unwrap_or(word);
    let is_hex = number.bytes().all(|it| it.is_ascii_hexdigit());
    match number.strip_prefix('3') {
        Some(name) if is_hex && matches!(name.len(), 16 | 32) => name,
        _ if is_hex => number,
        _ => word,
    }
}

/// Whether a part of a handle may be the name of something, and not its number or its kind.
fn is_name(part: &str) -> bool {
    part.len() > 2 && part.bytes().any(|it| it.is_ascii_alphabetic())
}

/// Whether a field is the address of a server: its last label is no id.
fn is_address(field: &str) -> bool {
    let is_number = |it: &str| it.bytes().all(|it| it.is_ascii_digit()) && it.len() <= 3;
    field.rsplit_once('.').is_some_and(|(_, last)| {
        last.bytes().all(|it| it.is_ascii_alphabetic()) || field.split('.').all(is_number)
    })
}

/// Reads a UUID at the beginning of a text, with dashes, underscores or neither, and its length.
fn uuid(text: &str) -> Option<(String, usize)> {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let hex = |from: usize, length: usize| {
        let part = text.get(from..from + length)?;
        part.bytes().all(|it| it.is_ascii_hexdigit()).then_some(part)
    };
    let ends = |at: usize| !text[at..].starts_with(|it: char| it.is_ascii_alphanumeric());
    let (mut at, mut parts) = (0, Vec::with_capacity(GROUPS.len()));
    let plain = hex(0, 32).is_some() && ends(32);
    for length in GROUPS {
        let is_separated = at == 0 || plain || matches!(text.as_bytes().get(at), Some(b'-' | b'_'));
        let from = if at == 0 || plain { at } else { at + 1 };
        parts.push(hex(from, length).filter(|_| is_separated)?);
        at = from + length;
    }
    ends(at).then(|| (parts.join("-"), at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Attributes, BackendKey};

    #[test]
    fn ids_are_told_from_names_and_addresses() {
        let uuid = "9f840c56-96e6-4de9-b5a3-27e7c20eaa77";
        for (text, expected) in [
            (
                "9f840c56-96e6-4de9-b5a3-27e7c20eaa77/PS4ebb8d4e8488/scsi",
                &[uuid, "ps4ebb8d4e8488"][..],
            ),
            ("9f840c56-96e6-4de9-b5a3-27e7c20eaa77/10.1.2.3/scsi", &[uuid]),
            ("trident_pvc_9f840c56_96e6_4de9_b5a3_27e7c20eaa77", &[uuid]),
            ("9F840C5696E64DE9B5A327E7C20EAA77", &[uuid]),
            (
                "csivol-1a2b3c4d5e-FC-apm00123456789-sv_77",
                &["1a2b3c4d5e", "apm00123456789", "sv_77"],
            ),
            ("naa.600508b1001c4d5e", &["600508b1001c4d5e"]),
            ("3600508b1001c4d5e", &["600508b1001c4d5e"]),
            ("0x600508b1001c4d5e", &["600508b1001c4d5e"]),
            ("vol-0a1b2c3d4e5f", &["0a1b2c3d4e5f"]),
            ("storage-node01.example.com:443/data-1", &[]),
            ("pool/images/database", &[]),
            ("é", &[]),
            ("", &[]),
        ] {
            let found: Vec<_> = ids(text).into_iter().map(|it| it.text).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    fn named(driver: &str, handle: &str, is_made: bool) -> Named {
        let key = BackendKey { driver: driver.into(), handle: handle.into() };
        Named::of(&Reference::of(&key, &Attributes::default()), is_made)
    }

    #[test]
    fn an_id_is_shared_only_where_nothing_tells_its_owners_apart() {
        let (one, other) =
            ("9f840c56-96e6-4de9-b5a3-27e7c20eaa77", "0e2d1b6a-96e6-4de9-b5a3-27e7c20eaa77");
        let shared = |mine: (&str, bool), theirs: (&str, &str, bool)| {
            let mine = named("disk.example.com", mine.0, mine.1);
            let theirs = named(theirs.0, theirs.1, theirs.2);
            let both = (mine.shared(&theirs).is_some(), theirs.shared(&mine).is_some());
            assert_eq!(both.0, both.1, "{mine:?} {theirs:?}");
            both.0
        };
        let same = "disk.example.com";
        // One UUID is one volume, whoever made it; an array is not.
        assert!(shared((&format!("{one}/a"), true), (same, &format!("{one}/b"), true)));
        let on_array = |uuid: &str| format!("{uuid}/array00123");
        assert!(!shared((&on_array(one), true), (same, &on_array(other), false)));
        // A driver names its own volumes apart, and not those that somebody wrote down.
        assert!(!shared(("array00123/a", true), (same, "array00123/b", true)));
        assert!(shared(("array00123/a", true), (same, "array00123/b", false)));
        assert!(shared(("x-1-sv_77", true), (same, "y-2-sv_77", false)));
        // Who wrote one down may mean what contains the other.
        assert!(shared(("dir/v1/data/a", true), (same, "weka/v2/data", false)));
        assert!(shared(("516053-pvc1", true), (same, "516053-renamed", false)));
        for other in ["dir/v1/data/b", "weka/v2/other", "dir/v1", "x:443"] {
            assert!(!shared(("dir/v1/data/a:443", true), (same, other, false)), "{other}");
        }
        assert!(!shared(("dir/v1/data/a", true), ("other.example.com", "v2/data", false)));
        // A list of disks, and one of them.
        assert!(shared(("disk-3,disk-4", true), (same, "disk-4", true)));
        assert!(shared(("pool/vol-abc/sub", true), (same, "vol-abc", true)));
        assert!(!shared(("pool/vol-abc", true), (same, "other/vol-abc", true)));
        // Two drivers may know one storage by one name.
        assert!(shared(("prod-orders", true), ("other.example.com", "PROD-orders", true)));
        assert!(shared(("prod-orders", true), ("driver.longhorn.io", "prod-orders", true)));
        assert!(!shared((INLINE, true), ("other.example.com", INLINE, true)));
        // Other drivers may reach the same disk.
        assert!(shared(("vol-0a1b2c3d4e5f", true), ("ebs.csi.aws.com", "vol-0a1b2c3d4e5f", true)));
        assert!(!shared(("vol-0a1b2c3d4e5f", true), ("ebs.csi.aws.com", "vol-1a1b2c3d4e5f", true)));
        let both_known = named("ebs.csi.aws.com", "vol-0a1b2c3d4e5f", true);
        assert_eq!(both_known.shared(&named("csi.hetzner.cloud", "0a1b2c3d4e5f", true)), None);
    }
}

//! Results of reading a dump: pieces, a summary of each file that was read, and items of a list that kubectl printed,
//! which are found by their indentation without parsing them.
//!
//! `kubectl get -o json` indents by four and sorts the members, so an item of a list begins with its
//! version and its kind, and ends with the first brace that stands eight deep: no line within an
//! item is indented so little, and no text in JSON holds a line break. What looks otherwise is read
//! in the ordinary way. What looks so is not checked here, only found.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use chrono::{DateTime, Utc};
use memchr::memmem;
use memchr::memmem::Finder;

use super::flaw::Flaw;
use super::head::{ClaimedType, HeadMetadata, NullableText, ObjectHead};

/// One piece of a dump. It lives only while the sink looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A Kubernetes object.
    Object(DumpObject<'a>),
    /// An object that may be of Kubernetes, and says of which kind neither itself nor through its list: it has a name,
    /// and stands in a file that was not named. Kind and version are empty.
    Untyped(DumpObject<'a>),
    /// A line of our own dump that is no Kubernetes object: its header, an answer to a question.
    Record(OwnRecord<'a>),
    /// A piece that should have been an object, and is not read.
    Broken(Broken),
}

/// A Kubernetes object that has a kind, a version and a name. The rest of it has not been looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpObject<'a> {
    /// The place of the object.
    pub origin: Origin,
    /// API version of the object, or that of the typed list it is in.
    pub api_version: &'a str,
    /// Kind of the object, or that of the typed list it is in.
    pub kind: &'a str,
    /// The namespace; empty for what lives in no namespace.
    pub namespace: &'a str,
    /// The name; never empty.
    pub name: &'a str,
    /// The uid; empty if there is none, or if a skimmed body does not show it.
    pub uid: &'a str,
    /// `metadata.resourceVersion`. Empty if there is none, or if a skimmed body does not show it.
    pub resource_version: &'a str,
    /// `metadata.creationTimestamp` as it is written. Empty if there is none, or if a
    /// skimmed body does not show it.
    pub created: &'a str,
    /// The whole object as valid JSON. What an item leaves to its list (`apiVersion`, `kind`) is
    /// missing here too.
    pub body: &'a str,
    /// Position of its parts when the body was cut out by its indentation, and it is unchecked whether it is JSON.
    pub skimmed: Option<Skimmed>,
    /// Index of the object's list in the [`lists`](super::FileSummary::lists) of its file.
    pub list: Option<usize>,
}

/// A line of our own dump that is no Kubernetes object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnRecord<'a> {
    /// The place of the line.
    pub origin: Origin,
    /// The API version: `storage.kubectl.dev/…`.
    pub api_version: &'a str,
    /// The kind: `Dump` for the header, which comes first.
    pub kind: &'a str,
    /// The whole line as valid JSON.
    pub body: &'a str,
}

/// A piece that is not read, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The place of the piece; for what breaks off, that of the end.
    pub origin: Origin,
    /// The flaw of the piece.
    pub flaw: Flaw,
    /// The type of the piece, as far as it or its list could tell; none if it may have been anything.
    pub of: Option<ClaimedType>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.origin, self.flaw)
    }
}

/// A place in a file: `pods.json:123`, or `archive.tar.gz!path/in/archive.yaml:12 (item 7)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The path as it was given, with `!` before a path inside an archive, and `stdin` for `-`.
    pub file: Arc<str>,
    /// The line, counted from 1; 0 when the whole file is meant.
    pub line: u64,
    /// The offset in bytes after unpacking, counted from 0. JSON often is one single line.
    pub offset: u64,
    /// The position of the item in its list, counted from 1.
    pub item: Option<u64>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if let Some(item) = self.item {
            write!(f, " (item {item})")?;
        }
        Ok(())
    }
}

/// Summary of one file, or of one file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSummary {
    /// The name that [`Origin`] prints.
    pub path: Arc<str>,
    /// The format of the file.
    pub format: FileFormat,
    /// The layout of the folder or archive that the file comes from.
    pub layout: FileLayout,
    /// The part of the cluster that the file's place in that layout promises.
    pub scope: FileScope,
    /// When the dump was taken, where the layout says so. Read by the clock of the machine that
    /// took it, not by that of the API server.
    pub taken_at: Option<DateTime<Utc>>,
    /// Number of objects that were delivered.
    pub objects: u64,
    /// Number of lines of our own that were delivered.
    pub records: u64,
    /// Number of pieces that were delivered as broken.
    pub broken: u64,
    /// Number of documents passed over in silence: valid, without `kind`, `apiVersion` and a name, in a file that was
    /// not named. Folders of diagnostics are full of them.
    pub foreign: u64,
    /// The lists that began in this file, whether they have items or not.
    pub lists: Vec<ListSummary>,
    /// Whether the file was read to its end, and its end is really there. A single bad object
    /// does not change this; it spoils its list only.
    pub intact: bool,
}

/// Summary of a list. Only a typed one (`PersistentVolumeList`) is evidence of what it does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListSummary {
    /// The place where the list begins.
    pub origin: Origin,
    /// The API version; empty when the list names none.
    pub api_version: String,
    /// The kind, such as `List` or `PersistentVolumeList`; empty when the list names none.
    pub kind: String,
    /// Number of items that were delivered as objects.
    pub items: u64,
    /// Number of items that were delivered as broken.
    pub broken: u64,
    /// Whether the list says that more pages follow it.
    pub continues: bool,
    /// Whether all that the API server had to say is here: the list ends, no pages follow it, every
    /// item could be read, and so could the file. The last of several pages looks complete as well.
    pub complete: bool,
}

impl ListSummary {
    /// Returns the kind of which the list is evidence, present or absent: `PersistentVolume` for a
    /// `PersistentVolumeList`, nothing for a plain `List`.
    pub fn of(&self) -> Option<&str> {
        self.kind.strip_suffix("List").filter(|kind| !kind.is_empty())
    }
}

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// JSON: an object, a list, several one after the other, one in each line.
    Json,
    /// YAML: one document or several.
    Yaml,
    /// The dump of [`DumpWriter`](super::DumpWriter).
    OwnDump,
    /// A must-gather's note of when it was taken.
    Timestamp,
    /// A file in no known format.
    Unknown,
}

/// Layout of a folder or an archive, by the tool that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileLayout {
    /// No known layout.
    Loose,
    /// The layout of `oc adm must-gather`, `oc adm inspect` or crust-gather.
    Gathered,
    /// The layout of `kubectl cluster-info dump`, which holds neither volumes nor claims.
    ClusterInfoDump,
}

/// The part of the cluster that a file speaks of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileScope {
    /// Unknown by the file's place. A typed list in it may be that of one namespace.
    Unknown,
    /// Objects that live in no namespace.
    Cluster,
    /// Objects of one namespace.
    Namespace(String),
}

/// Text that is searched in every item: to prepare a search takes longer than to search.
pub(super) type SearchedText = LazyLock<Finder<'static>>;

macro_rules! wanted {
    ($text:literal) => {
        LazyLock::new(|| Finder::new($text))
    };
}

/// The beginning of an item.
pub(super) const ITEM_START: &[u8] = b"{\n            \"apiVersion\": \"";
/// The end of an item.
pub(super) static ITEM_END: SearchedText = wanted!(b"\n        }");

const KIND: &[u8] = b",\n            \"kind\": \"";
const METADATA: &[u8] = b",\n            \"metadata\": {";
static METADATA_END: SearchedText = wanted!(b"\n            }");
static NAME: SearchedText = wanted!(b"\n                \"name\": \"");
static NAMESPACE: SearchedText = wanted!(b"\n                \"namespace\": \"");
static UID: SearchedText = wanted!(b"\n                \"uid\": \"");
static CREATED: SearchedText = wanted!(b"\n                \"creationTimestamp\": \"");
static VERSION: SearchedText = wanted!(b"\n                \"resourceVersion\": \"");
/// The beginning of a member of an item.
static MEMBER: SearchedText = wanted!(b"\n            \"");
/// The members at the beginning of an item.
const MEMBERS: [&[u8]; 3] = [b"apiVersion\"", b"kind\"", b"metadata\""];
static MANAGED: SearchedText = wanted!(b"\n                \"managedFields\": [\n");
static MANAGED_END: SearchedText = wanted!(b"\n                ],");

/// Positions of the parts of an object that was cut out by its indentation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skimmed {
    /// Range of `metadata.managedFields` in the body, with the comma behind it; empty if it was not found. The body
    /// without it is the object without it.
    pub managed_fields: Range<usize>,
}

/// Reads the head of an item, if all of it stands where kubectl puts it.
pub(super) fn skim_item(item: &[u8]) -> Option<(ObjectHead, Skimmed)> {
    let (api_version, rest) = text(item.strip_prefix(ITEM_START)?)?;
    let (kind, rest) = text(rest.strip_prefix(KIND)?)?;
    let metadata = rest.strip_prefix(METADATA)?;
    // A list in a list, or an error of the API server.
    if kind.ends_with("List") || kind == "Status" {
        return None;
    }
    let before = item.len() - metadata.len();
    let mut managed_fields = 0..0;
    let mut from = 0;
    if let Some(start) = MANAGED.find(metadata) {
        let end = start + MANAGED_END.find(&metadata[start..])? + MANAGED_END.needle().len();
        managed_fields = before + start..before + end;
        from = end;
    }
    let end = from + METADATA_END.find(&metadata[from..])?;
    // If the metadata ends before its managed fields, these are somebody else's.
    if METADATA_END.find(&metadata[..managed_fields.start.saturating_sub(before)]).is_some() {
        return None;
    }
    // The same member twice, as when two items have run into one: not for this shortcut to judge.
    let again = |at: usize| {
        MEMBERS.iter().any(|member| metadata[at + MEMBER.needle().len()..].starts_with(member))
    };
    if MEMBER.find_iter(&metadata[end..]).any(|at| again(end + at)) {
        return None;
    }
    // Of what is sorted by name, this alone stands before the managed fields.
    let created = optional(&metadata[..end], &CREATED)?;
    let metadata = &metadata[from..end];
    let (name, _) = text(&metadata[NAME.find(metadata)? + NAME.needle().len()..])?;
    let meta = HeadMetadata {
        name: NullableText(name),
        namespace: optional(metadata, &NAMESPACE)?,
        uid: optional(metadata, &UID)?,
        resource_version: optional(metadata, &VERSION)?,
        created,
        ..HeadMetadata::default()
    };
    Some((ObjectHead::known(api_version, kind, meta), Skimmed { managed_fields }))
}

/// Reads a member that may be missing. One of this name anywhere else may be deeper, or may have lost
/// its indentation.
fn optional(metadata: &[u8], name: &Finder) -> Option<NullableText> {
    let needle = name.needle();
    if let Some(at) = name.find(metadata) {
        return Some(NullableText(text(&metadata[at + needle.len()..])?.0));
    }
    // The key alone, since blanks around the colon may be others than kubectl's.
    let key = needle.trim_ascii_start();
    let key = &key[..=1 + memchr::memchr(b'"', &key[1..])?];
    memmem::find(metadata, key).is_none().then(NullableText::default)
}

/// Reads a text without escapes that is not empty, and what follows it.
fn text(rest: &[u8]) -> Option<(String, &[u8])> {
    let end = memchr::memchr(b'"', rest)?;
    let text = str::from_utf8(&rest[..end]).ok()?;
    let plain = !text.is_empty() && !text.contains(|c: char| c == '\\' || c.is_control());
    plain.then(|| (text.to_owned(), &rest[end + 1..]))
}

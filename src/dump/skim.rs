//! Finds the items of a list that kubectl printed by their indentation, without parsing them.
//!
//! `kubectl get -o json` indents by four and sorts the members, so an item of a list begins with its
//! version and its kind, and ends with the first brace that stands eight deep: no line within an
//! item is indented so little, and no text in JSON holds a line break. What looks otherwise is read
//! in the ordinary way. What looks so is not checked here, only found.

use std::{ops::Range, sync::LazyLock};

use memchr::memmem::{self, Finder};

use super::head::{HeadMetadata, NullableText, ObjectHead};

/// What is looked for in every item: to prepare a search takes longer than to search.
pub(super) type SearchedText = LazyLock<Finder<'static>>;

macro_rules! wanted {
    ($text:literal) => {
        LazyLock::new(|| Finder::new($text))
    };
}

/// What an item begins with.
pub(super) const START: &[u8] = b"{\n            \"apiVersion\": \"";
/// What it ends with.
pub(super) static END: SearchedText = wanted!(b"\n        }");

const KIND: &[u8] = b",\n            \"kind\": \"";
const METADATA: &[u8] = b",\n            \"metadata\": {";
static METADATA_END: SearchedText = wanted!(b"\n            }");
static NAME: SearchedText = wanted!(b"\n                \"name\": \"");
static NAMESPACE: SearchedText = wanted!(b"\n                \"namespace\": \"");
static UID: SearchedText = wanted!(b"\n                \"uid\": \"");
static CREATED: SearchedText = wanted!(b"\n                \"creationTimestamp\": \"");
static VERSION: SearchedText = wanted!(b"\n                \"resourceVersion\": \"");
/// Where a member of an item begins.
static MEMBER: SearchedText = wanted!(b"\n            \"");
/// The members that stand at its beginning.
const MEMBERS: [&[u8]; 3] = [b"apiVersion\"", b"kind\"", b"metadata\""];
static MANAGED: SearchedText = wanted!(b"\n                \"managedFields\": [\n");
static MANAGED_END: SearchedText = wanted!(b"\n                ],");

/// What is known of an object that was cut out by its indentation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skimmed {
    /// Where in the body `metadata.managedFields` stands, with the comma behind it; empty if it was not
    /// found. The body without it is the object without it.
    pub managed_fields: Range<usize>,
}

/// Reads the head of an item, if all of it stands where kubectl puts it.
pub(super) fn head(item: &[u8]) -> Option<(ObjectHead, Skimmed)> {
    let (api_version, rest) = text(item.strip_prefix(START)?)?;
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

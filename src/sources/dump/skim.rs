//! Items of a list as kubectl prints it, found by their indentation.
//!
//! `kubectl get -o json` indents by four and sorts the members, so an item of a list begins with its
//! version and its kind, and ends with the first brace that stands eight deep: no line within an
//! item is indented so little, and no text in JSON holds a line break. What looks otherwise is read
//! in the ordinary way. What looks so is not checked here, only found.

use std::ops::Range;

use memchr::memmem;

use super::head::{Head, Meta, Text};

/// What an item begins with.
pub(super) const START: &[u8] = b"{\n            \"apiVersion\": \"";
/// What it ends with.
pub(super) const END: &[u8] = b"\n        }";

const KIND: &[u8] = b",\n            \"kind\": \"";
const METADATA: &[u8] = b",\n            \"metadata\": {";
const METADATA_END: &[u8] = b"\n            }";
const NAME: &[u8] = b"\n                \"name\": \"";
const NAMESPACE: &[u8] = b"\n                \"namespace\": \"";
const UID: &[u8] = b"\n                \"uid\": \"";
const VERSION: &[u8] = b"\n                \"resourceVersion\": \"";
/// Where a member of an item begins.
const MEMBER: &[u8] = b"\n            \"";
/// The members that stand at its beginning.
const MEMBERS: [&[u8]; 3] = [b"apiVersion\"", b"kind\"", b"metadata\""];
const MANAGED: &[u8] = b"\n                \"managedFields\": [\n";
const MANAGED_END: &[u8] = b"\n                ],";

/// What is known of an object that was cut out by its indentation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skimmed {
    /// Where in the body `metadata.managedFields` stands, with the comma behind it; empty if it was not
    /// found. The body without it is the object without it.
    pub managed_fields: Range<usize>,
}

/// Reads the head of an item, if all of it stands where kubectl puts it.
pub(super) fn head(item: &[u8]) -> Option<(Head, Skimmed)> {
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
    if let Some(start) = memmem::find(metadata, MANAGED) {
        let end = start + memmem::find(&metadata[start..], MANAGED_END)? + MANAGED_END.len();
        managed_fields = before + start..before + end;
        from = end;
    }
    let end = from + memmem::find(&metadata[from..], METADATA_END)?;
    // If the metadata ends before its managed fields, these are somebody else's.
    if memmem::find(&metadata[..managed_fields.start.saturating_sub(before)], METADATA_END)
        .is_some()
    {
        return None;
    }
    // The same member twice, as when two items have run into one: not for this shortcut to judge.
    let again =
        |at: usize| MEMBERS.iter().any(|member| metadata[at + MEMBER.len()..].starts_with(member));
    if memmem::find_iter(&metadata[end..], MEMBER).any(|at| again(end + at)) {
        return None;
    }
    let metadata = &metadata[from..end];
    let (name, _) = text(&metadata[memmem::find(metadata, NAME)? + NAME.len()..])?;
    let meta = Meta {
        name: Text(name),
        namespace: optional(metadata, NAMESPACE)?,
        uid: optional(metadata, UID)?,
        resource_version: optional(metadata, VERSION)?,
        next_page: Text::default(),
    };
    Some((Head::known(api_version, kind, meta), Skimmed { managed_fields }))
}

/// Reads a member that may be missing. One of this name anywhere else may be deeper, or may have lost
/// its indentation.
fn optional(metadata: &[u8], name: &[u8]) -> Option<Text> {
    match memmem::find(metadata, name) {
        Some(at) => Some(Text(text(&metadata[at + name.len()..])?.0)),
        None => memmem::find(metadata, name.trim_ascii_start()).is_none().then(Text::default),
    }
}

/// Reads a text without escapes that is not empty, and what follows it.
fn text(rest: &[u8]) -> Option<(String, &[u8])> {
    let end = memchr::memchr(b'"', rest)?;
    let text = str::from_utf8(&rest[..end]).ok()?;
    let plain = !text.is_empty() && !text.contains(|c: char| c == '\\' || c.is_control());
    plain.then(|| (text.to_owned(), &rest[end + 1..]))
}

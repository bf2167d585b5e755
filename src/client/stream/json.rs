//! `JsonList`, which decodes `{"kind": …, "metadata": …, "items": […]}`, with its keys in any order.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{
    Decoding, ExpectedList, ItemPosition, ItemSink, ListDecodeError, ListEnd, ListMeta, joined,
};

/// Decoder of a JSON list, item by item from chunks of any size.
///
/// Holds at most one item and one chunk in memory. Bytes after the closing brace are left to the
/// caller, so that documents may follow each other.
pub struct JsonList<T> {
    state: JsonListState,
    key: Vec<u8>,
    /// The bytes of an item or value that has begun but not ended yet.
    partial: Vec<u8>,
    scan: ValueScan,
    end: ListEnd,
    /// Number of bytes of the document that were pushed, those in `partial` included.
    offset: u64,
    decoding: Decoding<T>,
    expected: ExpectedList,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonListState {
    Start,
    KeyOrEnd,
    /// State after a comma, where the object must not end.
    NextKey,
    Key,
    Colon,
    ValueStart,
    Value,
    ValueEnd,
    ItemOrEnd,
    NextItem,
    Item,
    ItemEnd,
    Done,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct JsonListMeta {
    resource_version: Option<String>,
    r#continue: Option<String>,
    remaining_item_count: Option<i64>,
}

/// The type of an item, which servers write only for custom resources.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonType<'a> {
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct JsonNamed {
    metadata: JsonNames,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct JsonNames {
    name: Option<String>,
    namespace: Option<String>,
}

impl<T> fmt::Debug for JsonList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonList")
            .field("state", &self.state)
            .field("items", &self.end.items)
            .finish_non_exhaustive()
    }
}

impl<T> JsonList<T> {
    /// Builds a decoder for one document.
    pub fn new(decoding: Decoding<T>, expected: ExpectedList) -> Self {
        Self {
            state: JsonListState::Start,
            key: Vec::new(),
            partial: Vec::new(),
            scan: ValueScan::default(),
            end: ListEnd::default(),
            offset: 0,
            decoding,
            expected,
        }
    }

    /// Decodes the next bytes, hands every item that is whole to `sink`, and returns how many bytes
    /// were used: all of them, unless the list ended before.
    ///
    /// # Errors
    ///
    /// [`ListDecodeError::Malformed`] if this is not a JSON object.
    pub fn push(
        &mut self,
        bytes: &[u8],
        sink: &mut ItemSink<'_, T>,
    ) -> Result<usize, ListDecodeError> {
        let before = self.offset;
        let mut at = 0;
        while at < bytes.len() && self.state != JsonListState::Done {
            at += match self.state {
                JsonListState::Value => self.value(&bytes[at..])?,
                JsonListState::Item => self.item(&bytes[at..], sink)?,
                JsonListState::Key => self.key(&bytes[at..])?,
                _ => self.structure(bytes[at])?,
            };
            self.offset = before + at as u64;
        }
        Ok(at)
    }

    /// Ends the list, after all bytes were pushed.
    ///
    /// # Errors
    ///
    /// [`ListDecodeError::Truncated`] before the closing brace, [`ListDecodeError::OtherList`] for a
    /// document that is not the list that was requested.
    pub fn finish(self) -> Result<ListEnd, ListDecodeError> {
        if self.state != JsonListState::Done {
            return Err(ListDecodeError::Truncated { items: self.end.items, offset: self.offset });
        }
        self.expected.check(&self.end)?;
        Ok(self.end)
    }

    pub(super) fn malformed(&self, detail: impl fmt::Display) -> ListDecodeError {
        ListDecodeError::Malformed {
            items: self.end.items,
            offset: self.offset,
            detail: detail.to_string(),
        }
    }

    /// Decodes one byte between values. A byte that begins a value is left to the next state.
    fn structure(&mut self, byte: u8) -> Result<usize, ListDecodeError> {
        if byte.is_ascii_whitespace() {
            return Ok(1);
        }
        let (next, used) = match (self.state, byte) {
            (JsonListState::Start, b'{') => (JsonListState::KeyOrEnd, 1),
            (JsonListState::KeyOrEnd | JsonListState::ValueEnd, b'}') => (JsonListState::Done, 1),
            (JsonListState::KeyOrEnd | JsonListState::NextKey, b'"') => (JsonListState::Key, 0),
            (JsonListState::Colon, b':') => (JsonListState::ValueStart, 1),
            (JsonListState::ValueStart, b'[') if self.key == b"items" => {
                (JsonListState::ItemOrEnd, 1)
            }
            (JsonListState::ValueStart, _) => (JsonListState::Value, 0),
            (JsonListState::ValueEnd, b',') => (JsonListState::NextKey, 1),
            (JsonListState::ItemOrEnd | JsonListState::ItemEnd, b']') => {
                (JsonListState::ValueEnd, 1)
            }
            (JsonListState::ItemEnd, b',') => (JsonListState::NextItem, 1),
            (JsonListState::ItemOrEnd | JsonListState::NextItem, byte) if byte != b']' => {
                (JsonListState::Item, 0)
            }
            _ => return Err(self.malformed(format_args!("unexpected {:?}", char::from(byte)))),
        };
        self.state = next;
        Ok(used)
    }

    fn key(&mut self, bytes: &[u8]) -> Result<usize, ListDecodeError> {
        let used = self.collect(bytes);
        if let Some(text) = self.collected(used) {
            let key: String =
                serde_json::from_slice(&text).map_err(|error| self.malformed(error))?;
            self.key = key.into_bytes();
            self.state = JsonListState::Colon;
        }
        Ok(used.unwrap_or(bytes.len()))
    }

    fn value(&mut self, bytes: &[u8]) -> Result<usize, ListDecodeError> {
        let used = self.collect(bytes);
        if let Some(text) = self.collected(used) {
            self.keep(&text)?;
            self.state = JsonListState::ValueEnd;
        }
        Ok(used.unwrap_or(bytes.len()))
    }

    /// Stores a top-level value that belongs to a list.
    fn keep(&mut self, text: &[u8]) -> Result<(), ListDecodeError> {
        let kept = match self.key.as_slice() {
            b"kind" => serde_json::from_slice(text).map(|kind: Option<String>| {
                self.end.kind = kind.unwrap_or_default();
            }),
            b"apiVersion" => serde_json::from_slice(text).map(|version: Option<String>| {
                self.end.api_version = version.unwrap_or_default();
            }),
            b"metadata" => serde_json::from_slice(text).map(|meta: Option<JsonListMeta>| {
                let meta = meta.unwrap_or_default();
                self.end.meta = ListMeta {
                    resource_version: meta.resource_version.unwrap_or_default(),
                    continue_token: meta.r#continue.unwrap_or_default(),
                    remaining: meta.remaining_item_count.unwrap_or_default(),
                };
            }),
            // Go writes an empty list as null.
            b"items" => serde_json::from_slice(text).map(|(): ()| ()),
            _ => serde_json::from_slice(text).map(|_: IgnoredAny| ()),
        };
        kept.map_err(|error| self.malformed(error))
    }

    fn item(&mut self, bytes: &[u8], sink: &mut ItemSink<'_, T>) -> Result<usize, ListDecodeError> {
        let begun = self.partial.len() as u64;
        let used = self.collect(bytes);
        if let Some(bytes) = self.collected(used) {
            let place = ItemPosition { index: self.end.items, offset: self.offset - begun };
            let text = std::str::from_utf8(&bytes).map_err(|error| self.malformed(error))?;
            match (self.decoding.json)(text) {
                Ok(item) => sink(match self.other_type(text) {
                    None => Ok(item),
                    Some(other) => Err(place.broken(name(text), other)),
                }),
                Err(error)
                    if error.is_data() && serde_json::from_str::<IgnoredAny>(text).is_ok() =>
                {
                    sink(Err(place.broken(name(text), error)));
                }
                Err(error) => return Err(self.malformed(error)),
            }
            self.end.items += 1;
            self.state = JsonListState::ItemEnd;
            // The next item that is split between chunks reuses this memory.
            self.partial = bytes;
            self.partial.clear();
        }
        Ok(used.unwrap_or(bytes.len()))
    }

    /// Describes an item that is not of the kind that was requested; `None` if it is.
    fn other_type(&self, text: &str) -> Option<String> {
        let JsonType { api_version, kind } = match serde_json::from_str(text) {
            Ok(found) => found,
            Err(error) => return Some(error.to_string()),
        };
        let ExpectedList { api_version: version, item, .. } = &self.expected;
        let differs = |found: Option<&str>, wanted: &str| {
            found.is_some_and(|found| !found.is_empty() && found != wanted)
        };
        let other = differs(kind.as_deref(), item) || differs(api_version.as_deref(), version);
        other.then(|| {
            let (kind, api_version) = (kind.unwrap_or_default(), api_version.unwrap_or_default());
            format!("it is {kind:?} of {api_version:?}, not {item:?} of {version:?}")
        })
    }

    /// Adds the bytes of the current value to `partial`; returns their number if the value has
    /// ended.
    fn collect(&mut self, bytes: &[u8]) -> Option<usize> {
        let used = self.scan.end(bytes);
        self.partial.extend_from_slice(&bytes[..used.unwrap_or(bytes.len())]);
        used
    }

    /// Returns the bytes of a value that has ended.
    fn collected(&mut self, used: Option<usize>) -> Option<Vec<u8>> {
        used?;
        self.scan = ValueScan::default();
        Some(std::mem::take(&mut self.partial))
    }
}

/// Returns the name of an item, as far as it has one.
fn name(text: &str) -> Option<String> {
    let JsonNames { name, namespace } = serde_json::from_str::<JsonNamed>(text).ok()?.metadata;
    joined(namespace.as_deref().unwrap_or_default(), name.as_deref()?)
}

/// Scanner of one JSON value in chunks of any size.
#[derive(Debug, Clone, Default)]
pub struct ValueScan {
    depth: u32,
    quoted: bool,
    escaped: bool,
    /// Whether the scan is inside a number, `true`, `false` or `null` at depth zero, which ends before the next
    /// delimiter.
    bare: bool,
}

impl ValueScan {
    /// Scans the next bytes of the value; returns how many of them belong to it if it has ended.
    ///
    /// Invalid JSON is left to the parser: this only has to find the end of a valid value.
    pub fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            if self.quoted {
                at += self.quoted_run(&bytes[at..]);
                if !self.quoted && self.depth == 0 {
                    return Some(at);
                }
                continue;
            }
            let byte = bytes[at];
            if self.bare && matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n') {
                return Some(at);
            }
            at += 1;
            match byte {
                b'"' => self.quoted = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at);
                    }
                }
                b' ' | b'\t' | b'\r' | b'\n' => {}
                _ if self.depth == 0 => self.bare = true,
                _ => {}
            }
        }
        None
    }

    /// Scans the rest of a string; returns how many bytes were used.
    fn quoted_run(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            if self.escaped {
                self.escaped = false;
                at += 1;
                continue;
            }
            let Some(step) = bytes[at..].iter().position(|&byte| byte == b'"' || byte == b'\\')
            else {
                return bytes.len();
            };
            at += step + 1;
            if bytes[at - 1] == b'"' {
                self.quoted = false;
                return at;
            }
            self.escaped = true;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_where_the_parser_ends() {
        for (text, end) in [
            (r#"{"a":"}\"]"} ,"#, Some(12)),
            ("[[],{}],", Some(7)),
            (r#""a\\","#, Some(5)),
            ("12,", Some(2)),
            ("null}", Some(4)),
            ("true", None),
            (r#"{"a":"#, None),
            (r#""open"#, None),
        ] {
            assert_eq!(ValueScan::default().end(text.as_bytes()), end, "{text}");
            let mut bytewise = ValueScan::default();
            let found =
                text.bytes().enumerate().find_map(|(at, byte)| Some(at + bytewise.end(&[byte])?));
            assert_eq!(found, end, "{text}, byte by byte");
        }
    }
}

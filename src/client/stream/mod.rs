//! Decoders of lists: items are handed over as their bytes arrive, and a broken item does not end
//! the list.
//!
//! The decoders are synchronous and know nothing of HTTP: bytes are pushed in chunks of any size.
//! `json` and `protobuf` decode the two encodings; `json` finds the end of a JSON value.

mod json;
mod protobuf;

use std::fmt;

use super::Decoding;

pub use json::{JsonList, ValueScan};
pub use protobuf::ProtobufList;

/// Receiver of the items that a decoder hands over, in the order of the list.
pub type ItemSink<'a, T> = dyn FnMut(Result<T, ItemError>) + 'a;

/// Encoding of the bytes of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Protobuf, in the API server's own `k8s\0` envelope.
    Protobuf,
    /// JSON.
    Json,
}

/// `metadata` of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListMeta {
    /// The resource version that a watch may start from.
    pub resource_version: String,
    /// The token of the next page; empty on the last one.
    pub continue_token: String,
    /// Number of items on the next pages, as far as the server says.
    pub remaining: i64,
}

/// Kind and version that a list must have to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedList {
    /// `apiVersion` of the list and of its items.
    pub api_version: String,
    /// The kind of the items.
    pub item: String,
    /// The kind of the list; `None` for a custom resource, whose definition chooses it.
    pub kind: Option<String>,
}

impl ExpectedList {
    /// Whether a list says that it is this one.
    fn is_list(&self, api_version: &str, kind: &str) -> bool {
        let of_kind = match &self.kind {
            Some(wanted) => wanted == kind,
            None => kind.ends_with("List"),
        };
        of_kind && api_version == self.api_version
    }

    /// Checks that the list is the one that was requested.
    fn check(&self, end: &ListEnd) -> Result<(), ListDecodeError> {
        let ListEnd { kind, api_version, .. } = end;
        if self.is_list(api_version, kind) {
            return Ok(());
        }
        let named = |text: &str| match text {
            "" => "nothing".to_owned(),
            text => text.to_owned(),
        };
        Err(ListDecodeError::OtherList {
            expected: format!(
                "{} of {}",
                self.kind.as_deref().unwrap_or("a list"),
                self.api_version
            ),
            found: format!("{} of {}", named(kind), named(api_version)),
        })
    }
}

/// A list that was read to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListEnd {
    /// Kind, such as `PodList`, or `List`.
    pub kind: String,
    /// API version of the list.
    pub api_version: String,
    /// Metadata.
    pub meta: ListMeta,
    /// Number of items in the list, broken ones included.
    pub items: u64,
}

/// Error of an item that could not be decoded. It does not end the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemError {
    /// Index of the item in the list, from zero.
    pub index: u64,
    /// Offset at which the item begins, in bytes of the decompressed document.
    pub offset: u64,
    /// `namespace/name` or `name`, if that could be read.
    pub name: Option<String>,
    /// The fault.
    pub detail: String,
}

impl fmt::Display for ItemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {} at byte {}", self.index, self.offset)?;
        if let Some(name) = &self.name {
            write!(f, ", {name},")?;
        }
        write!(f, " cannot be decoded: {}", self.detail)
    }
}

impl std::error::Error for ItemError {}

/// Reason for which a list as a whole could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListDecodeError {
    /// The bytes ended before the list did.
    #[error("the list was truncated after {items} items ({offset} bytes)")]
    Truncated {
        /// Number of whole items before the end.
        items: u64,
        /// Number of bytes before the end.
        offset: u64,
    },
    /// The bytes are not in the expected encoding, so the next item cannot be found.
    #[error("the list is malformed at byte {offset}, after {items} items: {detail}")]
    Malformed {
        /// Number of items before the fault.
        items: u64,
        /// Number of bytes before the fault.
        offset: u64,
        /// The fault.
        detail: String,
    },
    /// The document is not the list that was requested.
    #[error("expected {expected}, found {found}")]
    OtherList {
        /// The kind and the API version that were requested.
        expected: String,
        /// Kind and version of the document.
        found: String,
    },
    /// The list says that there are more items, and not how to get them.
    #[error("the list leaves out {remaining} items")]
    LeftOut {
        /// Number of items that remain.
        remaining: i64,
    },
}

/// The position of an item, for an [`ItemError`].
#[derive(Debug, Clone, Copy)]
struct ItemPosition {
    index: u64,
    offset: u64,
}

impl ItemPosition {
    fn broken(self, name: Option<String>, detail: impl fmt::Display) -> ItemError {
        ItemError { index: self.index, offset: self.offset, name, detail: detail.to_string() }
    }
}

/// Returns `namespace/name`, or `name` without a namespace.
fn joined(namespace: &str, name: &str) -> Option<String> {
    match (namespace, name) {
        (_, "") => None,
        ("", name) => Some(name.to_owned()),
        (namespace, name) => Some(format!("{namespace}/{name}")),
    }
}

/// Decoder of one list in either encoding.
#[derive(Debug)]
pub enum ListDecoder<T> {
    /// Protobuf.
    Protobuf(ProtobufList<T>),
    /// JSON.
    Json(JsonList<T>),
}

impl<T> ListDecoder<T> {
    /// Builds a decoder for a list in the given encoding.
    pub fn new(encoding: Encoding, decoding: Decoding<T>, expected: ExpectedList) -> Self {
        match encoding {
            Encoding::Protobuf => Self::Protobuf(ProtobufList::new(decoding, expected)),
            Encoding::Json => Self::Json(JsonList::new(decoding, expected)),
        }
    }

    /// Decodes the next bytes, and hands every item that is whole to `sink`.
    ///
    /// # Errors
    ///
    /// [`ListDecodeError`] if the rest of the list cannot be decoded. Do not push after that.
    pub fn push(
        &mut self,
        bytes: &[u8],
        sink: &mut ItemSink<'_, T>,
    ) -> Result<(), ListDecodeError> {
        match self {
            Self::Protobuf(list) => list.push(bytes, sink),
            Self::Json(list) => {
                let used = list.push(bytes, sink)?;
                match bytes[used..].iter().find(|byte| !byte.is_ascii_whitespace()) {
                    None => Ok(()),
                    Some(_) => Err(list.malformed("something follows the list")),
                }
            }
        }
    }

    /// Ends the list, after all bytes were pushed.
    ///
    /// # Errors
    ///
    /// [`ListDecodeError::Truncated`] if the list was not at its end, [`ListDecodeError::OtherList`]
    /// if it is not the one that was requested, [`ListDecodeError::LeftOut`] if it is a part of it
    /// without a way to the rest.
    pub fn finish(self) -> Result<ListEnd, ListDecodeError> {
        let end = match self {
            Self::Protobuf(list) => list.finish(),
            Self::Json(list) => list.finish(),
        }?;
        match end.meta.remaining {
            remaining if remaining > 0 && end.meta.continue_token.is_empty() => {
                Err(ListDecodeError::LeftOut { remaining })
            }
            _ => Ok(end),
        }
    }
}

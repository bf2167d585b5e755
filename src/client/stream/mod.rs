//! Lists decoded as their bytes arrive: one item in memory at a time, a broken item reported and stepped over.
//!
//! The decoders are synchronous and know nothing of HTTP: whoever has bytes pushes them, in chunks of any size.

mod json;
mod protobuf;
mod scan;

use std::fmt;

use super::Decoding;

pub use json::JsonList;
pub use protobuf::ProtobufList;

/// What the decoders hand over, in the order of the list.
pub type ItemSink<'a, T> = dyn FnMut(Result<T, ItemError>) + 'a;

/// How the bytes of a list are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// The API server's own: the `k8s\0` envelope.
    Protobuf,
    /// What everything else speaks.
    Json,
}

/// What a list says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListMeta {
    /// The version a watch may start from.
    pub resource_version: String,
    /// The token that fetches the next page; empty on the last one.
    pub continue_token: String,
}

/// A list that was read to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListEnd {
    /// Its kind, such as `PodList`, or `List`.
    pub kind: String,
    /// Its API version.
    pub api_version: String,
    /// Its metadata, wherever in the document it stood.
    pub meta: ListMeta,
    /// How many items it held, broken ones included.
    pub items: u64,
}

/// One item that could not be decoded. The list around it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemError {
    /// Its place in the list, from zero.
    pub index: u64,
    /// Where it begins, in bytes of the decompressed document.
    pub offset: u64,
    /// `namespace/name` or `name`, where that much could be read.
    pub name: Option<String>,
    /// What was wrong with it.
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

/// Why a list as a whole could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListDecodeError {
    /// The bytes ended before the list did.
    #[error("the list was truncated after {items} items ({offset} bytes)")]
    Truncated {
        /// How many whole items came before the end.
        items: u64,
        /// How many bytes came.
        offset: u64,
    },
    /// The bytes are not what they claim to be, so the next item cannot be found.
    #[error("the list is malformed at byte {offset}, after {items} items: {detail}")]
    Malformed {
        /// How many items came before.
        items: u64,
        /// Where.
        offset: u64,
        /// What was met.
        detail: String,
    },
    /// A whole document came, and it is no list.
    #[error("expected a list, found {kind}")]
    NotAList {
        /// What it calls itself; "an object without a kind" if it does not.
        kind: String,
    },
}

/// Where an item stands, for an [`ItemError`].
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

/// The two halves of a name, as they are printed.
fn joined(namespace: &str, name: &str) -> Option<String> {
    match (namespace, name) {
        (_, "") => None,
        ("", name) => Some(name.to_owned()),
        (namespace, name) => Some(format!("{namespace}/{name}")),
    }
}

/// Decodes one list in either encoding.
#[derive(Debug)]
pub enum ListDecoder<T> {
    /// Protobuf.
    Protobuf(ProtobufList<T>),
    /// JSON.
    Json(JsonList<T>),
}

impl<T> ListDecoder<T> {
    /// Starts on a list in the given encoding.
    pub fn new(encoding: Encoding, decoding: Decoding<T>) -> Self {
        match encoding {
            Encoding::Protobuf => Self::Protobuf(ProtobufList::new(decoding)),
            Encoding::Json => Self::Json(JsonList::new(decoding)),
        }
    }

    /// Takes the next bytes and hands every item that is whole to `sink`.
    ///
    /// # Errors
    ///
    /// [`ListDecodeError`] once the list cannot be followed any further. Do not push after that.
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

    /// Says that no more bytes will come.
    ///
    /// # Errors
    ///
    /// [`ListDecodeError::Truncated`] if the list was not at its end, [`ListDecodeError::NotAList`] if it is none.
    pub fn finish(self) -> Result<ListEnd, ListDecodeError> {
        match self {
            Self::Protobuf(list) => list.finish(),
            Self::Json(list) => list.finish(),
        }
    }
}

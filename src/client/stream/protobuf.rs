//! `ProtobufList`, which decodes a list in the `k8s\0` envelope, which holds the type and, as bytes, the list.

use std::fmt;

use prost::Message;

use super::super::api_request::ProtobufNamed;
use super::super::decoding::{MAGIC, TypeMeta};
use super::{
    Decoding, ExpectedList, ItemPosition, ItemSink, ListDecodeError, ListEnd, ListMeta, joined,
};

/// Decoder of a protobuf list, item by item from chunks of any size.
///
/// Holds at most one item and one chunk in memory.
pub struct ProtobufList<T> {
    state: ProtobufListState,
    /// Bytes that were pushed and not used yet.
    pending: Vec<u8>,
    /// Number of bytes of the list message that are left, while inside it.
    rest: u64,
    /// Number of bytes of an unknown field that are left to be dropped.
    skip: u64,
    end: ListEnd,
    offset: u64,
    decoding: Decoding<T>,
    expected: ExpectedList,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProtobufListState {
    Magic,
    /// State between the fields of the envelope that precede the list.
    Envelope,
    List,
    /// State between the fields of the envelope that follow the list.
    Trailer,
}

/// The key of one field, and the length of its value.
struct FieldHead {
    number: u64,
    /// Number of bytes of key and length.
    head: usize,
    /// Number of bytes of the value.
    body: u64,
    delimited: bool,
}

#[derive(Clone, PartialEq, Message)]
struct ProtobufListMeta {
    #[prost(string, tag = "2")]
    resource_version: String,
    #[prost(string, tag = "3")]
    continue_token: String,
    #[prost(int64, optional, tag = "4")]
    remaining: Option<i64>,
}

impl<T> fmt::Debug for ProtobufList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProtobufList")
            .field("state", &self.state)
            .field("items", &self.end.items)
            .finish_non_exhaustive()
    }
}

impl<T> ProtobufList<T> {
    /// Builds a decoder for one envelope.
    pub fn new(decoding: Decoding<T>, expected: ExpectedList) -> Self {
        Self {
            state: ProtobufListState::Magic,
            pending: Vec::new(),
            rest: 0,
            skip: 0,
            end: ListEnd::default(),
            offset: 0,
            decoding,
            expected,
        }
    }

    /// Decodes the next bytes, and hands every item that is whole to `sink`.
    ///
    /// # Errors
    ///
    /// [`ListDecodeError::Malformed`] if the envelope or the list is not protobuf,
    /// [`ListDecodeError::OtherList`] if the envelope holds something else.
    pub fn push(
        &mut self,
        bytes: &[u8],
        sink: &mut ItemSink<'_, T>,
    ) -> Result<(), ListDecodeError> {
        // Only the rest of the last chunk is copied: items that are whole in this chunk are read in
        // place.
        if self.pending.is_empty() {
            let used = self.walk(bytes, sink)?;
            self.pending.extend_from_slice(&bytes[used..]);
            return Ok(());
        }
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend_from_slice(bytes);
        let used = self.walk(&pending, sink)?;
        pending.drain(..used);
        self.pending = pending;
        Ok(())
    }

    /// Ends the list, after all bytes were pushed.
    ///
    /// # Errors
    ///
    /// [`ListDecodeError::Truncated`] if the envelope is incomplete.
    pub fn finish(self) -> Result<ListEnd, ListDecodeError> {
        if self.state == ProtobufListState::Trailer && self.pending.is_empty() && self.skip == 0 {
            return Ok(self.end);
        }
        Err(ListDecodeError::Truncated {
            items: self.end.items,
            offset: self.offset + self.pending.len() as u64,
        })
    }

    /// Reads as many whole fields as have arrived; returns how many bytes they took.
    fn walk(&mut self, bytes: &[u8], sink: &mut ItemSink<'_, T>) -> Result<usize, ListDecodeError> {
        let mut at = 0;
        loop {
            let left = &bytes[at..];
            let used = if self.skip > 0 { self.drop_from(left) } else { self.step(left, sink)? };
            let Some(used) = used else { return Ok(at) };
            at += used;
            self.offset += used as u64;
            if self.state == ProtobufListState::List {
                self.rest -= used as u64;
                if self.rest == 0 {
                    self.state = ProtobufListState::Trailer;
                }
            }
        }
    }

    fn drop_from(&mut self, bytes: &[u8]) -> Option<usize> {
        let used = usize::try_from(self.skip).map_or(bytes.len(), |skip| skip.min(bytes.len()));
        self.skip -= used as u64;
        (used > 0).then_some(used)
    }

    /// Reads the magic or one field; `None` asks for more bytes.
    fn step(
        &mut self,
        bytes: &[u8],
        sink: &mut ItemSink<'_, T>,
    ) -> Result<Option<usize>, ListDecodeError> {
        if self.state == ProtobufListState::Magic {
            let known = bytes.len().min(MAGIC.len());
            if bytes[..known] != MAGIC[..known] {
                return Err(self.malformed("the magic bytes of protobuf are missing"));
            }
            if known < MAGIC.len() {
                return Ok(None);
            }
            self.state = ProtobufListState::Envelope;
            return Ok(Some(known));
        }
        let Some(field) = self.field(bytes)? else { return Ok(None) };
        if self.state == ProtobufListState::List
            && (field.head as u64).saturating_add(field.body) > self.rest
        {
            return Err(self.malformed("an item is longer than the list that contains it"));
        }
        if self.state == ProtobufListState::Envelope && field.number == 2 && field.delimited {
            return self.enter(&field).map(Some);
        }
        let wanted = field.delimited
            && match self.state {
                ProtobufListState::Envelope => field.number == 1,
                ProtobufListState::List => field.number <= 2,
                ProtobufListState::Magic | ProtobufListState::Trailer => false,
            };
        if !wanted {
            self.skip = field.body;
            return Ok(Some(field.head));
        }
        let whole = usize::try_from(field.body).ok().and_then(|body| field.head.checked_add(body));
        let Some(whole) = whole else { return Err(self.malformed("a length is out of range")) };
        let Some(body) = bytes.get(field.head..whole) else { return Ok(None) };
        if self.state == ProtobufListState::Envelope {
            let meta = TypeMeta::decode(body).map_err(|error| self.malformed(error))?;
            self.end.kind = meta.kind;
            self.end.api_version = meta.api_version;
        } else if field.number == 1 {
            let meta = ProtobufListMeta::decode(body).map_err(|error| self.malformed(error))?;
            self.end.meta = ListMeta {
                resource_version: meta.resource_version,
                continue_token: meta.continue_token,
                remaining: meta.remaining.unwrap_or_default(),
            };
        } else {
            let place = ItemPosition { index: self.end.items, offset: self.offset };
            sink((self.decoding.protobuf)(body).map_err(|error| place.broken(name(body), error)));
            self.end.items += 1;
        }
        Ok(Some(whole))
    }

    /// Enters the list.
    fn enter(&mut self, field: &FieldHead) -> Result<usize, ListDecodeError> {
        self.expected.check(&self.end)?;
        // `walk` subtracts the bytes of every step in the list, and this step is one of them.
        self.rest = field.body + field.head as u64;
        self.state = ProtobufListState::List;
        Ok(field.head)
    }

    fn field(&self, bytes: &[u8]) -> Result<Option<FieldHead>, ListDecodeError> {
        let Some((key, key_len)) = self.varint(bytes)? else { return Ok(None) };
        let (head, body, delimited) = match key & 7 {
            0 => match self.varint(&bytes[key_len..])? {
                Some((_, len)) => (key_len + len, 0, false),
                None => return Ok(None),
            },
            1 => (key_len, 8, false),
            2 => match self.varint(&bytes[key_len..])? {
                Some((body, len)) => (key_len + len, body, true),
                None => return Ok(None),
            },
            5 => (key_len, 4, false),
            kind => return Err(self.malformed(format_args!("wire type {kind}"))),
        };
        match key >> 3 {
            0 => Err(self.malformed("field number zero")),
            number => Ok(Some(FieldHead { number, head, body, delimited })),
        }
    }

    fn varint(&self, bytes: &[u8]) -> Result<Option<(u64, usize)>, ListDecodeError> {
        let mut value = 0_u64;
        for (index, byte) in bytes.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                return Ok(Some((value, index + 1)));
            }
        }
        if bytes.len() < 10 {
            Ok(None)
        } else {
            Err(self.malformed("a number has more than ten bytes"))
        }
    }

    fn malformed(&self, detail: impl fmt::Display) -> ListDecodeError {
        ListDecodeError::Malformed {
            items: self.end.items,
            offset: self.offset,
            detail: detail.to_string(),
        }
    }
}

fn name(body: &[u8]) -> Option<String> {
    let names = ProtobufNamed::decode(body).ok()?.metadata?;
    joined(&names.namespace, &names.name)
}

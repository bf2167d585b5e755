//! Protobuf lists: the walk through the `k8s\0` envelope, which holds the type and, as bytes, the list itself.

use std::fmt;

use prost::Message;

use super::{DecodeError, Decoding, ListEnd, ListMeta, Place, Sink, joined};

/// The four bytes every protobuf answer of an API server begins with.
pub(crate) const MAGIC: &[u8; 4] = b"k8s\0";

/// Decodes a protobuf list item by item from chunks of any size.
///
/// Memory grows to the largest item plus one chunk.
pub struct ProtobufList<T> {
    state: State,
    /// Bytes that were pushed and not used yet.
    pending: Vec<u8>,
    /// How many bytes of the list message are still to come, while inside it.
    rest: u64,
    /// How many bytes of a field nobody asked for are still to be dropped.
    skip: u64,
    end: ListEnd,
    offset: u64,
    decoding: Decoding<T>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Magic,
    /// Between the fields of the envelope, the list not met yet.
    Envelope,
    List,
    /// Between the fields of the envelope that follow the list.
    Trailer,
}

/// The head of one field: number, and how its value is stored.
struct Field {
    number: u64,
    /// Bytes of key and length.
    head: usize,
    /// Bytes of the value.
    body: u64,
    delimited: bool,
}

#[derive(Clone, PartialEq, Message)]
struct TypeMeta {
    #[prost(string, tag = "1")]
    api_version: String,
    #[prost(string, tag = "2")]
    kind: String,
}

#[derive(Clone, PartialEq, Message)]
struct Meta {
    #[prost(string, tag = "2")]
    resource_version: String,
    #[prost(string, tag = "3")]
    continue_token: String,
    #[prost(int64, optional, tag = "4")]
    remaining: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Named {
    #[prost(message, optional, tag = "1")]
    metadata: Option<Names>,
}

#[derive(Clone, PartialEq, Message)]
struct Names {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    namespace: String,
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
    /// Starts on an envelope.
    pub fn new(decoding: Decoding<T>) -> Self {
        Self {
            state: State::Magic,
            pending: Vec::new(),
            rest: 0,
            skip: 0,
            end: ListEnd::default(),
            offset: 0,
            decoding,
        }
    }

    /// How many items were met so far.
    pub fn items(&self) -> u64 {
        self.end.items
    }

    /// Takes the next bytes and hands every item that is whole to `sink`.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Malformed`] if the envelope or the list is not protobuf, [`DecodeError::NotAList`] if it holds
    /// something else.
    pub fn push(&mut self, bytes: &[u8], sink: &mut Sink<'_, T>) -> Result<(), DecodeError> {
        // Only what the last chunk left over is copied: items that are whole in this chunk are read in place.
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

    /// Says that no more bytes will come.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Truncated`] if the envelope promised more.
    pub fn finish(self) -> Result<ListEnd, DecodeError> {
        if self.state == State::Trailer && self.pending.is_empty() && self.skip == 0 {
            return Ok(self.end);
        }
        Err(DecodeError::Truncated {
            items: self.end.items,
            offset: self.offset + self.pending.len() as u64,
        })
    }

    /// Reads as many whole fields as there are; returns how many bytes they had.
    fn walk(&mut self, bytes: &[u8], sink: &mut Sink<'_, T>) -> Result<usize, DecodeError> {
        let mut at = 0;
        loop {
            let left = &bytes[at..];
            let used = if self.skip > 0 { self.drop_from(left) } else { self.step(left, sink)? };
            let Some(used) = used else { return Ok(at) };
            at += used;
            self.offset += used as u64;
            if self.state == State::List {
                self.rest -= used as u64;
                if self.rest == 0 {
                    self.state = State::Trailer;
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
    fn step(&mut self, bytes: &[u8], sink: &mut Sink<'_, T>) -> Result<Option<usize>, DecodeError> {
        if self.state == State::Magic {
            let known = bytes.len().min(MAGIC.len());
            if bytes[..known] != MAGIC[..known] {
                return Err(self.malformed("the magic bytes of protobuf are missing"));
            }
            if known < MAGIC.len() {
                return Ok(None);
            }
            self.state = State::Envelope;
            return Ok(Some(known));
        }
        let Some(field) = self.field(bytes)? else { return Ok(None) };
        if self.state == State::List && (field.head as u64).saturating_add(field.body) > self.rest {
            return Err(self.malformed("an item is longer than the list that holds it"));
        }
        if self.state == State::Envelope && field.number == 2 && field.delimited {
            return self.enter(&field).map(Some);
        }
        let wanted = field.delimited
            && match self.state {
                State::Envelope => field.number == 1,
                State::List => field.number <= 2,
                State::Magic | State::Trailer => false,
            };
        if !wanted {
            self.skip = field.body;
            return Ok(Some(field.head));
        }
        let whole = usize::try_from(field.body).ok().and_then(|body| field.head.checked_add(body));
        let Some(whole) = whole else { return Err(self.malformed("a length is out of range")) };
        let Some(body) = bytes.get(field.head..whole) else { return Ok(None) };
        if self.state == State::Envelope {
            let meta = TypeMeta::decode(body).map_err(|error| self.malformed(error))?;
            self.end.kind = meta.kind;
            self.end.api_version = meta.api_version;
        } else if field.number == 1 {
            let meta = Meta::decode(body).map_err(|error| self.malformed(error))?;
            self.end.meta = ListMeta {
                resource_version: meta.resource_version,
                continue_token: meta.continue_token,
                remaining: meta.remaining,
            };
        } else {
            let place = Place { index: self.end.items, offset: self.offset };
            sink((self.decoding.protobuf)(body).map_err(|error| place.broken(name(body), error)));
            self.end.items += 1;
        }
        Ok(Some(whole))
    }

    /// Steps inside the list.
    fn enter(&mut self, field: &Field) -> Result<usize, DecodeError> {
        if !self.end.kind.ends_with("List") {
            let kind = std::mem::take(&mut self.end.kind);
            let kind = if kind.is_empty() { "an object without a kind".to_owned() } else { kind };
            return Err(DecodeError::NotAList { kind });
        }
        // The head itself is still counted as the envelope's: `walk` subtracts what a step in the list has used.
        self.rest = field.body + field.head as u64;
        self.state = State::List;
        Ok(field.head)
    }

    fn field(&self, bytes: &[u8]) -> Result<Option<Field>, DecodeError> {
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
            number => Ok(Some(Field { number, head, body, delimited })),
        }
    }

    fn varint(&self, bytes: &[u8]) -> Result<Option<(u64, usize)>, DecodeError> {
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

    fn malformed(&self, detail: impl fmt::Display) -> DecodeError {
        DecodeError::Malformed {
            items: self.end.items,
            offset: self.offset,
            detail: detail.to_string(),
        }
    }
}

fn name(body: &[u8]) -> Option<String> {
    let names = Named::decode(body).ok()?.metadata?;
    joined(&names.namespace, &names.name)
}

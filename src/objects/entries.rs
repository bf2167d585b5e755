//! `Entries`: a map of texts, such as labels, that stores only the allowed keys.

use std::{fmt, marker::PhantomData};

use bytes::{Buf, BufMut};
use prost::{
    DecodeError,
    encoding::{self, DecodeContext, WireType, decode_key, encode_key, encoded_len_varint, string},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The keys of a map that are stored.
pub trait AllowList: Clone + fmt::Debug + Default + PartialEq + Send + Sync + 'static {
    /// Whether the key is stored.
    fn allows(key: &str) -> bool;
}

/// Allows every key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EveryKey;

impl AllowList for EveryKey {
    fn allows(_: &str) -> bool {
        true
    }
}

/// A map of texts, sorted by key, each key once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entries<A> {
    pairs: Vec<(String, String)>,
    allow: PhantomData<A>,
}

impl<A: AllowList> Entries<A> {
    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        let index = self.pairs.binary_search_by(|(known, _)| known.as_str().cmp(key)).ok()?;
        self.pairs.get(index).map(|(_, value)| value.as_str())
    }

    /// Returns all entries, sorted by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    fn insert(&mut self, key: String, value: String) {
        // Kubernetes sends them sorted.
        if self.pairs.last().is_none_or(|(last, _)| *last < key) {
            self.pairs.push((key, value));
            return;
        }
        match self.pairs.binary_search_by(|(known, _)| known.cmp(&key)) {
            Ok(index) => self.pairs[index].1 = value,
            Err(index) => self.pairs.insert(index, (key, value)),
        }
    }

    /// Reads one entry of a protobuf map.
    pub(super) fn merge(
        &mut self,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        encoding::check_wire_type(WireType::LengthDelimited, wire_type)?;
        let mut entry = (String::new(), String::new());
        encoding::merge_loop(&mut entry, buf, ctx, |(key, value), buf, ctx| {
            let (tag, wire_type) = decode_key(buf)?;
            match tag {
                1 => string::merge(wire_type, key, buf, ctx),
                // A value can be a quarter of a megabyte; the key always comes first.
                2 if key.is_empty() || A::allows(key) => string::merge(wire_type, value, buf, ctx),
                _ => encoding::skip_field(wire_type, tag, buf, ctx),
            }
        })?;
        let (key, value) = entry;
        if A::allows(&key) {
            self.insert(key, value);
        }
        Ok(())
    }

    /// Writes a protobuf map.
    pub(super) fn encode(&self, tag: u32, buf: &mut impl BufMut) {
        for (key, value) in &self.pairs {
            encode_key(tag, WireType::LengthDelimited, buf);
            encoding::encode_varint(pair_len(key, value) as u64, buf);
            string::encode(1, key, buf);
            string::encode(2, value, buf);
        }
    }

    /// Returns the length of what [`Self::encode`] writes.
    pub(super) fn encoded_len(&self, tag: u32) -> usize {
        let one = |(key, value): &(String, String)| {
            let len = pair_len(key, value);
            encoding::key_len(tag) + encoded_len_varint(len as u64) + len
        };
        self.pairs.iter().map(one).sum()
    }
}

fn pair_len(key: &String, value: &String) -> usize {
    string::encoded_len(1, key) + string::encoded_len(2, value)
}

impl<A: AllowList> Serialize for Entries<A> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, A: AllowList> Deserialize<'de> for Entries<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

struct EntriesVisitor<A>(PhantomData<A>);

impl<'de, A: AllowList> de::Visitor<'de> for EntriesVisitor<A> {
    type Value = Entries<A>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of texts")
    }

    fn visit_map<M: de::MapAccess<'de>>(self, mut map: M) -> Result<Entries<A>, M::Error> {
        let mut entries = Entries::default();
        while let Some(key) = map.next_key::<String>()? {
            if A::allows(&key) {
                let value = map.next_value::<Option<String>>()?;
                entries.insert(key, value.unwrap_or_default());
            } else {
                map.next_value::<de::IgnoredAny>()?;
            }
        }
        Ok(entries)
    }
}

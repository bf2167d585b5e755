//! Declaration of slim types: `slim!` for types that decode from protobuf, JSON and YAML, times and quantities, and
//! maps that store only allowed keys.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use bytes::{Buf, BufMut};
use chrono::{DateTime, Datelike as _, SecondsFormat};
use prost::encoding::{
    DecodeContext, WireType, decode_key, encode_key, encoded_len_varint, string,
};
use prost::{DecodeError, encoding};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, forward_to_deserialize_any};

use super::Folder;
use crate::model::{Bytes, Time, UNREADABLE_TIME, parse_quantity, parse_time};

/// Declares types that decode from protobuf, JSON and YAML alike.
///
/// In JSON and YAML every field may be absent or null, unknown fields are not stored, and empty
/// fields are not written. In protobuf the tags are those of Kubernetes.
macro_rules! slim {
    ($(
        $(#[$outer:meta])*
        pub struct $name:ident { $($(#[$inner:meta])* pub $field:ident: $type:ty,)* }
    )*) => {$(
        $(#[$outer])*
        #[derive(Clone, PartialEq, prost::Message, serde::Serialize, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase", remote = "Self")]
        pub struct $name {
            $(
                $(#[$inner])*
                #[serde(
                    deserialize_with = "crate::objects::slim::or_default",
                    skip_serializing_if = "crate::objects::slim::is_default"
                )]
                pub $field: $type,
            )*
        }

        crate::objects::slim::only_objects!($name);
    )*};
}

pub(super) use slim;

/// Makes a struct with `#[serde(remote = "Self")]` decode from objects only. What serde derives also takes a list for a
/// struct, and an empty one for an empty struct.
macro_rules! only_objects {
    ($name:ident $(<$parameter:ident: $bound:path>)?) => {
        impl $(<$parameter: $bound>)? serde::Serialize for $name $(<$parameter>)? {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, serializer)
            }
        }

        impl<'de $(, $parameter: $bound)?> serde::Deserialize<'de> for $name $(<$parameter>)? {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(crate::objects::slim::OnlyObjects(deserializer))
            }
        }
    };
}

pub(super) use only_objects;

/// A deserializer that takes only an object for a struct.
pub(super) struct OnlyObjects<D>(pub(super) D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for OnlyObjects<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Reads null as the default, as Go does.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Whether a field is empty and need not be written.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

slim! {
    /// A message of which only the presence matters.
    #[derive(Copy, Eq)]
    pub struct Present {}
}

/// Go's zero time, `0001-01-01T00:00:00Z`, in seconds since 1970.
const GO_ZERO: i64 = -62_135_596_800;

/// A point in time: `Time` or `MicroTime`. All zero means none, as in Kubernetes' protobuf, where a time that was never
/// set is an empty message.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Timestamp {
    /// Seconds since 1970.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Nanoseconds within the second.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
    /// The text of a time that does not parse. Kubernetes never sends this tag.
    #[prost(string, optional, tag = "1000")]
    pub unparsed: Option<String>,
}

impl Timestamp {
    /// Returns the point in time, if there is one that can be read.
    pub(super) fn fold(&self, field: &'static str, folder: &mut Folder) -> Option<Time> {
        self.fold_present(field, folder).filter(|time| *time != UNREADABLE_TIME)
    }

    /// Returns the point in time where its presence matters: one that cannot be read is [`UNREADABLE_TIME`].
    pub(super) fn fold_present(&self, field: &'static str, folder: &mut Folder) -> Option<Time> {
        if self.is_absent() {
            return None;
        }
        self.time().or_else(|| {
            let value = self.unparsed.clone();
            let value = value.unwrap_or_else(|| format!("{} s {} ns", self.seconds, self.nanos));
            folder.note_odd(field, &value, "an RFC 3339 time");
            Some(UNREADABLE_TIME)
        })
    }

    fn is_absent(&self) -> bool {
        self.unparsed.is_none() && self.is_zero()
    }

    /// Whether the timestamp stands for no time. Some clients write Go's zero time for that.
    fn is_zero(&self) -> bool {
        (self.seconds == 0 && self.nanos == 0) || self.seconds == GO_ZERO
    }

    /// Returns the point in time, if it is of the years that RFC 3339 can express: the wire carries others.
    fn time(&self) -> Option<Time> {
        let of_wire =
            |seconds, nanos| DateTime::from_timestamp(seconds, u32::try_from(nanos).ok()?);
        let is_of_calendar = |time: &Time| (1..=9999).contains(&time.year());
        match self.unparsed {
            Some(_) => None,
            None => of_wire(self.seconds, self.nanos).filter(is_of_calendar),
        }
    }

    fn parse(text: &str) -> Self {
        match parse_time(text) {
            Ok(Some(time)) => match i32::try_from(time.timestamp_subsec_nanos()) {
                Ok(nanos) => Self { seconds: time.timestamp(), nanos, unparsed: None },
                Err(_) => Self::not_a_time(text),
            },
            Ok(None) => Self::default(),
            Err(_) => Self::not_a_time(text),
        }
    }

    fn not_a_time(text: impl fmt::Display) -> Self {
        Self { unparsed: Some(text.to_string()), ..Self::default() }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (&self.unparsed, self.time()) {
            (Some(text), _) => serializer.serialize_str(text),
            (None, Some(time)) if !self.is_zero() => {
                serializer.serialize_str(&time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
            }
            (None, Some(_)) => serializer.serialize_none(),
            (None, None) => serializer.collect_str(&format_args!("{} s", self.seconds)),
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(ScalarVisitor("an RFC 3339 time"))
            .map(|text| Self::parse(&text))
    }
}

/// An amount as Kubernetes writes it, such as `10Gi`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Quantity {
    /// The text.
    #[prost(string, tag = "1")]
    pub string: String,
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.string)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor("a quantity")).map(|string| Self { string })
    }
}

/// Returns the bytes of storage in a list of resources, if they can be read.
pub(super) fn storage(
    resources: &BTreeMap<String, Quantity>,
    field: &'static str,
    folder: &mut Folder,
) -> Option<Bytes> {
    let Quantity { string } = resources.get("storage")?;
    parse_quantity(string).or_else(|| {
        folder.note_odd(field, string, "a quantity of bytes");
        None
    })
}

/// Visitor that reads texts, numbers and booleans as text, since hand-written YAML has either, and anything else as a
/// text that is no time and no quantity.
struct ScalarVisitor(&'static str);

impl<'de> de::Visitor<'de> for ScalarVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<String, E> {
        Ok(text)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_unit<E: de::Error>(self) -> Result<String, E> {
        Ok("null".to_owned())
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<String, E> {
        Ok(flag.to_string())
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<String, A::Error> {
        while items.next_element::<de::IgnoredAny>()?.is_some() {}
        Ok("a list".to_owned())
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut fields: A) -> Result<String, A::Error> {
        while fields.next_entry::<de::IgnoredAny, de::IgnoredAny>()?.is_some() {}
        Ok("an object".to_owned())
    }
}

/// List of the keys of a map that are stored.
pub trait AllowList: Clone + fmt::Debug + Default + PartialEq + Send + Sync + 'static {
    /// Whether the key is stored.
    fn allows(key: &str) -> bool;
}

/// List that allows every key.
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

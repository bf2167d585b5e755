//! Times and quantities. They are parsed when an object is folded: one that cannot be read is unknown,
//! and the folder notes the field.

use std::{collections::BTreeMap, fmt};

use chrono::{DateTime, Datelike as _, SecondsFormat};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Folder;
use crate::model::{Bytes, Time, UNREADABLE_TIME, parse_quantity, parse_time};

/// `0001-01-01T00:00:00Z`, Go's zero time.
const GO_ZERO: i64 = -62_135_596_800;

/// `Time` and `MicroTime`. All zero means none, as in Kubernetes' protobuf, where a time that was
/// never set is an empty message.
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

    /// The same where its presence tells something: one that cannot be read is
    /// [`UNREADABLE_TIME`].
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

    /// Whether there is no time. Some clients write Go's zero time for that.
    fn is_zero(&self) -> bool {
        (self.seconds == 0 && self.nanos == 0) || self.seconds == GO_ZERO
    }

    /// The point in time, if it is of the years that RFC 3339 can express: the wire carries others.
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

/// Reads texts, numbers and booleans as text, since hand-written YAML has either, and anything else
/// as a text that is no time and no quantity.
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

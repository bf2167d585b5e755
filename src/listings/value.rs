//! Values of a row, whose texts lie where they were read.

use std::{borrow::Cow, fmt};

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ListedValue<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    List(Vec<ListedValue<'a>>),
    Object(ListedFields<'a>),
}

/// The name of a field.
#[derive(serde::Deserialize)]
pub(super) struct FieldName<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// Fields, sorted by their names.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ListedFields<'a>(Vec<(Cow<'a, str>, ListedValue<'a>)>);

impl<'a> ListedFields<'a> {
    /// Reads the fields of an object with such names.
    ///
    /// # Errors
    /// When it is no JSON.
    pub(super) fn read<M: MapAccess<'a>>(
        mut members: M,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, M::Error> {
        let mut fields = Vec::new();
        while let Some(FieldName(name)) = members.next_key()? {
            if is_wanted(&name) {
                fields.push((name, members.next_value()?));
            } else {
                members.next_value::<serde::de::IgnoredAny>()?;
            }
        }
        // Of several with one name, the last one counts.
        fields.reverse();
        fields.sort_by(|(one, _), (other, _)| one.cmp(other));
        fields.dedup_by(|(one, _), (other, _)| one == other);
        Ok(Self(fields))
    }

    /// Returns the value of a field.
    pub(super) fn get(&self, name: &str) -> Option<&ListedValue<'a>> {
        self.0.iter().find(|it| it.0 == name).map(|it| &it.1)
    }

    /// Returns the fields with their values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &ListedValue<'a>)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }
}

impl ListedValue<'_> {
    /// Returns the text that it is.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the values of the list that it is, or none.
    pub(super) fn entries(&self) -> &[Self] {
        match self {
            Self::List(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the value of a field of the object that it is.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.get(name),
            _ => None,
        }
    }

    /// Returns the value as people would write it.
    pub(super) fn plain(&self) -> Cow<'_, str> {
        match self.as_text() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(self.to_string()),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(it) => Value::Bool(*it),
            Self::Number(it) => Value::Number(it.clone()),
            Self::Text(text) => Value::String(text.to_string()),
            Self::List(entries) => entries.iter().map(Self::to_json).collect(),
            Self::Object(fields) => {
                fields.iter().map(|(name, value)| (name.to_owned(), value.to_json())).collect()
            }
        }
    }
}

/// Writes JSON.
impl fmt::Display for ListedValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(f)
    }
}

impl<'de> Deserialize<'de> for ListedValue<'de> {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = ListedValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<ListedValue<'de>, E> {
        Ok(ListedValue::Null)
    }

    fn visit_bool<E>(self, it: bool) -> Result<ListedValue<'de>, E> {
        Ok(ListedValue::Bool(it))
    }

    fn visit_u64<E>(self, it: u64) -> Result<ListedValue<'de>, E> {
        Ok(ListedValue::Number(it.into()))
    }

    fn visit_i64<E>(self, it: i64) -> Result<ListedValue<'de>, E> {
        Ok(ListedValue::Number(it.into()))
    }

    fn visit_f64<E>(self, it: f64) -> Result<ListedValue<'de>, E> {
        Ok(Number::from_f64(it).map_or(ListedValue::Null, ListedValue::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<ListedValue<'de>, E> {
        Ok(ListedValue::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<ListedValue<'de>, E> {
        Ok(ListedValue::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ListedValue<'de>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element()? {
            entries.push(entry);
        }
        Ok(ListedValue::List(entries))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<ListedValue<'de>, A::Error> {
        ListedFields::read(members, |_| true).map(ListedValue::Object)
    }
}

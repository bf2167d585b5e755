//! Rows of a listing: the fields of one disk, and what is wrong with them.

use std::borrow::Cow;

use super::{
    Attached,
    value::{ListedFields, ListedValue},
};
use crate::model::{Bytes, Text, Time, parse_quantity, parse_time};

/// One mebibyte.
pub(super) const MIB: Bytes = 1 << 20;
/// One gibibyte.
pub(super) const GIB: Bytes = 1 << 30;

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub(super) struct FieldError {
    field: &'static str,
    why: String,
}

/// The fields of one disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListedRow<'a>(pub(super) &'a ListedFields<'a>);

impl<'a> ListedRow<'a> {
    /// Returns the field at a path with dots; `None` if it is absent or null.
    pub(super) fn at(self, path: &str) -> Option<&'a ListedValue<'a>> {
        let mut steps = path.split('.');
        let first = self.0.get(steps.next()?)?;
        steps.try_fold(first, |value, step| value.get(step)).filter(|it| **it != ListedValue::Null)
    }

    /// Returns a text; `None` if the field is absent, empty or no text.
    pub(super) fn text(self, path: &str) -> Option<&'a str> {
        self.at(path)?.as_text().filter(|it| !it.is_empty())
    }

    /// Returns a text or a number, as a text.
    ///
    /// # Errors
    /// When the field is absent, empty or something else.
    pub(super) fn needed(self, path: &'static str) -> Result<Cow<'a, str>, FieldError> {
        match self.at(path) {
            Some(ListedValue::Text(text)) if !text.is_empty() => Ok(Cow::Borrowed(text)),
            Some(ListedValue::Number(number)) => Ok(number.to_string().into()),
            Some(_) => Err(FieldError { field: path, why: "is no text".to_owned() }),
            None => Err(FieldError { field: path, why: "is missing".to_owned() }),
        }
    }

    /// Returns a size in these units; `None` if the field is absent. A number may be written as a text.
    ///
    /// # Errors
    /// When it is no whole number, or does not fit 64 bits.
    pub(super) fn size(self, path: &'static str, unit: Bytes) -> Result<Option<Bytes>, FieldError> {
        let Some(value) = self.at(path) else { return Ok(None) };
        let number = match value {
            ListedValue::Text(text) => text.parse::<u64>().ok(),
            ListedValue::Number(number) => number.as_u64(),
            _ => None,
        };
        match number.and_then(|it| it.checked_mul(unit)) {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(FieldError { field: path, why: format!("{value} is no size") }),
        }
    }

    /// Returns a time with a zone; `None` if the field is absent or empty.
    ///
    /// # Errors
    /// When it is no such time.
    pub(super) fn time(self, path: &'static str) -> Result<Option<Time>, FieldError> {
        match self.at(path) {
            None => Ok(None),
            Some(ListedValue::Text(text)) => time(path, text),
            Some(value) => Err(FieldError { field: path, why: format!("{value} is no time") }),
        }
    }

    /// Returns whether a list has anything, and of what it has the texts at this path.
    pub(super) fn attached(self, list: &str, id: &str) -> Attached {
        match self.at(list) {
            Some(ListedValue::List(entries)) => attached(entries.iter().map(|it| match id {
                "" => it,
                id => it.get(id).unwrap_or(&ListedValue::Null),
            })),
            Some(value) => attached(std::iter::once(value)),
            None => Attached::No,
        }
    }

    /// Returns the pairs of an object.
    pub(super) fn pairs(self, path: &str) -> Vec<(Text, Text)> {
        match self.at(path) {
            Some(ListedValue::Object(fields)) => ListedRow(fields).all().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the pairs of an object, or of a text such as `a='1', b='2'`, as older clients print it.
    pub(super) fn pairs_or_text(self, path: &str) -> Vec<(Text, Text)> {
        let pair = |it: &str| {
            let (key, value) = it.split_once('=')?;
            Some((key.trim().into(), value.trim().trim_matches('\'').into()))
        };
        match self.text(path) {
            Some(text) => text.split(',').filter_map(pair).collect(),
            None => self.pairs(path),
        }
    }

    /// Returns the pairs of a list of objects, each with these two fields.
    pub(super) fn pair_list(self, path: &str, key: &str, value: &str) -> Vec<(Text, Text)> {
        let text = |it: Option<&ListedValue<'_>>| -> Text {
            it.map(ListedValue::plain).unwrap_or_default().into()
        };
        self.entries(path).iter().map(|it| (text(it.get(key)), text(it.get(value)))).collect()
    }

    /// Returns all fields as pairs.
    pub(super) fn all(self) -> impl Iterator<Item = (Text, Text)> + use<'a> {
        self.0.iter().map(|(key, value)| (key.into(), value.plain().into()))
    }

    /// Returns a time of a provider that writes UTC without a zone.
    ///
    /// # Errors
    /// When it is no time.
    pub(super) fn time_of_utc(self, path: &'static str) -> Result<Option<Time>, FieldError> {
        match self.text(path) {
            Some(text) if !text.ends_with('Z') && !text.contains('+') => {
                time(path, &format!("{text}Z"))
            }
            _ => self.time(path),
        }
    }

    /// Returns the texts of a list.
    pub(super) fn list(self, path: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.entries(path).iter().filter_map(ListedValue::as_text)
    }

    /// Returns the values of a list, or none.
    pub(super) fn entries(self, path: &str) -> &'a [ListedValue<'a>] {
        self.at(path).map_or(&[], ListedValue::entries)
    }
}

fn attached<'a>(machines: impl Iterator<Item = &'a ListedValue<'a>>) -> Attached {
    let machines: Box<[Text]> = machines.map(|it| it.plain().into()).collect();
    if machines.is_empty() { Attached::No } else { Attached::To(machines) }
}

/// Reads a time with a zone; `None` if the text is empty.
///
/// # Errors
/// When it is no such time.
pub(super) fn time(field: &'static str, text: &str) -> Result<Option<Time>, FieldError> {
    if text.is_empty() {
        return Ok(None);
    }
    parse_time(text).map_err(|_| {
        let example = "is no time with a zone, such as 2026-05-01T10:00:00Z";
        FieldError { field, why: format!("{text:?} {example}") }
    })
}

/// Reads a size with or without a unit; `None` if the text is empty.
///
/// # Errors
/// When it is no size.
pub(super) fn size(field: &'static str, text: &str) -> Result<Option<Bytes>, FieldError> {
    if text.is_empty() {
        return Ok(None);
    }
    let number = text.strip_suffix("B").unwrap_or(text).replace(' ', "");
    match parse_quantity(&number) {
        Some(bytes) => Ok(Some(bytes)),
        None => Err(FieldError { field, why: format!("{text:?} is no size, such as 10Gi") }),
    }
}

impl FieldError {
    /// Says that a field is missing.
    pub(super) fn missing(field: &'static str) -> Self {
        Self { field, why: "is missing".to_owned() }
    }
}

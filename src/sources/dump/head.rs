//! The few fields by which an object is recognised, without decoding it.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::{Map, Value};

use super::flaw::Flaw;

/// What is known of an object or of a list. Filled member by member, and used again for the next.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) meta: Meta,
    pub(super) has_metadata: bool,
    pub(super) items: Items,
    /// Of an API server's error.
    message: String,
    /// The first field that could not be read.
    unusable: Option<(&'static str, String)>,
}

/// What became of the member `items`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Items {
    /// There is none.
    #[default]
    Absent,
    /// `null`, which is how Go writes a list that was never filled.
    Null,
    /// An array.
    Listed,
}

/// The part of the metadata that matters here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Meta {
    pub(super) name: Text,
    pub(super) namespace: Text,
    /// Set when the API server has more pages.
    #[serde(rename = "continue")]
    pub(super) next_page: Text,
}

/// A text, where Kubernetes takes null for an empty one.
#[derive(Debug, Default)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrNull;
        impl Visitor<'_> for TextOrNull {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }

            fn visit_unit<E: Error>(self) -> Result<Text, E> {
                Ok(Text::default())
            }
        }
        deserializer.deserialize_any(TextOrNull)
    }
}

impl Head {
    /// Builds the head of an object of which everything is known.
    pub(super) fn known(api_version: String, kind: String, meta: Meta) -> Self {
        Self { api_version, kind, meta, has_metadata: true, ..Self::default() }
    }

    /// Reads the head of an object that has been parsed already.
    pub(super) fn of(object: &Map<String, Value>) -> Self {
        let mut head = Self::default();
        head.merge(object);
        head
    }

    /// Adds what the rest of a list says.
    pub(super) fn merge(&mut self, object: &Map<String, Value>) {
        for (key, value) in object {
            let Some(member) = Member::named(key) else { continue };
            match member {
                Member::Metadata => match value {
                    Value::Null => {}
                    Value::Object(_) => self.metadata(Meta::deserialize(value)),
                    _ => self.metadata(Err(serde_json::Error::custom("it is not an object"))),
                },
                Member::Items => {
                    self.items = if value.is_null() { Items::Null } else { Items::Listed };
                }
                Member::Kind | Member::ApiVersion | Member::Message => {
                    self.text(member, Text::deserialize(value));
                }
            }
        }
    }

    /// Takes down a member that is a text.
    pub(super) fn text(&mut self, member: Member, text: Result<Text, serde_json::Error>) {
        let (field, place) = match member {
            Member::Kind => ("kind", &mut self.kind),
            Member::ApiVersion => ("apiVersion", &mut self.api_version),
            // Anything may have a member of this name: only an error's has to be a text.
            Member::Message => {
                self.message = text.unwrap_or_default().0;
                return;
            }
            Member::Metadata | Member::Items => return,
        };
        match text {
            // Twice the same field, with different answers: whichever came first, somebody else
            // may believe the other.
            Ok(Text(text)) if !place.is_empty() && *place != text => {
                self.spoil(field, "it is there twice".to_owned());
            }
            Ok(Text(text)) => *place = text,
            Err(error) => self.spoil(field, plain(&error)),
        }
    }

    /// Takes down the metadata.
    pub(super) fn metadata(&mut self, meta: Result<Meta, serde_json::Error>) {
        match meta {
            Ok(_) if self.has_metadata => self.spoil("metadata", "it is there twice".to_owned()),
            Ok(meta) => {
                self.meta = meta;
                self.has_metadata = true;
            }
            Err(error) => self.spoil("metadata", plain(&error)),
        }
    }

    fn spoil(&mut self, field: &'static str, reason: String) {
        self.unusable.get_or_insert((field, reason));
    }

    /// Returns whether this is a list, by its own account.
    pub(super) fn is_list(&self) -> bool {
        self.kind.ends_with("List")
    }

    /// Returns whether `items` are those of a list, as far as can be told yet: most writers sort
    /// the members, and so name the kind after the items.
    pub(super) fn may_be_list(&self) -> bool {
        self.kind.is_empty() || self.is_list()
    }

    /// Returns whether this is not even meant to be of Kubernetes.
    pub(super) fn is_foreign(&self) -> bool {
        self.kind.is_empty() && self.api_version.is_empty() && self.unusable.is_none()
    }

    /// Returns what is wrong with it as an object of this version and kind.
    pub(super) fn flaw(&self, api_version: &str, kind: &str) -> Option<Flaw> {
        if kind == "Status" && api_version == "v1" {
            return Some(Flaw::Refusal(self.message.clone()));
        }
        if let Some((field, reason)) = &self.unusable {
            return Some(Flaw::Unusable { field, reason: reason.clone() });
        }
        let lacks = |field| Some(Flaw::Lacks(field));
        match () {
            () if kind.is_empty() => lacks("kind"),
            () if api_version.is_empty() => lacks("apiVersion"),
            () if !self.has_metadata => lacks("metadata"),
            () if self.meta.name.0.is_empty() => lacks("metadata.name"),
            () => None,
        }
    }

    /// Returns what is wrong with it as a list. One that is empty must at least say of what.
    pub(super) fn list_flaw(&self, empty: bool) -> Option<Flaw> {
        match &self.unusable {
            Some((field, reason)) => Some(Flaw::Unusable { field, reason: reason.clone() }),
            None if empty && self.kind.is_empty() => Some(Flaw::Lacks("kind")),
            None if self.may_be_list() => None,
            None => Some(Flaw::NotAList(self.kind.clone())),
        }
    }
}

/// The members that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    Kind,
    ApiVersion,
    Metadata,
    Items,
    Message,
}

impl Member {
    /// Returns the member of this name, if it is looked at.
    pub(super) fn named(key: &str) -> Option<Self> {
        match key {
            "kind" => Some(Self::Kind),
            "apiVersion" => Some(Self::ApiVersion),
            "metadata" => Some(Self::Metadata),
            "items" => Some(Self::Items),
            "message" => Some(Self::Message),
            _ => None,
        }
    }
}

/// Returns what went wrong without the position, which is relative to a slice nobody knows.
pub(super) fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]).to_owned()
}

/// Returns what a JSON value is called in a sentence.
pub(super) fn called(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

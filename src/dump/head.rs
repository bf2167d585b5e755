//! Head of an object: its `apiVersion`, `kind` and `metadata`, read without decoding the rest of it.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::{Map, Value};

use super::flaw::Flaw;
use super::wording;

/// The kind that a broken object is said to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedType {
    /// The API version; empty if it could not be read.
    pub api_version: String,
    /// The kind; never empty.
    pub kind: String,
}

/// Head of an object or of a list. Filled member by member, and used again for the next.
#[derive(Debug, Default)]
pub(super) struct ObjectHead {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) meta: HeadMetadata,
    pub(super) has_metadata: bool,
    pub(super) items: ItemsMember,
    /// Message of an API server's error.
    message: String,
    /// The first field that could not be read.
    unusable: Option<(String, String)>,
    /// Whether a field occurs twice, as when two objects have run into one.
    doubled: bool,
}

/// Outcome of reading the member `items`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemsMember {
    /// The member is absent.
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
pub(super) struct HeadMetadata {
    pub(super) name: NullableText,
    pub(super) namespace: NullableText,
    #[serde(deserialize_with = "text_or_nothing")]
    pub(super) uid: NullableText,
    #[serde(rename = "resourceVersion", deserialize_with = "text_or_nothing")]
    pub(super) resource_version: NullableText,
    #[serde(rename = "creationTimestamp", deserialize_with = "text_or_nothing")]
    pub(super) created: NullableText,
    /// Token of the next page, set when the API server has more of them.
    #[serde(rename = "continue")]
    pub(super) next_page: NullableText,
    /// Number of items on further pages, where the API server knows.
    #[serde(rename = "remainingItemCount")]
    pub(super) remaining: Option<i64>,
}

impl HeadMetadata {
    /// Whether a list with this metadata has further pages, or had them before they were joined
    /// badly.
    pub(super) fn continues(&self) -> bool {
        !self.next_page.0.is_empty() || self.remaining.is_some_and(|count| count > 0)
    }
}

/// Reads a text that describes an object without identifying it: any other value counts as empty.
fn text_or_nothing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NullableText, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(NullableText(value.as_str().unwrap_or_default().to_owned()))
}

/// A text, where Kubernetes takes null for an empty one.
#[derive(Debug, Default)]
pub(super) struct NullableText(pub(super) String);

impl<'de> Deserialize<'de> for NullableText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrNull;
        impl Visitor<'_> for TextOrNull {
            type Value = NullableText;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<NullableText, E> {
                Ok(NullableText(text.to_owned()))
            }

            fn visit_unit<E: Error>(self) -> Result<NullableText, E> {
                Ok(NullableText::default())
            }
        }
        deserializer.deserialize_any(TextOrNull)
    }
}

impl ObjectHead {
    /// Returns the head of an object of which everything is known.
    pub(super) fn known(api_version: String, kind: String, meta: HeadMetadata) -> Self {
        Self { api_version, kind, meta, has_metadata: true, ..Self::default() }
    }

    /// Reads the head of an object that has been parsed already.
    pub(super) fn of(object: &Map<String, Value>) -> Self {
        let mut head = Self::default();
        head.merge(object);
        head
    }

    /// Adds the members of an object to the head.
    pub(super) fn merge(&mut self, object: &Map<String, Value>) {
        for (key, value) in object {
            let Some(member) = HeadKey::named(key) else { continue };
            match member {
                HeadKey::Metadata => match value {
                    Value::Null => {}
                    Value::Object(_) => match HeadMetadata::deserialize(value) {
                        Ok(meta) => self.metadata(meta),
                        Err(_) => self.spoil_metadata(&value.to_string()),
                    },
                    other => self.spoil("metadata", wording::not_an_object(called(other))),
                },
                HeadKey::Items => {
                    self.items =
                        if value.is_null() { ItemsMember::Null } else { ItemsMember::Listed };
                }
                HeadKey::Kind | HeadKey::ApiVersion | HeadKey::Message => {
                    self.text(member, NullableText::deserialize(value));
                }
            }
        }
    }

    /// Sets a member that is a text.
    pub(super) fn text(&mut self, member: HeadKey, text: Result<NullableText, serde_json::Error>) {
        let (field, place) = match member {
            HeadKey::Kind => ("kind", &mut self.kind),
            HeadKey::ApiVersion => ("apiVersion", &mut self.api_version),
            // Anything may have a member of this name: only an error's has to be a text.
            HeadKey::Message => {
                self.message = text.unwrap_or_default().0;
                return;
            }
            HeadKey::Metadata | HeadKey::Items => return,
        };
        match text {
            // Twice the same field, with different answers: whichever came first, somebody else
            // may believe the other.
            Ok(NullableText(text)) if !place.is_empty() && *place != text => {
                self.double(field);
            }
            Ok(NullableText(text)) => *place = text,
            Err(error) => self.spoil(field, wording::misfit(&error)),
        }
    }

    /// Sets the metadata.
    pub(super) fn metadata(&mut self, meta: HeadMetadata) {
        if self.has_metadata {
            return self.double("metadata");
        }
        self.meta = meta;
        self.has_metadata = true;
    }

    /// Notes the fault of metadata that could not be read.
    pub(super) fn spoil_metadata(&mut self, text: &str) {
        if let Err(error) = serde_json::from_str::<HeadMetadata>(text) {
            let (field, reason) = wording::misfit_at(text, &error);
            let dot = if field.is_empty() { "" } else { "." };
            self.spoil(&format!("metadata{dot}{field}"), reason);
        }
    }

    fn double(&mut self, field: &str) {
        self.doubled = true;
        self.spoil(field, "occurs twice".to_owned());
    }

    /// Notes that a field could not be read, in words that follow its name.
    pub(super) fn spoil(&mut self, field: &str, reason: String) {
        self.unusable.get_or_insert_with(|| (field.to_owned(), reason));
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

    /// Returns whether the document is not even meant to be of Kubernetes.
    pub(super) fn is_foreign(&self) -> bool {
        self.kind.is_empty() && self.api_version.is_empty() && self.unusable.is_none()
    }

    /// Returns the type of a broken object of this version and kind, as far as it tells itself.
    pub(super) fn claimed(&self, api_version: &str, kind: &str) -> Option<ClaimedType> {
        // An error of the API server may stand for anything.
        if self.doubled || kind.is_empty() || kind == "Status" {
            return None;
        }
        // A list where an object should be may have held any number of its kind; a plain one, of all.
        let kind = match kind.strip_suffix("List") {
            Some("") => return None,
            Some(of) if self.meta.name.0.is_empty() => of,
            _ => kind,
        };
        Some(ClaimedType { api_version: api_version.to_owned(), kind: kind.to_owned() })
    }

    /// Returns the type of the items of this list, if it says so.
    pub(super) fn claimed_items(&self) -> Option<ClaimedType> {
        let kind = self.kind.strip_suffix("List")?;
        self.claimed(&self.api_version, kind)
    }

    /// Returns the flaw of an object of this version and kind.
    pub(super) fn flaw(&self, api_version: &str, kind: &str) -> Option<Flaw> {
        if kind == "Status" && api_version == "v1" {
            return Some(Flaw::Refusal(self.message.clone()));
        }
        if let Some((field, reason)) = &self.unusable {
            return Some(Flaw::Unusable { field: field.clone(), reason: reason.clone() });
        }
        let lacks = |field| Some(Flaw::Lacks(field));
        match () {
            () if kind.is_empty() => lacks("kind"),
            () if kind.ends_with("List") && self.meta.name.0.is_empty() => {
                Some(Flaw::NestedList(kind.to_owned()))
            }
            () if api_version.is_empty() => lacks("apiVersion"),
            () if !self.has_metadata => lacks("metadata"),
            () if self.meta.name.0.is_empty() => lacks("metadata.name"),
            () => None,
        }
    }

    /// Returns the flaw of a typed list of which some items name another kind.
    pub(super) fn alien(&self, kinds: &[String]) -> Option<Flaw> {
        let of = self.kind.strip_suffix("List").filter(|of| !of.is_empty())?;
        let alien = kinds.iter().find(|kind| !kind.is_empty() && *kind != of)?;
        Some(Flaw::OtherItems(self.kind.clone(), alien.clone()))
    }

    /// Returns the flaw of a list. One that is empty must at least say of what.
    pub(super) fn list_flaw(&self, empty: bool) -> Option<Flaw> {
        match &self.unusable {
            Some((field, reason)) => {
                Some(Flaw::Unusable { field: field.clone(), reason: reason.clone() })
            }
            None if empty && self.kind.is_empty() => Some(Flaw::Lacks("kind")),
            None if self.may_be_list() => None,
            None => Some(Flaw::NotAList(self.kind.clone())),
        }
    }
}

/// Member that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadKey {
    Kind,
    ApiVersion,
    Metadata,
    Items,
    Message,
}

impl HeadKey {
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

/// Returns the name of a JSON value's type in a sentence.
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

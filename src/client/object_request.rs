//! `ObjectRequest`: an object that is asked for by name, and the check that the answer is that object.

use std::borrow::Cow;

use prost::Message;
use serde::Deserialize;

use super::api_path::{api_version, object_path};
use super::protobuf_envelope::{ProtobufEnvelope, TypeMeta};
use super::read_error::ReadError;
use crate::model::{Kind, ObjectKey};

/// An object that is asked for by name.
#[derive(Debug, Clone, Copy)]
pub struct ObjectRequest<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The version, such as `v1`.
    pub version: &'a str,
    /// Such as `Pod`.
    pub kind: &'a str,
    /// The plural, such as `pods`.
    pub resource: &'a str,
    /// Its namespace; `None` for kinds without namespaces.
    pub namespace: Option<&'a str>,
    /// Its name.
    pub name: &'a str,
}

/// The type of an answer that holds only metadata.
pub(super) const METADATA: (&str, &str) = ("meta.k8s.io/v1", "PartialObjectMetadata");

/// What an object says that it is.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct JsonIdentity<'a> {
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    metadata: Option<JsonNames<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct JsonNames<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
}

/// The names of an object in protobuf.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ProtobufNamed {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<ProtobufNames>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProtobufNames {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "3")]
    pub(super) namespace: String,
}

impl<'a> ObjectRequest<'a> {
    /// Asks for an object of a kind, in a version of it.
    pub fn of(key: &'a ObjectKey, version: &'a str) -> Self {
        let namespace = key.namespace.as_deref().filter(|_| key.kind.is_namespaced());
        Self { version, ..Self::named(key.kind, namespace, &key.name) }
    }

    /// Asks for an object of a kind, in the version of it that every server serves.
    pub fn named(kind: Kind, namespace: Option<&'a str>, name: &'a str) -> Self {
        let group = kind.group();
        Self {
            group: group.name,
            version: group.version,
            kind: kind.name(),
            resource: kind.plural(),
            namespace,
            name,
        }
    }

    /// Returns the path of the object.
    pub fn path(&self) -> String {
        object_path(self.group, self.version, self.namespace, self.resource, self.name)
    }

    /// Checks that an answer in JSON is this object, or its metadata.
    pub(super) fn check_json(&self, body: &[u8]) -> Result<(), ReadError> {
        let found: JsonIdentity<'_> = serde_json::from_slice(body)
            .map_err(|error| ReadError::undecodable(&self.path(), &error))?;
        let names = found.metadata.unwrap_or_default();
        self.check(
            &found.api_version.unwrap_or_default(),
            &found.kind.unwrap_or_default(),
            &names.namespace.unwrap_or_default(),
            &names.name.unwrap_or_default(),
        )
    }

    /// Checks that an answer in protobuf is this object.
    pub(super) fn check_protobuf(&self, found: &ProtobufEnvelope) -> Result<(), ReadError> {
        let decoded = ProtobufNamed::decode(&found.raw[..])
            .map_err(|error| ReadError::undecodable(&self.path(), &error))?;
        let names = decoded.metadata.unwrap_or_default();
        let TypeMeta { api_version, kind } = &found.r#type;
        self.check(api_version, kind, &names.namespace, &names.name)
    }

    fn check(
        &self,
        version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<(), ReadError> {
        let wanted = api_version(self.group, self.version);
        let is_of_type = (version, kind) == (wanted.as_str(), self.kind);
        let is_metadata = (version, kind) == METADATA;
        let is_named = name == self.name && namespace == self.namespace.unwrap_or_default();
        if (is_of_type || is_metadata) && is_named {
            return Ok(());
        }
        let found = format!(
            "it is {kind:?} of {version:?} with the name {name:?} in namespace {namespace:?}, \
             which was not requested"
        );
        Err(ReadError::undecodable(&self.path(), &found))
    }
}

//! The envelope of every protobuf answer: four magic bytes, then a message with the type and, as
//! bytes, the object.

use bytes::Bytes;
use prost::{DecodeError, Message};

/// The bytes that every protobuf answer of an API server begins with.
pub(super) const MAGIC: &[u8; 4] = b"k8s\0";

/// `apiVersion` and `kind`, which protobuf keeps outside of the object.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct TypeMeta {
    #[prost(string, tag = "1")]
    pub(super) api_version: String,
    #[prost(string, tag = "2")]
    pub(super) kind: String,
}

/// An object and its type.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ProtobufEnvelope {
    #[prost(message, required, tag = "1")]
    pub(super) r#type: TypeMeta,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) raw: Bytes,
}

/// Returns the object in an envelope, or `None` if the body does not begin with the magic bytes.
pub(super) fn enveloped(body: &[u8]) -> Option<Result<ProtobufEnvelope, DecodeError>> {
    Some(ProtobufEnvelope::decode(body.strip_prefix(MAGIC)?))
}

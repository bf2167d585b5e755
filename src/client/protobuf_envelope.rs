//! The envelope of every protobuf answer: four magic bytes, then a message with the type and, as
//! bytes, the object.

use bytes::Bytes;
use prost::{DecodeError, Message};

/// The bytes that every protobuf answer of an API server begins with.
pub(super) const MAGIC: &[u8; 4] = b"k8s\0";

#[derive(Clone, PartialEq, Message)]
struct ProtobufEnvelope {
    #[prost(bytes = "bytes", tag = "2")]
    raw: Bytes,
}

/// Returns the object in an envelope, or `None` if the body does not begin with the magic bytes.
pub(super) fn enveloped(body: &[u8]) -> Option<Result<Bytes, DecodeError>> {
    let message = body.strip_prefix(MAGIC)?;
    Some(ProtobufEnvelope::decode(message).map(|envelope| envelope.raw))
}

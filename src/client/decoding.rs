//! How one type is decoded, as two functions.
//!
//! Everything that lists, watches and reads is handed them instead of knowing the type: there is one copy of that code,
//! not one for each of two dozen kinds, which was more than a tenth of the binary.

use prost::Message;
use serde::de::DeserializeOwned;

/// How a `T` is decoded from either encoding of the API server.
pub struct Decoding<T> {
    /// From protobuf, without an envelope.
    pub protobuf: fn(&[u8]) -> Result<T, prost::DecodeError>,
    /// From JSON, and nothing behind it.
    pub json: fn(&str) -> Result<T, serde_json::Error>,
}

impl<T> Clone for Decoding<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Decoding<T> {}

impl<T: Message + Default + DeserializeOwned> Decoding<T> {
    /// As the type itself says.
    pub const fn of() -> Self {
        Self { protobuf: |bytes| T::decode(bytes), json: |text| serde_json::from_str(text) }
    }
}

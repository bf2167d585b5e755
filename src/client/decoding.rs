//! How one type is decoded, as two functions.
//!
//! Everything that lists, watches and reads is handed them instead of knowing the type: there is one copy of that code,
//! not one for each of two dozen kinds, which was more than a tenth of the binary.

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

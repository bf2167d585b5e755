//! `Decoding`: how a type is decoded, as two functions.
//!
//! Lists, watches and single reads take them instead of a type parameter for each kind: there is
//! one copy of that code, not two dozen, which were more than a tenth of the binary.

/// How a `T` is decoded from either encoding of the API server.
pub struct Decoding<T> {
    /// From protobuf, without an envelope.
    pub protobuf: fn(&[u8]) -> Result<T, prost::DecodeError>,
    /// From JSON that ends with the value.
    pub json: fn(&str) -> Result<T, serde_json::Error>,
}

impl<T> Clone for Decoding<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Decoding<T> {}

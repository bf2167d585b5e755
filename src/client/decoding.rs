//! `Decoding`: how a type is decoded, as two functions.
//!
//! Lists, watches and single reads take them instead of a type parameter for each kind: there is
//! one copy of that code, not two dozen, which were more than a tenth of the binary.

use serde::de::DeserializeOwned;

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

impl<T: DeserializeOwned> Decoding<T> {
    /// From JSON alone.
    pub fn of_json() -> Self {
        let protobuf = |_: &[u8]| Err(undecodable("it is decoded from JSON alone".to_owned()));
        Self { protobuf, json: |text| serde_json::from_str(text) }
    }
}

/// Builds a `DecodeError` with a message, for which prost has no other way yet.
#[expect(deprecated, reason = "prost intends to replace it, and has not yet")]
fn undecodable(problem: String) -> prost::DecodeError {
    prost::DecodeError::new(problem)
}

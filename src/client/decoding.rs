//! Decoding of answers: a kind's type as two functions, the protobuf envelope, and the body of an error response.
//!
//! Lists, watches and single reads take them instead of a type parameter for each kind: there is
//! one copy of that code, not two dozen, which were more than a tenth of the binary.

use bytes::Bytes;
use prost::{DecodeError, Message};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Decoding of a `T` from either encoding of the API server.
pub struct Decoding<T> {
    /// Function that decodes protobuf without an envelope.
    pub protobuf: fn(&[u8]) -> Result<T, prost::DecodeError>,
    /// Function that decodes JSON that ends with the value.
    pub json: fn(&str) -> Result<T, serde_json::Error>,
}

impl<T> Clone for Decoding<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Decoding<T> {}

impl<T: DeserializeOwned> Decoding<T> {
    /// Returns the decoding of a type that is read from JSON alone.
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

/// The bytes at the beginning of every protobuf answer of an API server.
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

/// The reason and the message of an error response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ErrorStatus {
    pub(crate) reason: String,
    pub(crate) message: String,
    /// The name of the object of which an API server says that it does not exist. Any other server that
    /// answers 404, a gateway for instance, says nothing about an object.
    pub(crate) absent: Option<String>,
}

/// Length of the longest message that is kept, in characters: a proxy may answer with a whole web page.
const LONGEST: usize = 600;

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct Status {
    /// `kind` of the body, which only JSON has here.
    #[prost(string, tag = "100")]
    kind: String,
    #[prost(string, tag = "3")]
    message: String,
    #[prost(string, tag = "4")]
    reason: String,
    #[prost(message, optional, tag = "5")]
    details: Option<StatusDetails>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct StatusDetails {
    #[prost(string, tag = "1")]
    name: String,
}

impl ErrorStatus {
    /// Reads the body of an error response. Never fails: without a readable body the HTTP code is
    /// the reason.
    pub(crate) fn read(code: u16, body: &[u8]) -> Self {
        let status = match enveloped(body) {
            Some(envelope) => envelope.ok().and_then(|envelope| {
                let status = Status::decode(envelope.raw).ok()?;
                Some(Status { kind: envelope.r#type.kind, ..status })
            }),
            None => serde_json::from_slice::<Status>(body).ok(),
        };
        match status {
            Some(status) if !(status.message.is_empty() && status.reason.is_empty()) => Self {
                absent: status.absent(code),
                message: shortened(&status.message),
                reason: match status.reason.is_empty() {
                    true => canonical(code),
                    false => status.reason,
                },
            },
            _ => {
                let (reason, message) = (canonical(code), shortened(&plain(body)));
                Self { reason, message, absent: None }
            }
        }
    }
}

impl Status {
    /// Returns the name of the object that does not exist (apimachinery, `NewNotFound`).
    fn absent(&self, code: u16) -> Option<String> {
        let name = &self.details.as_ref()?.name;
        let says_so = self.message.ends_with(&format!("\"{name}\" not found"));
        let is_status = code == 404 && self.kind == "Status" && self.reason == "NotFound";
        (is_status && says_so && !name.is_empty()).then(|| name.clone())
    }
}

/// Returns the text of a body that is not a `Status`. A web page is only named.
fn plain(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * LONGEST)]);
    let text = text.trim();
    if text.starts_with('<') {
        "a web page, not an API server's answer".to_owned()
    } else {
        text.to_owned()
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the standard reason of an HTTP code.
fn canonical(code: u16) -> String {
    let reason = http::StatusCode::from_u16(code).ok().and_then(|status| status.canonical_reason());
    reason.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_understood() {
        let json =
            br#"{"kind":"Status","message":"pods is forbidden","reason":"Forbidden","code":403}"#;
        let protobuf = b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status\x12\x10\x0a\x00\x12\x00\x1a\x03nay\x22\x05Never\x1a\x00\x22\x00";
        for (body, reason, message) in [
            (&json[..], "Forbidden", "pods is forbidden"),
            (protobuf, "Never", "nay"),
            (b"404 page not found\n", "Forbidden", "404 page not found"),
            (b"<html>login</html>", "Forbidden", "a web page, not an API server's answer"),
            (b"k8s\0\x0a\xff", "Forbidden", "k8s\0\n\u{fffd}"),
            (b"{}", "Forbidden", "{}"),
            (b"", "Forbidden", ""),
        ] {
            let (reason, message) = (reason.to_owned(), message.to_owned());
            let expected = ErrorStatus { reason, message, absent: None };
            assert_eq!(ErrorStatus::read(403, body), expected);
        }
        assert!(ErrorStatus::read(500, "ü".repeat(5000).as_bytes()).message.chars().count() < 700);
    }

    #[test]
    fn only_an_answer_about_the_object_proves_that_it_is_absent() {
        let status = |kind: &str, reason: &str, message: &str, name: &str| {
            serde_json::json!({
                "kind": kind, "apiVersion": "v1", "status": "Failure", "code": 404,
                "reason": reason, "message": message, "details": {"name": name, "kind": "x"},
            })
            .to_string()
        };
        let web = "statefulsets.apps \"web\" not found";
        for (code, body, absent) in [
            (404, status("Status", "NotFound", web, "web"), Some("web")),
            (404, status("Status", "NotFound", web, "web-1"), None),
            (404, status("Status", "NotFound", web, ""), None),
            (404, status("Event", "NotFound", web, "web"), None),
            (404, status("Status", "NotFound", "the server could not find it", "web"), None),
            (404, status("Status", "Forbidden", web, "web"), None),
            (403, status("Status", "NotFound", web, "web"), None),
            (404, "default backend - 404".to_owned(), None),
            (404, "404 page not found\n".to_owned(), None),
            (404, r#"{"message": "\"web\" not found", "reason": "NotFound"}"#.to_owned(), None),
        ] {
            assert_eq!(
                ErrorStatus::read(code, body.as_bytes()).absent.as_deref(),
                absent,
                "{body}"
            );
        }
        let details = [&[0x2a, 5, 0x0a, 3][..], b"web"].concat();
        let length = |text: &[u8]| u8::try_from(text.len()).expect("because it is short");
        let message = [&[0x1a, length(web.as_bytes())][..], web.as_bytes()].concat();
        let status = [&message[..], &[0x22, 8], b"NotFound", &details].concat();
        let head = &b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status\x12"[..];
        let raw = [head, &[length(&status)], &status].concat();
        assert_eq!(ErrorStatus::read(404, &raw).absent.as_deref(), Some("web"));
    }
}

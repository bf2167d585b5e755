//! `ErrorStatus`: the body of an error response, which is a `Status` in JSON or protobuf, or plain
//! text.

use prost::Message;
use serde::Deserialize;

use super::protobuf_envelope::enveloped;

/// The reason and the message of an error response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ErrorStatus {
    pub(super) reason: String,
    pub(super) message: String,
}

/// The longest message that is kept, in characters: a proxy may answer with a whole web page.
const LONGEST: usize = 600;

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct Status {
    #[prost(string, tag = "3")]
    message: String,
    #[prost(string, tag = "4")]
    reason: String,
}

impl ErrorStatus {
    /// Reads the body of an error response. Never fails: without a readable body the HTTP code is
    /// the reason.
    pub(super) fn read(code: u16, body: &[u8]) -> Self {
        let status = match enveloped(body) {
            Some(raw) => raw.and_then(Status::decode).ok(),
            None => serde_json::from_slice::<Status>(body).ok(),
        };
        match status {
            Some(Status { message, reason }) if !(message.is_empty() && reason.is_empty()) => {
                Self {
                    reason: if reason.is_empty() { canonical(code) } else { reason },
                    message: shortened(&message),
                }
            }
            _ => Self { reason: canonical(code), message: shortened(&plain(body)) },
        }
    }
}

/// Returns the reason and the message of an error response, for requests that no reader sends.
pub fn refusal(code: u16, body: &[u8]) -> (String, String) {
    let ErrorStatus { reason, message } = ErrorStatus::read(code, body);
    (reason, message)
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
    use super::ErrorStatus;

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
            let expected = ErrorStatus { reason: reason.to_owned(), message: message.to_owned() };
            assert_eq!(ErrorStatus::read(403, body), expected);
        }
        assert!(ErrorStatus::read(500, "ü".repeat(5000).as_bytes()).message.chars().count() < 700);
    }
}

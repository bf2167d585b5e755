//! `Watch`, which yields the events of a collection after a resource version, one JSON line each.
//!
//! Watches are read as JSON, not as protobuf, since their few objects would gain nothing.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::fmt::Write as _;
use std::hash::BuildHasher;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::api_request::escape;
use super::decoding::{Decoding, ErrorStatus};
use super::list::ListRequest;
use super::read_error::ReadError;
use super::reader::{OpenResponse, Reader};

/// The shortest and the longest duration of a watch, in seconds. They differ so that the watches of
/// many kinds and users do not end at the same time. client-go asks for five to ten minutes.
const SHORTEST: u64 = 240;
const LONGEST: u64 = 480;

/// The longest line of an event, in bytes: an object has at most 1.5 MiB in etcd.
const LONGEST_LINE: usize = 16 << 20;

/// An event of a watch.
#[derive(Debug, Clone, PartialEq)]
pub enum WatchEvent<T> {
    /// An object was added or changed.
    Seen(T),
    /// An object was deleted, or no longer matches the request.
    Gone {
        /// Namespace; empty for cluster-wide kinds.
        namespace: String,
        /// Name.
        name: String,
    },
    /// No object changed up to the version that the watch has reached.
    Bookmark,
    /// An object was added or changed, and could not be decoded.
    Broken(String),
}

/// A watch that has begun.
pub struct Watch<T> {
    /// The server's clock when the watch began.
    pub date: Option<DateTime<Utc>>,
    opened: OpenResponse,
    path: String,
    /// The resource version at which the next watch continues.
    version: String,
    lines: LineBuffer,
    decoding: Decoding<T>,
}

/// Begins to watch the items of a list after `version`.
///
/// Once it has begun, it does not count as a parallel request, and may receive nothing for as long
/// as [`ReadLimits::silence`](super::read_limits::ReadLimits::silence) allows.
///
/// # Errors
///
/// [`ReadError`], after the retries that [`ReadLimits`](super::read_limits::ReadLimits) allow; one
/// that [is gone](ReadError::is_gone) when the version has expired.
pub async fn watch<T>(
    reader: &Reader,
    request: &ListRequest,
    decoding: Decoding<T>,
    version: &str,
) -> Result<Watch<T>, ReadError> {
    let path = watch_path(request, version);
    let opened = reader.open_watch(&path).await?;
    Ok(Watch {
        date: opened.date,
        opened,
        path,
        version: version.to_owned(),
        lines: LineBuffer::default(),
        decoding,
    })
}

fn watch_path(request: &ListRequest, version: &str) -> String {
    let mut path = request.selecting_path();
    path.push(if path.contains('?') { '&' } else { '?' });
    path.push_str("watch=1&resourceVersion=");
    escape(&mut path, version);
    // This is random enough to spread watches, without a crate for random numbers.
    let seconds = SHORTEST + RandomState::new().hash_one(version) % (LONGEST - SHORTEST + 1);
    write!(path, "&allowWatchBookmarks=true&timeoutSeconds={seconds}")
        .expect("because a String grows");
    path
}

impl<T> Watch<T> {
    /// Returns the resource version up to which every event was handed over.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Waits for the next event; `None` when the server has ended the watch. Nothing is lost when
    /// this future is dropped.
    ///
    /// # Errors
    ///
    /// [`ReadError`]: the connection broke, nothing arrived in time, the server sent an ERROR event
    /// ([`ReadError::Api`]), or a line is not an event.
    pub async fn next(&mut self) -> Result<Option<WatchEvent<T>>, ReadError> {
        loop {
            if let Some(line) = self.lines.next() {
                return self.decode(&line).map(Some);
            }
            // An incomplete event at the end is dropped: the next watch sends it again.
            let Some(chunk) = self.opened.next().await? else { return Ok(None) };
            self.lines.push(&chunk);
            if self.lines.unfinished() > LONGEST_LINE {
                return Err(self.no_event(&"a line that does not end"));
            }
        }
    }

    fn decode(&mut self, line: &[u8]) -> Result<WatchEvent<T>, ReadError> {
        let event: WatchLine =
            serde_json::from_slice(line).map_err(|error| self.no_event(&error))?;
        let text = event.object.get();
        let head = || serde_json::from_str::<WatchedObject>(text).map(|head| head.metadata);
        match event.r#type {
            "ADDED" | "MODIFIED" => {
                let head = head();
                let object = (self.decoding.json)(text);
                Ok(match (head, object) {
                    (Ok(head), Ok(object)) => {
                        self.advance(head.resource_version);
                        WatchEvent::Seen(object)
                    }
                    (Ok(head), Err(error)) => {
                        let broken = format!("{}: {error}", head.full_name());
                        self.advance(head.resource_version);
                        WatchEvent::Broken(broken)
                    }
                    (Err(error), _) => WatchEvent::Broken(error.to_string()),
                })
            }
            // Of a deleted object only the name matters.
            "DELETED" => match head() {
                Ok(head) => {
                    let WatchedMetadata { namespace, name, resource_version } = head;
                    self.advance(resource_version);
                    Ok(WatchEvent::Gone { namespace, name })
                }
                Err(error) => Ok(WatchEvent::Broken(error.to_string())),
            },
            "BOOKMARK" => {
                let head = head().map_err(|error| self.no_event(&error))?;
                self.advance(head.resource_version);
                Ok(WatchEvent::Bookmark)
            }
            "ERROR" => {
                let ErrorCode { code } = serde_json::from_str(text).unwrap_or_default();
                let ErrorStatus { reason, message, .. } = ErrorStatus::read(code, text.as_bytes());
                Err(ReadError::Api { code, reason, message, path: self.path.clone() })
            }
            other => Err(self.no_event(&format!("an event of type {other:?}"))),
        }
    }

    fn advance(&mut self, version: Value) {
        if let Value::String(version) = version
            && !version.is_empty()
        {
            self.version = version;
        }
    }

    fn no_event(&self, detail: &dyn fmt::Display) -> ReadError {
        ReadError::undecodable(&self.path, detail)
    }
}

#[derive(Deserialize)]
struct WatchLine<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// Metadata that are read of an object of any kind.
#[derive(Deserialize)]
struct WatchedObject {
    metadata: WatchedMetadata,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct WatchedMetadata {
    namespace: String,
    name: String,
    /// Resource version, a text unless it is odd: the next watch then begins at an earlier version.
    resource_version: Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ErrorCode {
    code: u16,
}

impl WatchedMetadata {
    fn full_name(&self) -> String {
        match self.namespace.as_str() {
            "" => self.name.clone(),
            namespace => format!("{namespace}/{}", self.name),
        }
    }
}

/// Buffer that splits bytes which arrive in chunks of any size into lines.
#[derive(Debug, Default)]
struct LineBuffer {
    bytes: Vec<u8>,
    /// Number of bytes that are known to hold no line end.
    searched: usize,
}

impl LineBuffer {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn unfinished(&self) -> usize {
        self.bytes.len()
    }

    /// Removes and returns the first whole line that is not blank.
    fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let Some(found) = memchr::memchr(b'\n', &self.bytes[self.searched..]) else {
                self.searched = self.bytes.len();
                return None;
            };
            let rest = self.bytes.split_off(self.searched + found + 1);
            let line = std::mem::replace(&mut self.bytes, rest);
            self.searched = 0;
            if !line.trim_ascii().is_empty() {
                return Some(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, LineBuffer, SHORTEST, watch_path};
    use crate::client::ListRequest;
    use crate::model::Kind;

    #[test]
    fn lines_are_found_however_they_are_cut() {
        let text = b"one\n\n \r\ntwo\nthr";
        for size in 1..=text.len() {
            let (mut lines, mut found) = (LineBuffer::default(), Vec::new());
            for chunk in text.chunks(size) {
                lines.push(chunk);
                while let Some(line) = lines.next() {
                    found.push(line);
                }
            }
            assert_eq!(found, [b"one\n", b"two\n"], "in chunks of {size}");
            assert_eq!(lines.unfinished(), 3);
        }
    }

    #[test]
    fn a_watch_asks_for_what_the_list_asked_for() {
        let claims = ListRequest {
            namespace: Some("shop".to_owned()),
            field_selector: Some("metadata.name=a".to_owned()),
            page: Some(5),
            ..ListRequest::of(Kind::PersistentVolumeClaim, "v1")
        };
        let path = watch_path(&claims, "7&8");
        let (rest, seconds) = path.rsplit_once('=').expect("because it has parameters");
        assert_eq!(
            rest,
            "/api/v1/namespaces/shop/persistentvolumeclaims?fieldSelector=metadata.name%3Da\
             &watch=1&resourceVersion=7%268&allowWatchBookmarks=true&timeoutSeconds"
        );
        let seconds: u64 = seconds.parse().expect("because it is a number");
        assert!((SHORTEST..=LONGEST).contains(&seconds), "{seconds}");
        assert!(watch_path(&ListRequest::of(Kind::Node, "v1"), "1").contains("/nodes?watch=1&"));
    }
}

//! `OpenResponse`: a response whose headers have arrived, and whose body is still being read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::header::{CONTENT_TYPE, DATE};
use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::read_error::ReadError;
use super::read_limits::ReadLimits;
use super::stream::Encoding;

/// A response whose body is still being read.
pub(super) struct OpenResponse {
    pub(super) date: Option<DateTime<Utc>>,
    pub(super) encoding: Encoding,
    pub(super) content_type: String,
    body: Body,
    sent: OpenRequest,
    permit: Option<OwnedSemaphorePermit>,
}

/// The request of a response: its limits, and its names for errors.
pub(super) struct OpenRequest {
    pub(super) path: String,
    pub(super) server: Arc<str>,
    pub(super) limits: ReadLimits,
    pub(super) begun: Instant,
}

impl OpenResponse {
    pub(super) fn new(
        response: Response<Body>,
        sent: OpenRequest,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let (head, body) = response.into_parts();
        let content_type = text(&head.headers, &CONTENT_TYPE).to_owned();
        let protobuf = content_type.starts_with("application/vnd.kubernetes.protobuf");
        Self {
            date: date(&head.headers),
            encoding: if protobuf { Encoding::Protobuf } else { Encoding::Json },
            content_type,
            body,
            sent,
            permit: Some(permit),
        }
    }

    /// Makes this the response of a watch, which may be idle for minutes and may last.
    pub(super) fn make_lasting(&mut self) {
        drop(self.permit.take());
        self.sent.limits.idle = self.sent.limits.silence;
        self.sent.limits.whole = None;
    }

    /// Returns the next bytes of the body; `None` at its end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, ReadError> {
        loop {
            let (wait, limit) = self.sent.wait();
            let frame = match timeout(wait, self.body.frame()).await {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => {
                    return Err(ReadError::of_transport(
                        &error,
                        &self.sent.server,
                        &self.sent.path,
                    ));
                }
                Err(_) => return Err(self.sent.timed_out(limit)),
            };
            // A frame without data holds trailers.
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }

    /// Reads the body of an error response as far as it arrives.
    pub(super) async fn error_body(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = self.next().await {
            body.extend_from_slice(&chunk);
            if body.len() > 64 * 1024 {
                break;
            }
        }
        body
    }
}

impl OpenRequest {
    /// Returns how long the next wait may last, and the limit that this follows from.
    pub(super) fn wait(&self) -> (Duration, Duration) {
        match self.limits.whole {
            Some(whole) if whole.saturating_sub(self.begun.elapsed()) < self.limits.idle => {
                (whole.saturating_sub(self.begun.elapsed()), whole)
            }
            _ => (self.limits.idle, self.limits.idle),
        }
    }

    pub(super) fn timed_out(&self, after: Duration) -> ReadError {
        ReadError::TimedOut { path: self.path.clone(), after }
    }
}

/// Returns the server's clock when it answered: the `Date` header, in the format of RFC 2822.
pub fn date(headers: &HeaderMap) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc2822(text(headers, &DATE)).ok().map(|date| date.to_utc())
}

fn text<'a>(headers: &'a HeaderMap, name: &http::HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

//! `Reader`, which sends requests that change nothing, and retries them; and the response while its body is still being
//! read.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::header::{CONTENT_TYPE, DATE};
use http::{HeaderMap, Method, Response};
use http_body_util::BodyExt;
use kube::client::{Body, Client};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::api_request::{Accept, ApiRequest, ObjectRequest, object_path};
use super::connection::Connection;
use super::decoding::{Decoding, ErrorStatus, enveloped};
use super::read_error::ReadError;
use super::read_limits::{Patience, ReadLimits, retry_after};
use super::stream::Encoding;

/// An answer, and the server's clock when it answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatedAnswer<T> {
    /// The answer.
    pub value: T,
    /// The `Date` header.
    pub date: Option<DateTime<Utc>>,
}

/// Reader of one API server. It cannot write: it sends only GET, and POST of reviews of access and of tokens.
///
/// Cheap to clone; clones share the limit on parallel requests.
#[derive(Clone)]
pub struct Reader {
    client: Client,
    server: Arc<str>,
    limits: ReadLimits,
    permits: Arc<Semaphore>,
    answered: Arc<AtomicBool>,
    /// Whether the server's address belongs to this machine.
    here: bool,
    /// Whether answers are requested without compression, which would take longer than it saves.
    unpacked: Arc<AtomicBool>,
}

impl Reader {
    /// Builds a reader for a connection, with the connection's request timeout.
    pub fn new(connection: &Connection) -> Self {
        Self::with_limits(
            connection,
            ReadLimits { whole: connection.request_timeout, ..ReadLimits::default() },
        )
    }

    /// Builds a reader with these limits.
    pub fn with_limits(connection: &Connection, limits: ReadLimits) -> Self {
        Self {
            client: connection.client.clone(),
            server: connection.server.as_str().into(),
            limits,
            permits: Arc::new(Semaphore::new(limits.parallel)),
            answered: Arc::new(AtomicBool::new(false)),
            here: connection.here,
            unpacked: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Reads a document that is no object, such as the version.
    ///
    /// # Errors
    ///
    /// [`ReadError`], after the retries that [`ReadLimits`] allow.
    pub(super) async fn get_json<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<DatedAnswer<T>, ReadError> {
        let (opened, body) = self.whole(&ApiRequest::get(path, Accept::Json)).await?;
        Ok(DatedAnswer { value: from_json(path, &body)?, date: opened.date })
    }

    /// Reads one object in either encoding.
    ///
    /// # Errors
    ///
    /// [`ReadError`], after the retries that [`ReadLimits`] allow; also if the answer is another
    /// object.
    pub async fn get<T>(
        &self,
        object: &ObjectRequest<'_>,
        decoding: Decoding<T>,
    ) -> Result<DatedAnswer<T>, ReadError> {
        let path = object.path();
        let (opened, body) = self.whole(&ApiRequest::get(&path, Accept::Either)).await?;
        let undecodable = |detail: &dyn Display| ReadError::undecodable(&path, detail);
        let value = match opened.encoding {
            Encoding::Json => {
                let text = std::str::from_utf8(&body).map_err(|error| undecodable(&error))?;
                object.check_json(&body)?;
                (decoding.json)(text).map_err(|error| undecodable(&error))
            }
            Encoding::Protobuf => {
                let envelope = enveloped(&body)
                    .ok_or_else(|| undecodable(&"the magic bytes are missing"))?
                    .map_err(|error| undecodable(&error))?;
                object.check_protobuf(&envelope)?;
                (decoding.protobuf)(&envelope.raw).map_err(|error| undecodable(&error))
            }
        }?;
        Ok(DatedAnswer { value, date: opened.date })
    }

    /// Reads one object as JSON.
    ///
    /// # Errors
    ///
    /// [`ReadError`], after the retries that [`ReadLimits`] allow; also if the answer is another
    /// object.
    pub async fn get_object<T: DeserializeOwned>(
        &self,
        object: &ObjectRequest<'_>,
    ) -> Result<DatedAnswer<T>, ReadError> {
        self.checked(object, Accept::Json).await
    }

    /// Reads the metadata of one object: its labels, owners and uid, never its contents.
    ///
    /// # Errors
    ///
    /// [`ReadError`], after the retries that [`ReadLimits`] allow; also if the answer is another
    /// object.
    pub async fn get_metadata<T: DeserializeOwned>(
        &self,
        object: &ObjectRequest<'_>,
    ) -> Result<DatedAnswer<T>, ReadError> {
        self.checked(object, Accept::Metadata).await
    }

    async fn checked<T: DeserializeOwned>(
        &self,
        object: &ObjectRequest<'_>,
        accept: Accept,
    ) -> Result<DatedAnswer<T>, ReadError> {
        let path = object.path();
        let (opened, body) = self.whole(&ApiRequest::get(&path, accept)).await?;
        object.check_json(&body)?;
        Ok(DatedAnswer { value: from_json(&path, &body)?, date: opened.date })
    }

    /// Reads a document of the kubelet of a node through the API server's proxy, once and within this time, and returns
    /// its bytes as they arrive.
    ///
    /// # Errors
    ///
    /// [`ReadError`]; no failure is retried.
    pub(crate) async fn of_kubelet(
        &self,
        node: &str,
        document: &str,
        within: Duration,
    ) -> Result<KubeletAnswer, ReadError> {
        let whole = Some(self.limits.whole.map_or(within, |it| it.min(within)));
        let limits = ReadLimits { whole, ..self.limits };
        let node = object_path("", "v1", None, "nodes", node);
        let hurried = Self { limits, ..self.clone() };
        let path = format!("{node}/proxy/{document}");
        hurried.open(&path, Accept::Json, Patience::Once).await.map(KubeletAnswer)
    }

    /// Posts a review, and reads the answer.
    ///
    /// # Errors
    ///
    /// [`ReadError`], after the retries that [`ReadLimits`] allow.
    pub(super) async fn review<Q: Serialize, A: DeserializeOwned>(
        &self,
        path: &str,
        review: &Q,
    ) -> Result<DatedAnswer<A>, ReadError> {
        let body =
            serde_json::to_vec(review).map_err(|error| ReadError::undecodable(path, &error))?;
        let request = ApiRequest {
            method: Method::POST,
            body: body.into(),
            ..ApiRequest::get(path, Accept::Json)
        };
        let (opened, body) = self.whole(&request).await?;
        Ok(DatedAnswer { value: from_json(path, &body)?, date: opened.date })
    }

    /// Returns the same reader with its own limit on parallel requests: for tasks that wait for
    /// another task in the middle of an answer, which must not use up the requests of that task.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self { permits: Arc::new(Semaphore::new(self.limits.parallel)), ..self.clone() }
    }

    /// Returns the limits of this reader.
    pub fn limits(&self) -> &ReadLimits {
        &self.limits
    }

    /// Reads a discovery document, with its content type.
    pub(super) async fn document(
        &self,
        path: &str,
        accept: Accept,
        patience: Patience,
    ) -> Result<(String, Bytes), ReadError> {
        let request = ApiRequest { patience, ..ApiRequest::get(path, accept) };
        self.whole(&request).await.map(|(opened, body)| (opened.content_type, body))
    }

    /// Sends a request until an answer begins.
    pub(super) async fn open(
        &self,
        path: &str,
        accept: Accept,
        patience: Patience,
    ) -> Result<OpenResponse, ReadError> {
        let request = ApiRequest { patience, ..ApiRequest::get(path, accept) };
        self.retry(&request, |opened| async { Ok((opened, ())) }).await.map(|(opened, ())| opened)
    }

    /// Sends a request until a watch begins, which then does not count as a parallel request.
    pub(super) async fn open_watch(&self, path: &str) -> Result<OpenResponse, ReadError> {
        let mut opened = self.open(path, Accept::Watch, Patience::Full).await?;
        opened.make_lasting();
        Ok(opened)
    }

    /// Sends a request until a whole answer has arrived.
    async fn whole(&self, request: &ApiRequest) -> Result<(OpenResponse, Bytes), ReadError> {
        self.retry(request, |mut opened| async {
            let mut body = Vec::new();
            while let Some(chunk) = opened.next().await? {
                body.extend_from_slice(&chunk);
            }
            Ok((opened, body.into()))
        })
        .await
    }

    /// Sends a request, and retries it as the limits allow. A pause does not count as a parallel
    /// request.
    async fn retry<T, F>(
        &self,
        request: &ApiRequest,
        read: impl Fn(OpenResponse) -> F,
    ) -> Result<(OpenResponse, T), ReadError>
    where
        F: Future<Output = Result<(OpenResponse, T), ReadError>>,
    {
        request.check()?;
        let mut done = 0;
        loop {
            let (error, wish) = match self.send(request).await {
                Ok(opened) => match read(opened).await {
                    Ok(read) => return Ok(read),
                    Err(error) => (error, None),
                },
                Err(failed) => failed,
            };
            done += 1;
            let answered = self.answered.load(Ordering::Relaxed);
            match self.limits.pause(request.patience, done, &error, wish, answered) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(error),
            }
        }
    }

    /// Sends a request once. An error comes with the server's `Retry-After`.
    async fn send(
        &self,
        request: &ApiRequest,
    ) -> Result<OpenResponse, (ReadError, Option<Duration>)> {
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .expect("because this semaphore is never closed");
        let sent = OpenRequest {
            path: request.path.clone(),
            server: Arc::clone(&self.server),
            limits: self.limits,
            begun: Instant::now(),
        };
        let http = request.build(self.unpacked.load(Ordering::Relaxed));
        let http = http.map_err(|error| (error, None))?;
        let (wait, limit) = sent.wait();
        let asked = Instant::now();
        let response = match timeout(wait, self.client.send(http)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                return Err((ReadError::of_transport(&error, &sent.server, &sent.path), None));
            }
            Err(_) => return Err((sent.timed_out(limit), None)),
        };
        let first = !self.answered.swap(true, Ordering::Relaxed);
        if first && self.here && asked.elapsed() < self.limits.at_hand {
            self.unpacked.store(true, Ordering::Relaxed);
        }
        let wish = retry_after(response.headers());
        let status = response.status();
        let by_server = is_of_api_server(response.headers());
        let mut opened = OpenResponse::new(response, sent, permit);
        if status.is_success() {
            return Ok(opened);
        }
        let body = opened.error_body().await;
        let (code, path) = (status.as_u16(), request.path.clone());
        let ErrorStatus { reason, message, absent } = ErrorStatus::read(code, &body);
        let error = match absent {
            None if code != 404 || !by_server => ReadError::Api { code, reason, message, path },
            object => ReadError::NotFound { object, reason, message, path },
        };
        Err((error, wish))
    }
}

/// Whether an API server has written this answer itself, and no gateway before it: both answer
/// `404 page not found` to what they do not serve.
///
/// API servers mark every answer (apiserver, `WithAuditInit` and `WithPriorityAndFairness`). Since
/// 1.23 they answer 503 and not 404 until they have synced with the definitions of custom resources
/// and with the aggregated APIs (apiserver, `notfoundhandler`).
pub fn is_of_api_server(headers: &HeaderMap) -> bool {
    ["audit-id", "x-kubernetes-pf-flowschema-uid"].iter().any(|it| headers.contains_key(*it))
}

pub(super) fn from_json<T: DeserializeOwned>(path: &str, body: &[u8]) -> Result<T, ReadError> {
    serde_json::from_slice(body).map_err(|error| ReadError::undecodable(path, &error))
}

/// A response whose body is still being read.
pub(super) struct OpenResponse {
    pub(super) date: Option<DateTime<Utc>>,
    pub(super) encoding: Encoding,
    pub(super) content_type: String,
    body: Body,
    sent: OpenRequest,
    permit: Option<OwnedSemaphorePermit>,
}

/// An answer of a kubelet.
pub(crate) struct KubeletAnswer(OpenResponse);

impl KubeletAnswer {
    /// Returns the next bytes; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ReadError> {
        self.0.next().await
    }
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

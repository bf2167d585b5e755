//! The only way from here to the cluster that reads: GET, and the reviews that ask what we may do.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::Method;
use kube::client::Client;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::api_request::{Accept, ApiRequest};
use super::connection::Connection;
use super::decoding::Decoding;
use super::error_status::ErrorStatus;
use super::open_response::{OpenResponse, SentRequest};
use super::protobuf_envelope::enveloped;
use super::read_error::ReadError;
use super::read_limits::{Patience, ReadLimits, retry_after};
use super::stream::Encoding;

/// An answer and the server's clock when it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatedAnswer<T> {
    /// What was asked for.
    pub value: T,
    /// The `Date` header.
    pub date: Option<DateTime<Utc>>,
}

/// Reads from one API server. It cannot be made to write: it sends GET, and POST to `*accessreviews`.
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
    /// Whether it turned out that packing costs more than it saves.
    unpacked: Arc<AtomicBool>,
}

impl Reader {
    /// Builds a reader of what `connection` leads to, with the connection's request timeout.
    pub fn new(connection: &Connection) -> Self {
        Self::with_limits(
            connection,
            ReadLimits { whole: connection.request_timeout, ..ReadLimits::default() },
        )
    }

    /// Builds a reader with limits of its own.
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

    /// Reads one object that is served as JSON.
    ///
    /// # Errors
    ///
    /// [`ReadError`], after the retries that [`ReadLimits`] allow.
    pub async fn get_json<T: DeserializeOwned>(
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
    /// [`ReadError`], after the retries that [`ReadLimits`] allow.
    pub async fn get<T>(
        &self,
        path: &str,
        decoding: Decoding<T>,
    ) -> Result<DatedAnswer<T>, ReadError> {
        let (opened, body) = self.whole(&ApiRequest::get(path, Accept::Either)).await?;
        let undecodable = |detail: &dyn Display| ReadError::undecodable(path, detail);
        let value = match opened.encoding {
            Encoding::Json => std::str::from_utf8(&body)
                .map_err(|error| undecodable(&error))
                .and_then(|text| (decoding.json)(text).map_err(|error| undecodable(&error))),
            Encoding::Protobuf => enveloped(&body)
                .ok_or_else(|| undecodable(&"the magic bytes are missing"))?
                .and_then(|raw| (decoding.protobuf)(&raw))
                .map_err(|error| undecodable(&error)),
        }?;
        Ok(DatedAnswer { value, date: opened.date })
    }

    /// Reads the metadata of one object: its labels, owners and uid, never its contents.
    ///
    /// # Errors
    ///
    /// [`ReadError`], after the retries that [`ReadLimits`] allow.
    pub async fn get_metadata<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<DatedAnswer<T>, ReadError> {
        let (opened, body) = self.whole(&ApiRequest::get(path, Accept::Metadata)).await?;
        Ok(DatedAnswer { value: from_json(path, &body)?, date: opened.date })
    }

    /// Posts an access review, and reads the answer.
    ///
    /// # Errors
    ///
    /// [`ReadError`], after the retries that [`ReadLimits`] allow.
    pub(super) async fn review<Q: Serialize, A: DeserializeOwned>(
        &self,
        path: &str,
        question: &Q,
    ) -> Result<DatedAnswer<A>, ReadError> {
        let body =
            serde_json::to_vec(question).map_err(|error| ReadError::undecodable(path, &error))?;
        let question = ApiRequest {
            method: Method::POST,
            body: body.into(),
            ..ApiRequest::get(path, Accept::Json)
        };
        let (opened, body) = self.whole(&question).await?;
        Ok(DatedAnswer { value: from_json(path, &body)?, date: opened.date })
    }

    /// The same reader with a limit on parallel requests of its own: for those who wait for somebody
    /// in the midst of an answer, which must not keep that somebody from asking.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self { permits: Arc::new(Semaphore::new(self.limits.parallel)), ..self.clone() }
    }

    /// How patient this reader is.
    pub fn limits(&self) -> &ReadLimits {
        &self.limits
    }

    /// Reads a whole body of a discovery document, with its content type.
    pub(super) async fn document(
        &self,
        path: &str,
        accept: Accept,
        patience: Patience,
    ) -> Result<(String, Bytes), ReadError> {
        let question = ApiRequest { patience, ..ApiRequest::get(path, accept) };
        self.whole(&question).await.map(|(opened, body)| (opened.content_type, body))
    }

    /// Asks until an answer begins.
    pub(super) async fn open(
        &self,
        path: &str,
        accept: Accept,
        patience: Patience,
    ) -> Result<OpenResponse, ReadError> {
        let question = ApiRequest { patience, ..ApiRequest::get(path, accept) };
        self.patiently(&question, |opened| async { Ok((opened, ())) })
            .await
            .map(|(opened, ())| opened)
    }

    /// Asks until a watch begins, which then takes no place among the parallel requests and may last.
    pub(super) async fn open_watch(&self, path: &str) -> Result<OpenResponse, ReadError> {
        let mut opened = self.open(path, Accept::Watch, Patience::Full).await?;
        opened.make_lasting();
        Ok(opened)
    }

    /// Asks until a whole answer has come.
    async fn whole(&self, question: &ApiRequest) -> Result<(OpenResponse, Bytes), ReadError> {
        self.patiently(question, |mut opened| async {
            let mut body = Vec::new();
            while let Some(chunk) = opened.next().await? {
                body.extend_from_slice(&chunk);
            }
            Ok((opened, body.into()))
        })
        .await
    }

    /// Asks, and asks again while that is worth while. A pause holds no place among the parallel requests.
    async fn patiently<T, F>(
        &self,
        question: &ApiRequest,
        read: impl Fn(OpenResponse) -> F,
    ) -> Result<(OpenResponse, T), ReadError>
    where
        F: Future<Output = Result<(OpenResponse, T), ReadError>>,
    {
        question.check()?;
        let mut done = 0;
        loop {
            let (error, wish) = match self.ask(question).await {
                Ok(opened) => match read(opened).await {
                    Ok(read) => return Ok(read),
                    Err(error) => (error, None),
                },
                Err(failed) => failed,
            };
            done += 1;
            let answered = self.answered.load(Ordering::Relaxed);
            match self.limits.pause(question.patience, done, &error, wish, answered) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(error),
            }
        }
    }

    /// Asks once; beside an error comes how long the server wishes to be left alone.
    async fn ask(
        &self,
        question: &ApiRequest,
    ) -> Result<OpenResponse, (ReadError, Option<Duration>)> {
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .expect("because this semaphore is never closed");
        let sent = SentRequest {
            path: question.path.clone(),
            server: Arc::clone(&self.server),
            limits: self.limits,
            begun: Instant::now(),
        };
        let request = question.request(self.unpacked.load(Ordering::Relaxed));
        let request = request.map_err(|error| (error, None))?;
        let (wait, limit) = sent.wait();
        let asked = Instant::now();
        let response = match timeout(wait, self.client.send(request)).await {
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
        let mut opened = OpenResponse::new(response, sent, permit);
        if status.is_success() {
            return Ok(opened);
        }
        let body = opened.refusal().await;
        let ErrorStatus { reason, message } = ErrorStatus::read(status.as_u16(), &body);
        Err((
            ReadError::Api { code: status.as_u16(), reason, message, path: question.path.clone() },
            wish,
        ))
    }
}

pub(super) fn from_json<T: DeserializeOwned>(path: &str, body: &[u8]) -> Result<T, ReadError> {
    serde_json::from_slice(body).map_err(|error| ReadError::undecodable(path, &error))
}

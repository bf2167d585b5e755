//! The only way from here to the cluster that reads: GET, and the reviews that ask what we may do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::header::{ACCEPT, CONTENT_TYPE, DATE};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::BodyExt;
use kube::client::{Body, Client};
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::connection::Connection;
use super::read_error::ReadError;
use super::retry::{Limits, Patience, retry_after};
use super::status::Refusal;
use super::stream::{Encoding, MAGIC};

/// An answer and the server's clock when it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<T> {
    /// What was asked for.
    pub value: T,
    /// The `Date` header.
    pub date: Option<DateTime<Utc>>,
}

/// The forms in which an answer is welcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accept {
    /// Protobuf, or JSON from those who do not speak it.
    Either,
    /// JSON.
    Json,
    /// Aggregated discovery, or the plain old documents.
    Discovery,
    /// The metadata of an object and nothing else of it.
    Metadata,
}

/// The reviews, which are the only things that are posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Review {
    /// May I?
    SelfSubjectAccess,
    /// May somebody else?
    SubjectAccess,
    /// May somebody else, in this namespace?
    LocalSubjectAccess(String),
}

/// Reads from one API server. It cannot be made to write: it sends GET, and POST to `*accessreviews`.
///
/// Cheap to clone; clones share the limit on parallel requests.
#[derive(Clone)]
pub struct Reader {
    client: Client,
    server: Arc<str>,
    limits: Limits,
    permits: Arc<Semaphore>,
    answered: Arc<AtomicBool>,
}

/// A question, kept so that it can be asked again.
struct Question {
    method: Method,
    path: String,
    accept: Accept,
    body: Bytes,
    patience: Patience,
}

/// An answer whose body is still on its way.
pub(super) struct Opened {
    pub(super) date: Option<DateTime<Utc>>,
    pub(super) encoding: Encoding,
    pub(super) content_type: String,
    body: Body,
    road: Road,
    _permit: OwnedSemaphorePermit,
}

/// What is needed to read on, and to say what went wrong.
struct Road {
    path: String,
    server: Arc<str>,
    limits: Limits,
    begun: Instant,
}

impl Reader {
    /// Builds a reader of what `connection` leads to, with the connection's request timeout.
    pub fn new(connection: &Connection) -> Self {
        Self::with_limits(
            connection,
            Limits { whole: connection.request_timeout, ..Limits::default() },
        )
    }

    /// Builds a reader with limits of its own.
    pub fn with_limits(connection: &Connection, limits: Limits) -> Self {
        Self {
            client: connection.client.clone(),
            server: connection.server.as_str().into(),
            limits,
            permits: Arc::new(Semaphore::new(limits.parallel)),
            answered: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Reads one object that is served as JSON.
    ///
    /// # Errors
    ///
    /// [`ReadError`], after the retries that [`Limits`] allow.
    pub async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<Answer<T>, ReadError> {
        let (opened, body) = self.whole(&Question::get(path, Accept::Json)).await?;
        Ok(Answer { value: from_json(&body, path)?, date: opened.date })
    }

    /// Reads one object in either encoding.
    ///
    /// # Errors
    ///
    /// [`ReadError`], after the retries that [`Limits`] allow.
    pub async fn get<T>(&self, path: &str) -> Result<Answer<T>, ReadError>
    where
        T: Message + Default + DeserializeOwned,
    {
        let (opened, body) = self.whole(&Question::get(path, Accept::Either)).await?;
        let value = match opened.encoding {
            Encoding::Json => from_json(&body, path)?,
            Encoding::Protobuf => from_protobuf(&body, path)?,
        };
        Ok(Answer { value, date: opened.date })
    }

    /// Reads the metadata of one object: its labels, owners and uid, never its contents.
    ///
    /// # Errors
    ///
    /// [`ReadError`], after the retries that [`Limits`] allow.
    pub async fn get_metadata<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<Answer<T>, ReadError> {
        let (opened, body) = self.whole(&Question::get(path, Accept::Metadata)).await?;
        Ok(Answer { value: from_json(&body, path)?, date: opened.date })
    }

    /// Asks what somebody may do.
    ///
    /// # Errors
    ///
    /// [`ReadError`], after the retries that [`Limits`] allow.
    pub async fn review<Q: Serialize, A: DeserializeOwned>(
        &self,
        review: &Review,
        question: &Q,
    ) -> Result<Answer<A>, ReadError> {
        let path = review.path();
        let body = serde_json::to_vec(question).map_err(|error| ReadError::Undecodable {
            path: path.clone(),
            detail: error.to_string(),
        })?;
        let question = Question {
            method: Method::POST,
            body: body.into(),
            ..Question::get(&path, Accept::Json)
        };
        let (opened, body) = self.whole(&question).await?;
        Ok(Answer { value: from_json(&body, &path)?, date: opened.date })
    }

    /// How patient this reader is.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Reads a whole body of a discovery document, with its content type.
    pub(super) async fn document(
        &self,
        path: &str,
        accept: Accept,
        patience: Patience,
    ) -> Result<(String, Bytes), ReadError> {
        let question = Question { patience, ..Question::get(path, accept) };
        self.whole(&question).await.map(|(opened, body)| (opened.content_type, body))
    }

    /// Asks until an answer begins.
    pub(super) async fn open(
        &self,
        path: &str,
        accept: Accept,
        patience: Patience,
    ) -> Result<Opened, ReadError> {
        let question = Question { patience, ..Question::get(path, accept) };
        self.patiently(&question, |opened| async { Ok((opened, ())) })
            .await
            .map(|(opened, ())| opened)
    }

    /// Asks until a whole answer has come.
    async fn whole(&self, question: &Question) -> Result<(Opened, Bytes), ReadError> {
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
        question: &Question,
        read: impl Fn(Opened) -> F,
    ) -> Result<(Opened, T), ReadError>
    where
        F: Future<Output = Result<(Opened, T), ReadError>>,
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
    async fn ask(&self, question: &Question) -> Result<Opened, (ReadError, Option<Duration>)> {
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .expect("because this semaphore is never closed");
        let road = Road {
            path: question.path.clone(),
            server: Arc::clone(&self.server),
            limits: self.limits,
            begun: Instant::now(),
        };
        let request = question.request().map_err(|error| (error, None))?;
        let (wait, limit) = road.wait();
        let response = match timeout(wait, self.client.send(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                return Err((ReadError::of_transport(&error, &road.server, &road.path), None));
            }
            Err(_) => return Err((road.timed_out(limit), None)),
        };
        self.answered.store(true, Ordering::Relaxed);
        let wish = retry_after(response.headers());
        let status = response.status();
        let mut opened = Opened::new(response, road, permit);
        if status.is_success() {
            return Ok(opened);
        }
        let body = opened.refusal().await;
        let Refusal { reason, message } = Refusal::read(status.as_u16(), &body);
        Err((
            ReadError::Api { code: status.as_u16(), reason, message, path: question.path.clone() },
            wish,
        ))
    }
}

impl Review {
    fn path(&self) -> String {
        const GROUP: &str = "/apis/authorization.k8s.io/v1";
        match self {
            Self::SelfSubjectAccess => format!("{GROUP}/selfsubjectaccessreviews"),
            Self::SubjectAccess => format!("{GROUP}/subjectaccessreviews"),
            Self::LocalSubjectAccess(namespace) => {
                format!("{GROUP}/namespaces/{namespace}/localsubjectaccessreviews")
            }
        }
    }
}

impl Accept {
    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Either => "application/vnd.kubernetes.protobuf, application/json;q=0.9",
            Self::Json => "application/json",
            Self::Discovery => {
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                 application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
            }
            Self::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        })
    }
}

impl Question {
    fn get(path: &str, accept: Accept) -> Self {
        Self {
            method: Method::GET,
            path: path.to_owned(),
            accept,
            body: Bytes::new(),
            patience: Patience::Full,
        }
    }

    /// Holds the promise of this file: whatever is asked for above, only reads pass here.
    fn check(&self) -> Result<(), ReadError> {
        if reads_only(&self.method, &self.path) {
            return Ok(());
        }
        Err(ReadError::NotARead { method: self.method.to_string(), path: self.path.clone() })
    }

    fn request(&self) -> Result<Request<Body>, ReadError> {
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(&self.path)
            .header(ACCEPT, self.accept.header());
        if self.method == Method::POST {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        request.body(Body::from(self.body.clone())).map_err(|error| ReadError::Undecodable {
            path: self.path.clone(),
            detail: error.to_string(),
        })
    }
}

/// Whether a request can change nothing: GET of anything but a way into a container, POST of an access review.
fn reads_only(method: &Method, path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    if *method == Method::POST {
        return match segments.as_slice() {
            ["apis", "authorization.k8s.io", _, review]
            | ["apis", "authorization.k8s.io", _, "namespaces", _, review] => {
                review.ends_with("accessreviews")
            }
            _ => false,
        };
    }
    // A GET of these runs a command, opens a tunnel, or does whatever the pod behind the proxy makes of it.
    let acts = match segments.as_slice() {
        ["api", _, "namespaces", _, "pods", _, action, ..] => {
            matches!(*action, "exec" | "attach" | "portforward" | "proxy")
        }
        ["api", _, "namespaces", _, "services", _, action, ..] => *action == "proxy",
        _ => false,
    };
    *method == Method::GET && path.starts_with('/') && !acts && !segments.contains(&"..")
}

impl Opened {
    fn new(response: Response<Body>, road: Road, permit: OwnedSemaphorePermit) -> Self {
        let (head, body) = response.into_parts();
        let content_type = text(&head.headers, &CONTENT_TYPE).to_owned();
        let protobuf = content_type.starts_with("application/vnd.kubernetes.protobuf");
        Self {
            // Such a date is the one of RFC 2822, written for GMT.
            date: DateTime::parse_from_rfc2822(text(&head.headers, &DATE))
                .ok()
                .map(|date| date.to_utc()),
            encoding: if protobuf { Encoding::Protobuf } else { Encoding::Json },
            content_type,
            body,
            road,
            _permit: permit,
        }
    }

    /// Waits for the next bytes; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, ReadError> {
        loop {
            let (wait, limit) = self.road.wait();
            let frame = match timeout(wait, self.body.frame()).await {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => {
                    return Err(ReadError::of_transport(
                        &error,
                        &self.road.server,
                        &self.road.path,
                    ));
                }
                Err(_) => return Err(self.road.timed_out(limit)),
            };
            // What is no data are trailers.
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }

    /// Reads as much of an explanation as came: the refusal stands without it.
    async fn refusal(&mut self) -> Vec<u8> {
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

impl Road {
    /// How long the next wait may be, and which limit that is.
    fn wait(&self) -> (Duration, Duration) {
        match self.limits.whole {
            Some(whole) if whole.saturating_sub(self.begun.elapsed()) < self.limits.idle => {
                (whole.saturating_sub(self.begun.elapsed()), whole)
            }
            _ => (self.limits.idle, self.limits.idle),
        }
    }

    fn timed_out(&self, after: Duration) -> ReadError {
        ReadError::TimedOut { path: self.path.clone(), after }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &http::HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn from_json<T: DeserializeOwned>(body: &[u8], path: &str) -> Result<T, ReadError> {
    serde_json::from_slice(body).map_err(|error| ReadError::Undecodable {
        path: path.to_owned(),
        detail: error.to_string(),
    })
}

fn from_protobuf<T: Message + Default>(body: &[u8], path: &str) -> Result<T, ReadError> {
    #[derive(Clone, PartialEq, Message)]
    struct Envelope {
        #[prost(bytes = "bytes", tag = "2")]
        raw: Bytes,
    }
    let undecodable = |detail: String| ReadError::Undecodable { path: path.to_owned(), detail };
    let envelope = body
        .strip_prefix(MAGIC)
        .ok_or_else(|| undecodable("the magic bytes are missing".to_owned()))?;
    let envelope = Envelope::decode(envelope).map_err(|error| undecodable(error.to_string()))?;
    T::decode(envelope.raw).map_err(|error| undecodable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::{Review, reads_only};

    #[test]
    fn only_reads_pass() {
        for path in
            ["/api/v1/pods?limit=5", "/apis", "/version", "/api/v1/nodes/n/proxy/stats/summary"]
        {
            assert!(reads_only(&Method::GET, path), "{path}");
            for method in [
                Method::POST,
                Method::PUT,
                Method::PATCH,
                Method::DELETE,
                Method::CONNECT,
                Method::HEAD,
            ] {
                assert!(!reads_only(&method, path), "{method} {path}");
            }
        }
        for path in [
            "/api/v1/namespaces/a/pods/b/exec?command=rm",
            "/api/v1/namespaces/a/services/b/proxy/x",
            "api",
        ] {
            assert!(!reads_only(&Method::GET, path), "{path}");
        }
        let local = Review::LocalSubjectAccess("shop".to_owned());
        for review in [Review::SelfSubjectAccess, Review::SubjectAccess, local] {
            assert!(reads_only(&Method::POST, &review.path()), "{review:?}");
        }
        for path in [
            "/apis/authorization.k8s.io/v1/roles",
            "/apis/x/v1/accessreviews",
            "/api/v1/pods?accessreviews",
        ] {
            assert!(!reads_only(&Method::POST, path), "{path}");
        }
    }
}

//! Sends each write once.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WARNING};
use http_body_util::BodyExt as _;
use kube::client::{Body, Client};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::request::WriteRequest;
use crate::client::{Connection, ReadError, date, refusal};
use crate::model::Time;

/// Sends writes to one API server, each of them once: a write without an answer may have been
/// carried out, and is not sent again.
#[derive(Clone)]
pub(super) struct Writer {
    client: Client,
    server: Arc<str>,
    wait: Duration,
    field_manager: String,
}

/// How long an answer may take without `--request-timeout`.
const WAIT: Duration = Duration::from_secs(60);

/// The answer to a write that was carried out.
#[derive(Debug, Default)]
pub(super) struct WriteAnswer {
    /// The object after the write, or a Status.
    pub(super) value: Value,
    /// The API server's time.
    pub(super) date: Option<Time>,
    /// The API server's warnings.
    pub(super) warnings: Vec<String>,
}

/// Why a write was not answered with success.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum WriteError {
    /// The API server rejected it: nothing was written.
    #[error("the API server answered {code} {reason}: {message}")]
    Rejected {
        code: u16,
        reason: String,
        message: String,
        /// After how long it may be tried again (`Retry-After`).
        after: Option<Duration>,
    },
    /// It never reached the server.
    #[error("it was not sent: {0}")]
    NotSent(String),
    /// Whether it was carried out is not known.
    #[error("{0}")]
    Unanswered(String),
}

/// The API server's message for a JSON patch whose test failed, and for nothing else (apimachinery,
/// `NewGenericServerResponse`; apiserver, `jsonPatcher.applyJSPatch`).
const TEST_FAILED: &str = "the server rejected our request due to an error in our request";

impl WriteError {
    /// Returns how the object has changed, where it was deleted or changed by another client since
    /// it was read; `None` for every other error.
    pub(super) fn overtaken(&self) -> Option<String> {
        let Self::Rejected { code, message, .. } = self else { return None };
        // Admission webhooks choose the code, and policies answer with 422 (apiserver,
        // `ToStatusErr` of webhooks and `validatingAdmissionPolicy`).
        let denied = message.contains(" denied the request") || message.contains(" denied request");
        match code {
            _ if denied => None,
            404 => Some("it was deleted meanwhile".to_owned()),
            409 => Some(format!("another client changed it meanwhile: {message}")),
            422 if message == TEST_FAILED => {
                Some("another client changed it meanwhile: a test of the patch failed".to_owned())
            }
            _ => None,
        }
    }
}

impl Writer {
    /// Returns a writer for a connection.
    pub(super) fn new(connection: &Connection, field_manager: &str) -> Self {
        Self {
            client: connection.client.clone(),
            server: connection.server.as_str().into(),
            wait: connection.request_timeout.unwrap_or(WAIT),
            field_manager: field_manager.to_owned(),
        }
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn send(
        &self,
        request: &WriteRequest,
        dry_run: bool,
    ) -> Result<WriteAnswer, WriteError> {
        let path = &request.path;
        let built = http::Request::builder()
            .method(request.method.clone())
            .uri(self.uri(request, dry_run))
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, request.content_type)
            .body(Body::from(body(request, dry_run).to_string().into_bytes()))
            .map_err(|error| WriteError::NotSent(error.to_string()))?;
        let answer = async {
            let response =
                self.client.send(built).await.map_err(|error| self.lost(&error, path))?;
            let (head, body) = response.into_parts();
            let body = body.collect().await.map_err(|error| self.lost(&error, path))?.to_bytes();
            Ok((head, body))
        };
        let Ok(answer) = timeout(self.wait, answer).await else {
            let seconds = self.wait.as_secs();
            return Err(WriteError::Unanswered(format!("no answer came within {seconds}s")));
        };
        let (head, body) = answer?;
        let code = head.status.as_u16();
        if head.status.is_success() {
            let value = serde_json::from_slice(&body).unwrap_or_default();
            let warnings = head.headers.get_all(WARNING).iter().filter_map(warning).collect();
            return Ok(WriteAnswer { value, date: date(&head.headers), warnings });
        }
        let (reason, message) = refusal(code, &body);
        if head.status.is_server_error() {
            // The API server, or a proxy, may answer so to a write that was carried out.
            return Err(WriteError::Unanswered(format!(
                "the API server answered {code} {reason}: {message}"
            )));
        }
        let after = head.headers.get(RETRY_AFTER).and_then(|it| it.to_str().ok()?.parse().ok());
        Err(WriteError::Rejected { code, reason, message, after: after.map(Duration::from_secs) })
    }

    /// Returns the path and query of a request. The API server ignores the query of a DELETE with a
    /// body (apiserver, `DeleteResource`).
    pub(super) fn uri(&self, request: &WriteRequest, dry_run: bool) -> String {
        if request.method == Method::DELETE {
            return request.path.clone();
        }
        let dry = if dry_run { "&dryRun=All" } else { "" };
        format!("{}?fieldManager={}{dry}", request.path, self.field_manager)
    }

    fn lost(&self, error: &(dyn std::error::Error + 'static), path: &str) -> WriteError {
        let error = ReadError::of_transport(error, &self.server, path);
        match &error {
            ReadError::Refused { .. }
            | ReadError::UnknownHost { .. }
            | ReadError::Tls { .. }
            | ReadError::Credential(_)
            | ReadError::Unreachable { .. } => WriteError::NotSent(error.to_string()),
            _ => WriteError::Unanswered(error.to_string()),
        }
    }
}

/// Returns the text of a warning: `299 - "text"`, in which quotes and backslashes are escaped
/// (apimachinery, `NewWarningHeader`).
fn warning(header: &HeaderValue) -> Option<String> {
    let text = String::from_utf8_lossy(header.as_bytes());
    let quoted = text.splitn(3, ' ').nth(2)?.strip_prefix('"')?;
    let mut warning = String::new();
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => return Some(warning),
            '\\' => warning.extend(characters.next()),
            other => warning.push(other),
        }
    }
    None
}

/// Returns the body that is sent.
fn body(request: &WriteRequest, dry_run: bool) -> Value {
    let mut body = request.body.clone();
    if dry_run && request.method == Method::DELETE {
        body["dryRun"] = json!(["All"]);
    }
    body
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::{TEST_FAILED, WriteError, warning};

    #[test]
    fn a_warning_is_read_as_it_was_written() {
        for (header, text) in [
            (r#"299 - "Validation failed""#, Some("Validation failed")),
            (r#"299 kube-apiserver "a \"b\" \\ c""#, Some(r#"a "b" \ c"#)),
            (r#"299 - "cut"#, None),
            ("299", None),
        ] {
            assert_eq!(warning(&HeaderValue::from_static(header)).as_deref(), text, "{header}");
        }
    }

    #[test]
    fn what_admission_denies_is_nobodys_haste() {
        let policy = "persistentvolumes \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no";
        let webhook = "admission webhook \"w.example\" denied the request: no";
        for (code, message, overtaken) in [
            (404, "persistentvolumes \"a\" not found", true),
            (409, "Operation cannot be fulfilled: the object has been modified", true),
            (422, TEST_FAILED, true),
            (422, policy, false),
            (409, policy, false),
            (404, webhook, false),
            (409, webhook, false),
            (422, "PersistentVolume \"a\" is invalid: spec.capacity: Required value", false),
            (403, "persistentvolumes \"a\" is forbidden", false),
            (429, "too many requests", false),
        ] {
            let (reason, message) = (String::new(), message.to_owned());
            let error = WriteError::Rejected { code, reason, message, after: None };
            assert_eq!(error.overtaken().is_some(), overtaken, "{error}");
        }
        assert_eq!(WriteError::Unanswered(TEST_FAILED.to_owned()).overtaken(), None);
    }
}

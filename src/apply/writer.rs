//! Sends each write once, and asks who the user is (`SelfSubjectReview`).

use std::{sync::Arc, time::Duration};

use http::{
    HeaderValue, Method,
    header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WARNING},
};
use http_body_util::BodyExt as _;
use kube::client::{Body, Client};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::request::WriteRequest;
use crate::client::{Connection, ErrorStatus, ReadError, date, is_of_api_server};
use crate::model::Time;

/// Permit of a background process to send writes, asked right before each.
pub(crate) trait SendPermit: Send + Sync {
    /// Returns the reason why nothing may be sent any more, though a change has begun.
    fn withdrawn(&self) -> Option<&'static str>;

    /// Returns the remaining time of the leader's term unless it is extended; `None` without an election.
    fn lasts(&self) -> Option<Duration>;
}

/// Sends writes to one API server, each of them once: a write without an answer may have been
/// carried out, and is not sent again.
#[derive(Clone)]
pub(super) struct Writer {
    client: Client,
    server: Arc<str>,
    wait: Duration,
    field_manager: String,
    permit: Option<Arc<dyn SendPermit>>,
}

/// The time to wait for an answer without `--request-timeout`.
const WAIT: Duration = Duration::from_secs(60);
/// The time to wait for an answer where a leader waits for it: others may begin after that.
pub(crate) const BACKGROUND_WAIT: Duration = Duration::from_secs(10);

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

/// Reason why a write was not answered with success.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum WriteError {
    /// The API server rejected the write: nothing was written.
    #[error("the API server answered {code} {reason}: {message}")]
    Rejected {
        code: u16,
        reason: String,
        message: String,
        /// The name of the object of which the API server says that it does not exist.
        absent: Option<String>,
        /// The time after which another try is possible (`Retry-After`).
        after: Option<Duration>,
    },
    /// The write never reached the server.
    #[error("it was not sent: {0}")]
    NotSent(String),
    /// The write may not be sent any more, for this reason.
    #[error("nothing was sent: {0}")]
    Withdrawn(&'static str),
    /// Whether the write was carried out is unknown.
    #[error("{0}")]
    Unanswered(String),
    /// The write was a dry run of a deletion, and the object is deleted.
    #[error("{0}")]
    CarriedOut(String),
}

/// The API server's message for a JSON patch whose test failed, and for nothing else (apimachinery,
/// `NewGenericServerResponse`; apiserver, `jsonPatcher.applyJSPatch`).
const TEST_FAILED: &str = "the server rejected our request due to an error in our request";

impl WriteError {
    /// Whether the API server says that no object of this name exists.
    pub(super) fn is_absence_of(&self, name: &str) -> bool {
        matches!(self, Self::Rejected { absent: Some(absent), .. } if absent == name)
    }

    /// Whether a permission is missing; admission answers 403 too: for deleted namespaces, quotas and webhooks.
    pub(super) fn is_forbidden(&self) -> bool {
        const OF_ADMISSION: [&str; 4] =
            ["being terminated", "exceeded quota", "denied the request", "denied request"];
        let Self::Rejected { code: 403, message, .. } = self else { return false };
        !OF_ADMISSION.iter().any(|it| message.contains(it))
    }

    /// Describes how another client deleted or changed the object since it was read; `None` for every other error.
    pub(super) fn overtaken(&self) -> Option<String> {
        let Self::Rejected { code, message, absent, .. } = self else { return None };
        // Admission webhooks choose the code, and policies answer with 422 (apiserver,
        // `ToStatusErr` of webhooks and `validatingAdmissionPolicy`).
        let denied = message.contains(" denied the request") || message.contains(" denied request");
        match code {
            _ if denied => None,
            _ if absent.is_some() => Some("it was deleted meanwhile".to_owned()),
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
            permit: None,
        }
    }

    /// Asks a permit before each request, and waits no longer for an answer than a leader may.
    pub(super) fn permitted_by(self, permit: Option<Arc<dyn SendPermit>>) -> Self {
        let leads = permit.as_ref().is_some_and(|it| it.lasts().is_some());
        let wait = if leads { self.wait.min(BACKGROUND_WAIT) } else { self.wait };
        Self { wait, permit, ..self }
    }

    /// Returns a writer without a permit: for Events about changes that were made, and for corrections.
    pub(super) fn in_any_case(&self) -> Self {
        self.clone().permitted_by(None)
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn send(
        &self,
        request: &WriteRequest,
        dry_run: bool,
    ) -> Result<WriteAnswer, WriteError> {
        let path = &request.path;
        // Something before the API server may carry out a dry run.
        let permit = self.permit.as_deref();
        if let Some(why) = permit.and_then(SendPermit::withdrawn) {
            return Err(WriteError::Withdrawn(why));
        }
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
        let leads = permit.filter(|it| it.lasts().is_some());
        let answer = tokio::select! {
            // First: a machine that wakes up may find both.
            biased;
            () = end_of_term(leads) => {
                let why = "no answer came while this process led";
                return Err(WriteError::Unanswered(why.to_owned()));
            }
            answer = timeout(self.wait, answer) => answer,
        };
        let Ok(answer) = answer else {
            let seconds = self.wait.as_secs();
            return Err(WriteError::Unanswered(format!("no answer came within {seconds}s")));
        };
        let (head, body) = answer?;
        let code = head.status.as_u16();
        if head.status.is_success() {
            let value: Value = serde_json::from_slice(&body).unwrap_or_default();
            if !value.is_object() {
                let why = format!("{path} was answered with {code} and no object of an API server");
                return Err(WriteError::Unanswered(why));
            }
            if dry_run && request.method == Method::DELETE {
                self.is_still_there(request).await?;
            }
            let warnings = head.headers.get_all(WARNING).iter().filter_map(warning).collect();
            return Ok(WriteAnswer { value, date: date(&head.headers), warnings });
        }
        let by_server = is_of_api_server(&head.headers);
        let ErrorStatus { reason, message, absent } = ErrorStatus::read(code, &body);
        let by_gateway = code == 404 && absent.is_none() && !by_server;
        if head.status.is_server_error() || by_gateway {
            // The API server, or a proxy, may answer so to a write that was carried out.
            return Err(WriteError::Unanswered(format!(
                "the API server answered {code} {reason}: {message}"
            )));
        }
        let after = head.headers.get(RETRY_AFTER).and_then(|it| it.to_str().ok()?.parse().ok());
        let after = after.map(Duration::from_secs);
        Err(WriteError::Rejected { code, reason, message, absent, after })
    }

    /// Returns the path and query of a request. The API server ignores the query of a DELETE with a
    /// body (apiserver, `DeleteResource`), and deletes what is named in one whose body a proxy has
    /// dropped, unless the query says that it is a dry run.
    pub(super) fn uri(&self, request: &WriteRequest, dry_run: bool) -> String {
        let path = &request.path;
        match (request.method == Method::DELETE, dry_run) {
            (true, true) => format!("{path}?dryRun=All"),
            (true, false) => path.clone(),
            (false, true) => format!("{path}?fieldManager={}&dryRun=All", self.field_manager),
            (false, false) => format!("{path}?fieldManager={}", self.field_manager),
        }
    }

    /// Verifies that an object still exists after a dry run of its deletion, of which a Status shows nothing.
    async fn is_still_there(&self, request: &WriteRequest) -> Result<(), WriteError> {
        let (path, wanted) = (&request.path, &request.body["preconditions"]);
        let unread = |why: String| {
            WriteError::Unanswered(format!("{path} could not be read after it: {why}"))
        };
        let get = http::Request::get(path).header(ACCEPT, "application/json");
        let get = get.body(Body::empty()).map_err(|error| unread(error.to_string()))?;
        let answer = async {
            let (head, body) = self.client.send(get).await.ok()?.into_parts();
            Some((head, body.collect().await.ok()?.to_bytes()))
        };
        let answer = timeout(self.wait, answer).await.ok().flatten();
        let (head, body) = answer.ok_or_else(|| unread("no answer came".to_owned()))?;
        let object: Value = serde_json::from_slice(&body).unwrap_or_default();
        let shown = |field: &str| &object["metadata"][field];
        let name = path.rsplit('/').next().unwrap_or_default();
        let absent = ErrorStatus::read(head.status.as_u16(), &body).absent;
        let is_gone = match head.status.is_success() && shown("uid").is_string() {
            true => {
                let another =
                    |field: &str| !wanted[field].is_null() && wanted[field] != *shown(field);
                another("uid")
                    || another("resourceVersion") && !shown("deletionTimestamp").is_null()
            }
            false if absent.as_deref() == Some(name) => true,
            // Whoever may list it need not be allowed to get it; what holds data is read before, by its name.
            false if head.status.as_u16() == 403 => false,
            false => return Err(unread(format!("the answer was {}", head.status.as_u16()))),
        };
        match is_gone {
            true => Err(WriteError::CarriedOut(
                "it is deleted after a dry run of its deletion: something before the API server drops what requests \
                 say, or another client has deleted it"
                    .to_owned(),
            )),
            false => Ok(()),
        }
    }

    fn lost(&self, error: &(dyn std::error::Error + 'static), path: &str) -> WriteError {
        let told = ReadError::of_transport(error, &self.server, path).to_string();
        match ReadError::is_before_sending(error) {
            true => WriteError::NotSent(told),
            false => WriteError::Unanswered(told),
        }
    }
}

/// Waits until the term of a leader ends: for ever without an election.
async fn end_of_term(permit: Option<&dyn SendPermit>) {
    let Some(permit) = permit else { return std::future::pending().await };
    while permit.lasts().is_none_or(|left| !left.is_zero()) {
        sleep(TERM_LOOK).await;
    }
}

/// The pause between checks whether the term has ended: it may be renewed, and the stopwatch stands still while a
/// machine is suspended.
const TERM_LOOK: Duration = Duration::from_millis(200);

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

/// Returns the body of a request as it is sent.
fn body(request: &WriteRequest, dry_run: bool) -> Value {
    let mut body = request.body.clone();
    if dry_run && request.method == Method::DELETE {
        body["dryRun"] = json!(["All"]);
    }
    body
}

const PATH: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const JSON: &str = "application/json";

/// The identity of the user, as the API server knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WhoAmI {
    /// The username.
    pub(crate) username: String,
    /// The groups.
    pub(crate) groups: Vec<String>,
    /// The API server's time.
    pub(crate) now: Option<Time>,
}

/// Asks for the username and the groups of the user, with the API server's time.
///
/// # Errors
/// Why it is not known: the review is served since Kubernetes 1.28.
pub(super) async fn who_am_i(writer: &Writer) -> Result<WhoAmI, String> {
    let request = WriteRequest {
        method: Method::POST,
        path: PATH.to_owned(),
        content_type: JSON,
        body: json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}),
    };
    let answer = writer.send(&request, true).await.map_err(|error| error.to_string())?;
    let user = &answer.value["status"]["userInfo"];
    let groups = user["groups"].as_array().into_iter().flatten();
    let groups = groups.filter_map(|it| it.as_str().map(str::to_owned)).collect();
    let username = user["username"].as_str().unwrap_or_default().to_owned();
    Ok(WhoAmI { username, groups, now: answer.date })
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
        const GONE: &str = "persistentvolumes \"a\" not found";
        let policy = "persistentvolumes \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no";
        let webhook = "admission webhook \"w.example\" denied the request: no";
        for (code, message, overtaken) in [
            (404, GONE, true),
            (404, "404 page not found", false),
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
            let absent = (message == GONE).then(|| "a".to_owned());
            let error = WriteError::Rejected { code, reason, message, absent, after: None };
            assert_eq!(error.overtaken().is_some(), overtaken, "{error}");
        }
        assert_eq!(WriteError::Unanswered(TEST_FAILED.to_owned()).overtaken(), None);
    }
}

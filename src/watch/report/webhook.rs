//! Reporting of findings as messages to a chat: their texts, and how they are posted to a URL that is a secret.

#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{Method, Request, Uri};
use http_body_util::Full;
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use rustls::ClientConfig;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::super::leader::Leadership;
use super::super::policy::report::WebhookPolicy;
use super::queue::{MOST, Queue, SinkCounts, Telling, ToldFindings};
use crate::client::ProxyEnv;
use crate::model::{FindingEvent, Time, escape_control, in_own_name, program, shorten};
use crate::output::{publish, wire};

/// Timing of messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct WebhookPace {
    /// Longest time for an answer.
    pub(super) timeout: Duration,
    /// Time before a message is tried again; doubled each time.
    pub(super) pause: Duration,
    /// The longest such wait, whatever the server asks for.
    pub(super) longest_pause: Duration,
    /// Time after which a message is given up.
    pub(super) give_up: Duration,
}

impl Default for WebhookPace {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(300),
            give_up: Duration::from_secs(3600),
        }
    }
}

/// Reporter of findings by messages.
#[derive(Debug)]
pub(super) struct WebhookReporter {
    told: ToldFindings,
    queue: Queue<WebhookItem>,
    counts: Arc<SinkCounts>,
    /// The file that holds the URL.
    url_file: Arc<Mutex<PathBuf>>,
    _task: JoinSet<()>,
}

impl WebhookReporter {
    /// Begins to report findings of a cluster.
    pub(super) fn start(
        policy: &WebhookPolicy,
        cluster: &str,
        pace: WebhookPace,
        counts: Arc<SinkCounts>,
        leadership: Leadership,
    ) -> Self {
        let queue = Queue::new(MOST);
        let url_file = Arc::new(Mutex::new(policy.url_file.clone()));
        let mut tasks = JoinSet::new();
        let sender = Sender {
            queue: queue.clone(),
            url_file: Arc::clone(&url_file),
            cluster: cluster.to_owned(),
            pace,
            counts: Arc::clone(&counts),
            leadership,
        };
        tasks.spawn(sender.send_all());
        let told = ToldFindings::new(policy.severity);
        Self { told, queue, counts, url_file, _task: tasks }
    }

    /// Follows another policy: what waits is sent to its URL.
    pub(super) fn follow(&mut self, policy: &WebhookPolicy) {
        self.told.set_severity(policy.severity);
        let mut url_file = self.url_file.lock().unwrap_or_else(PoisonError::into_inner);
        url_file.clone_from(&policy.url_file);
    }

    /// Queues changes of findings; `is_first` where it is the first look of this process.
    pub(super) fn hear(&mut self, events: &[FindingEvent], now: Option<Time>, is_first: bool) {
        let item = |telling| {
            let event = match telling {
                Telling::Appeared(it) => FindingEvent::Appeared(Box::new(it.clone())),
                Telling::Cleared(it) => FindingEvent::Cleared(it.clone()),
            };
            WebhookItem::of(event, now, is_first)
        };
        // All at once, so that they are one message.
        let dropped = self.queue.push_all(self.told.sift(events).into_iter().map(item).collect());
        if dropped > 0 {
            self.counts.dropped(dropped);
            tracing::warn!(dropped, "too many findings wait for the webhook: these are left out");
        }
    }
}

/// Sender of messages, which owns the queue's other end.
struct Sender {
    queue: Queue<WebhookItem>,
    url_file: Arc<Mutex<PathBuf>>,
    cluster: String,
    pace: WebhookPace,
    counts: Arc<SinkCounts>,
    leadership: Leadership,
}

impl Sender {
    /// Sends the queue, for ever: all that waits in one message.
    async fn send_all(mut self) {
        loop {
            let items = self.queue.next(MOST).await;
            let body = render(&self.cluster, &items).to_string();
            match self.send(&body).await {
                Ok(()) => self.counts.sent(items.len()),
                Err(error) => {
                    self.counts.failed(items.len());
                    let findings = items.len();
                    tracing::warn!(%error, findings, "a message to the webhook was given up");
                }
            }
        }
    }

    /// Sends a message until it is taken, or cannot be. While this process does not lead, it waits.
    async fn send(&mut self, body: &str) -> Result<(), PostError> {
        let (begun, pace) = (Instant::now(), self.pace);
        let mut pause = pace.pause;
        loop {
            self.leadership.wait().await;
            let url_file = self.url_file.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let error = match post(&url_file, body, pace.timeout).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let Some(asked) = error.retry() else { return Err(error) };
            let wait = asked.unwrap_or(pause).max(pause).min(pace.longest_pause);
            if begun.elapsed() + wait > pace.give_up {
                return Err(error);
            }
            if pause == pace.pause {
                tracing::warn!(%error, "a message to the webhook was not taken, and is tried again");
            }
            sleep(wait).await;
            pause = (pause * 2).min(pace.longest_pause);
        }
    }
}

/// Number of findings that a message names; the rest is counted.
const LINES: usize = 20;
/// Number of findings that a message holds as fields.
const FIELDS: usize = 100;
/// Length of a line, in characters.
const LINE: usize = 300;

/// One finding in a message.
#[derive(Debug, Clone)]
pub(super) struct WebhookItem {
    is_first: bool,
    is_cleared: bool,
    line: String,
    event: wire::FindingEvent,
}

impl WebhookItem {
    /// Returns the item about a change of a finding; `is_first` where it is the first look of this process.
    pub(super) fn of(event: FindingEvent, now: Option<Time>, is_first: bool) -> Self {
        let (is_cleared, line) = match &event {
            FindingEvent::Appeared(it) | FindingEvent::Changed(it) => {
                let what = shorten(&escape_control(&it.summary), LINE);
                (false, format!("{} {} {}: {what}", it.severity.name(), it.rule, it.object))
            }
            FindingEvent::Cleared(it) => {
                // What a policy leaves out may still be there.
                let what = if it.left_out { "not reported any more" } else { "cleared" };
                (true, format!("{what}: {} {} {}", it.severity.name(), it.rule, it.object))
            }
        };
        Self { is_first, is_cleared, line, event: publish::finding_event(event, now) }
    }
}

/// Builds the body of a message.
pub(super) fn render(cluster: &str, items: &[WebhookItem]) -> Value {
    let count = |is: fn(&WebhookItem) -> bool| items.iter().filter(|it| is(it)).count();
    let parts = [
        (count(|it| it.is_first && !it.is_cleared), "there at the start"),
        (count(|it| !it.is_first && !it.is_cleared), "appeared"),
        (count(|it| it.is_cleared), "cleared"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<_> = parts.map(|(count, what)| format!("{count} {what}")).collect();
    let mut text = format!("{}, {cluster}: findings: {}", program(), parts.join(", "));
    for item in items.iter().take(LINES) {
        text.push_str("\n• ");
        text.push_str(&item.line);
    }
    if items.len() > LINES {
        let more = items.len() - LINES;
        write!(text, "\nand {more} more").expect("because writing to a string does not fail");
    }
    let fields: Vec<_> = items.iter().take(FIELDS).map(|it| &it.event).collect();
    json!({
        "text": escape_slack(&in_own_name(&text)),
        "cluster": cluster,
        "findings": fields,
        "omitted": items.len().saturating_sub(FIELDS),
    })
}

/// Escapes the three characters that Slack takes for markup.
fn escape_slack(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Greatest length of the URL.
const LONGEST: usize = 4096;

/// Reason for which a message was not taken. No text of it holds the URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum PostError {
    /// The file cannot be read, or holds no URL: it may be about to be mended.
    #[error("the URL in {file}: {reason}")]
    Url { file: String, reason: String },
    /// No answer came.
    #[error("{0}")]
    Unanswered(String),
    /// The server may take the message later.
    #[error("the server answered {code}")]
    Later { code: u16, after: Option<Duration> },
    /// The server wants the message to be sent elsewhere.
    #[error("the server answered {code}: a redirect is not followed")]
    Redirect { code: u16 },
    /// The server does not take the message.
    #[error("the server answered {code}")]
    Refused { code: u16 },
}

impl PostError {
    /// Returns whether to try again, and when, if the server said that.
    #[expect(clippy::option_option, reason = "two questions, of which one may have no answer")]
    pub(super) fn retry(&self) -> Option<Option<Duration>> {
        match self {
            Self::Url { .. } | Self::Unanswered(_) => Some(None),
            Self::Later { after, .. } => Some(*after),
            Self::Redirect { .. } | Self::Refused { .. } => None,
        }
    }
}

/// Posts a message to the URL in a file.
///
/// # Errors
/// [`PostError`]
pub(super) async fn post(url_file: &Path, body: &str, patience: Duration) -> Result<(), PostError> {
    post_by(&ProxyEnv::read(), &trust_of_machine, url_file, body, patience).await
}

/// Posts a message by these proxies, to servers that are trusted.
async fn post_by(
    proxies: &ProxyEnv,
    trust: Trust<'_>,
    url_file: &Path,
    body: &str,
    patience: Duration,
) -> Result<(), PostError> {
    let wrong = |reason: String| PostError::Url { file: url_file.display().to_string(), reason };
    let secret = read_url(url_file).map_err(wrong)?;
    let url: Uri = secret.expose_secret().parse().map_err(|_| wrong("it is no URL".to_owned()))?;
    check(&url).map_err(|reason| wrong(reason.to_owned()))?;
    // The path is the secret of most webhooks, and some libraries name it in their errors.
    let unanswered = |error: &dyn Error| PostError::Unanswered(redact(&causes(error), &url));
    let request = Request::builder()
        .method(Method::POST)
        .uri(url.clone())
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, concat!("kubectl-storage/", env!("CARGO_PKG_VERSION")))
        .body(Full::new(Bytes::from(body.to_owned())))
        .map_err(|_| wrong("it is no URL".to_owned()))?;
    let answer = timeout(patience, deliver(request, &url, proxies, trust)).await;
    let Ok(answer) = answer else {
        let seconds = patience.as_secs_f32();
        return Err(PostError::Unanswered(format!("no answer came within {seconds}s")));
    };
    let head = answer.map_err(|error| unanswered(&*error))?;
    let code = head.status.as_u16();
    match code {
        200..=299 => Ok(()),
        300..=399 => Err(PostError::Redirect { code }),
        408 | 425 | 429 | 500..=599 => {
            let after = head.headers.get(RETRY_AFTER).and_then(|it| it.to_str().ok());
            let after = after.and_then(|it| it.trim().parse().ok()).map(Duration::from_secs);
            Err(PostError::Later { code, after })
        }
        _ => Err(PostError::Refused { code }),
    }
}

/// Function that returns the trusted authorities, read anew for each message.
type Trust<'a> = &'a (dyn Fn() -> Result<ClientConfig, Box<dyn Error + Send + Sync>> + Sync);

/// Trusts the authorities of this machine, or of `SSL_CERT_FILE`.
fn trust_of_machine() -> Result<ClientConfig, Box<dyn Error + Send + Sync>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions()?.with_native_roots()?;
    Ok(config.with_no_client_auth())
}

/// Sends a request: with TLS and by a proxy, as its URL asks for.
async fn deliver(
    request: Request<Full<Bytes>>,
    url: &Uri,
    proxies: &ProxyEnv,
    trust: Trust<'_>,
) -> Result<http::response::Parts, Box<dyn Error + Send + Sync>> {
    let mut plain = HttpConnector::new();
    if url.scheme_str() == Some("http") {
        return Ok(send(plain, request).await?);
    }
    plain.enforce_http(false);
    let tls = HttpsConnectorBuilder::new().with_tls_config(trust()?).https_only().enable_http1();
    let Some(proxy) = proxies.proxy_for(url) else {
        return Ok(send(tls.wrap_connector(plain), request).await?);
    };
    let proxy: Uri = proxy.parse().map_err(|_| "the proxy's URL is wrong")?;
    Ok(send(tls.wrap_connector(Tunnel::new(proxy, plain)), request).await?)
}

async fn send<C>(
    connector: C,
    request: Request<Full<Bytes>>,
) -> Result<http::response::Parts, hyper_util::client::legacy::Error>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
    client.request(request).await.map(|answer| answer.into_parts().0)
}

/// Reads the URL, without the line end after it.
fn read_url(file: &Path) -> Result<SecretString, String> {
    use std::io::Read as _;
    let mut text = String::new();
    let opened = std::fs::File::open(file).map_err(|error| error.to_string())?;
    let read = opened.take(LONGEST as u64 + 1).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    match text.trim() {
        "" => Err("the file is empty".to_owned()),
        _ if text.len() > LONGEST => Err(format!("it is longer than {LONGEST} bytes")),
        url => Ok(SecretString::from(url)),
    }
}

fn check(url: &Uri) -> Result<(), &'static str> {
    if !matches!(url.scheme_str(), Some("https" | "http")) {
        return Err("it does not begin with https:// or http://");
    }
    match url.authority() {
        None => Err("it has no host"),
        Some(authority) if authority.as_str().contains('@') => Err("it holds a password"),
        Some(_) => Ok(()),
    }
}

/// Returns an error with its causes.
fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// Returns a text without the parts of a URL.
fn redact(text: &str, url: &Uri) -> String {
    let mut text = text.replace(&url.to_string(), "<url>");
    let path = url.path_and_query().map_or("/", |it| it.as_str());
    if path.len() > 1 {
        text = text.replace(path, "<path>");
    }
    match url.host() {
        Some(host) => text.replace(host, "<host>"),
        None => text,
    }
}

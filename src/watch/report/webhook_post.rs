//! Posts a message to a URL that is a secret.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

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
use tokio::time::timeout;

use crate::client::ProxyEnv;

/// The longest URL.
const LONGEST: usize = 4096;

/// Why a message was not taken. No text of it holds the URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum PostError {
    /// The file cannot be read, or holds no URL: somebody may be about to mend it.
    #[error("the URL in {file}: {reason}")]
    Url { file: String, reason: String },
    /// No answer came.
    #[error("{0}")]
    Unanswered(String),
    /// The server may take it later.
    #[error("the server answered {code}")]
    Later { code: u16, after: Option<Duration> },
    /// The server asks to send it elsewhere.
    #[error("the server answered {code}: a redirect is not followed")]
    Redirect { code: u16 },
    /// The server does not take it.
    #[error("the server answered {code}")]
    Refused { code: u16 },
}

impl PostError {
    /// Whether to try again, and when, if the server said that.
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

/// Posts a message by these proxies, to whom is trusted.
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

/// Whom to trust, read anew for each message.
type Trust<'a> = &'a (dyn Fn() -> Result<ClientConfig, Box<dyn Error + Send + Sync>> + Sync);

/// Trusts whom this machine trusts, or `SSL_CERT_FILE`.
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

/// An error with its causes.
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

/// A text without the parts of a URL.
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

#[cfg(test)]
mod tests;

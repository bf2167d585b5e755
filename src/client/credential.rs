//! `Credential`: a bearer token that is renewed before it expires, and the layer that sends it with
//! every request.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, StatusCode};
use kube::client::Body;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;
use tower::{BoxError, Layer, Service, ServiceExt};

use super::credential_plugin::{CredentialPlugin, ExecError, IssuedCredential};

/// Where a token is read from, again whenever it is about to expire.
#[derive(Debug)]
pub(super) enum TokenSource {
    /// A credential plugin.
    Plugin(Box<CredentialPlugin>),
    /// A file that another process renews, such as the kubelet for a service account.
    File(PathBuf),
}

/// A token and its source.
#[derive(Debug)]
pub(super) struct Credential {
    source: TokenSource,
    /// Locked while it is renewed, so that parallel requests renew it once.
    current: Mutex<CurrentToken>,
}

#[derive(Debug)]
struct CurrentToken {
    header: HeaderValue,
    renew: Option<DateTime<Utc>>,
    /// The last failure to renew it, and its time.
    failed: Option<(Instant, ExecError)>,
}

/// How long a failure is repeated without another try: two dozen lists that wait for one token must
/// not prompt the user two dozen times.
const REMEMBERED: Duration = Duration::from_secs(20);

impl Credential {
    /// Builds a credential of what a plugin has just issued; `None` if that was no token.
    pub(super) fn issued(
        plugin: CredentialPlugin,
        issued: &IssuedCredential,
    ) -> Result<Option<Self>, ExecError> {
        let Some(token) = &issued.token else { return Ok(None) };
        let current = CurrentToken {
            header: bearer(token)?,
            renew: issued.expires.map(|expires| renew_at(Utc::now(), expires)),
            failed: None,
        };
        Ok(Some(Self {
            source: TokenSource::Plugin(Box::new(plugin)),
            current: Mutex::new(current),
        }))
    }

    /// Builds a credential of the token in a file.
    pub(super) fn file(path: PathBuf) -> Result<Self, ExecError> {
        let current = read(&path)?;
        Ok(Self { source: TokenSource::File(path), current: Mutex::new(current) })
    }

    /// Returns the header to send, with a new token if the old one is about to expire.
    async fn header(&self) -> Result<HeaderValue, ExecError> {
        let mut current = self.current.lock().await;
        if current.renew.is_none_or(|renew| Utc::now() < renew) {
            return Ok(current.header.clone());
        }
        match &self.source {
            TokenSource::Plugin(plugin) => {
                if let Some((when, error)) = &current.failed
                    && when.elapsed() < REMEMBERED
                {
                    return Err(error.clone());
                }
                let issued = match plugin.run().await {
                    Ok(issued) => issued,
                    Err(error) => {
                        current.failed = Some((Instant::now(), error.clone()));
                        return Err(error);
                    }
                };
                current.failed = None;
                if let Some(token) = &issued.token {
                    current.header = bearer(token)?;
                }
                current.renew = issued.expires.map(|expires| renew_at(Utc::now(), expires));
            }
            // If the file was deleted, its last token stays in use, as in client-go
            // (kubernetes#68164).
            TokenSource::File(path) => match read(path) {
                Ok(fresh) => *current = fresh,
                Err(_) => current.renew = Some(Utc::now() + TimeDelta::seconds(60)),
            },
        }
        Ok(current.header.clone())
    }

    /// Has the token renewed for the next request, unless it was renewed since `used` was sent.
    async fn refused(&self, used: &HeaderValue) {
        let mut current = self.current.lock().await;
        if current.header == *used {
            current.renew = Some(DateTime::<Utc>::MIN_UTC);
        }
    }
}

/// Returns when to renew a token: a minute before it expires, but not in the first half of its
/// life, or a short-lived one would be renewed for every request.
fn renew_at(now: DateTime<Utc>, expires: DateTime<Utc>) -> DateTime<Utc> {
    let half = (expires - now).max(TimeDelta::zero()) / 2;
    expires - half.min(TimeDelta::seconds(60))
}

/// Reads a token file.
fn read(path: &PathBuf) -> Result<CurrentToken, ExecError> {
    let failed =
        |error| ExecError::TokenFile { path: path.display().to_string(), source: Arc::new(error) };
    let token = std::fs::read_to_string(path).map_err(failed)?;
    let header = bearer(&SecretString::from(token.trim()))?;
    Ok(CurrentToken { header, renew: Some(Utc::now() + TimeDelta::seconds(60)), failed: None })
}

/// Returns the `Authorization` header of a token.
pub(super) fn bearer(token: &SecretString) -> Result<HeaderValue, ExecError> {
    let header = HeaderValue::try_from(format!("Bearer {}", token.expose_secret().trim()));
    let mut header = header.map_err(|_| ExecError::BadToken)?;
    header.set_sensitive(true);
    Ok(header)
}

/// Sends the credential with every request.
#[derive(Debug, Clone)]
pub(super) struct AuthorizeLayer(pub(super) Arc<Credential>);

/// See [`AuthorizeLayer`].
#[derive(Debug, Clone)]
pub(super) struct Authorize<S> {
    inner: S,
    credential: Arc<Credential>,
}

impl<S> Layer<S> for AuthorizeLayer {
    type Service = Authorize<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Authorize { inner, credential: Arc::clone(&self.0) }
    }
}

impl<S, B> Service<Request<Body>> for Authorize<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    /// Always ready: `call` waits for the token and for the inner service.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let inner = self.inner.clone();
        let credential = Arc::clone(&self.credential);
        Box::pin(async move {
            let header = credential.header().await?;
            request.headers_mut().insert(AUTHORIZATION, header.clone());
            let response = inner.oneshot(request).await?;
            if response.status() == StatusCode::UNAUTHORIZED {
                credential.refused(&header).await;
            }
            Ok(response)
        })
    }
}

#[cfg(test)]
mod tests {
    use chrono::{TimeDelta, Utc};

    use super::renew_at;

    #[test]
    fn short_lives_are_lived_to_their_half() {
        let now = Utc::now();
        let in_seconds = |seconds| now + TimeDelta::seconds(seconds);
        assert_eq!(renew_at(now, in_seconds(900)), in_seconds(840));
        assert_eq!(renew_at(now, in_seconds(60)), in_seconds(30));
        assert_eq!(renew_at(now, in_seconds(-5)), in_seconds(-5));
    }
}

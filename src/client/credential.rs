//! Credentials: a bearer token that is renewed before it expires, and the kubeconfig's exec plugin
//! that issues it, run once. kube would run it three times for one client.

use std::io;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, StatusCode};
use kube::client::Body;
use kube::config::{ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tower::{BoxError, Layer, Service, ServiceExt};

use crate::platform::program;

/// Source of a token, which is read again whenever it is about to expire.
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
    /// The last failure to renew the token, and its time.
    failed: Option<(Instant, ExecError)>,
}

/// Time for which a failure is repeated without another try: two dozen lists that wait for one token must not prompt
/// the user two dozen times.
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

/// Layer that sends the credential with every request.
#[derive(Debug, Clone)]
pub(super) struct AuthorizeLayer(pub(super) Arc<Credential>);

/// Service of an [`AuthorizeLayer`].
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

    /// Returns readiness at once: `call` waits for the token and for the inner service.
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

/// Reason for which a credential plugin or a token file gave no credential.
///
/// Its messages do not repeat what a plugin printed, which may be a credential.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ExecError {
    /// The kubeconfig names no command.
    #[error("user {user} has an exec credential plugin without a command")]
    NoCommand {
        /// The kubeconfig's user.
        user: String,
    },
    /// The kubeconfig asks for an API version that is not supported.
    #[error("the credential plugin {command} wants apiVersion {version:?}, which is not supported")]
    ApiVersion {
        /// The plugin.
        command: String,
        /// The API version.
        version: String,
    },
    /// The program does not exist.
    #[error("the credential plugin {command} was not found")]
    Missing {
        /// The plugin.
        command: String,
        /// `installHint` of the kubeconfig.
        install_hint: Option<String>,
    },
    /// The program cannot be started.
    #[error("the credential plugin {command} could not be started")]
    Start {
        /// The plugin.
        command: String,
        /// The operating system's error.
        source: Arc<io::Error>,
    },
    /// The plugin requires a terminal, and standard input is not one.
    #[error("the credential plugin {command} needs a terminal, and standard input is none")]
    NoTerminal {
        /// The plugin.
        command: String,
    },
    /// The program failed. It has printed the cause on standard error.
    #[error("the credential plugin {command} failed with {status}")]
    Failed {
        /// The plugin.
        command: String,
        /// Exit status.
        status: String,
    },
    /// The program did not end in time.
    #[error("the credential plugin {command} did not end within {}s", after.as_secs_f32())]
    TimedOut {
        /// The plugin.
        command: String,
        /// `--request-timeout`
        after: Duration,
    },
    /// The output of the program is not a credential.
    #[error("the credential plugin {command} printed no usable ExecCredential: {detail}")]
    Garbage {
        /// The plugin.
        command: String,
        /// The fault.
        detail: String,
    },
    /// The token cannot be sent in a header.
    #[error("the token contains characters that are invalid in a token")]
    BadToken,
    /// The token file of the kubeconfig cannot be read.
    #[error("the token file {path} cannot be read")]
    TokenFile {
        /// The file.
        path: String,
        /// The operating system's error.
        source: Arc<io::Error>,
    },
}

impl ExecError {
    /// Returns advice for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { install_hint: Some(hint), .. } => Some(hint.trim().to_owned()),
            Self::Missing { command, .. } => {
                Some(format!("install {command}, or add its folder to PATH"))
            }
            Self::ApiVersion { .. } => {
                Some("renew the kubeconfig with the cloud provider's tool".to_owned())
            }
            Self::Failed { .. } => {
                Some("its own message is above; logging in again often helps".to_owned())
            }
            Self::NoTerminal { .. } => Some("log in from a terminal first".to_owned()),
            Self::TimedOut { command, .. } => {
                Some(format!("run {command} manually, or allow more time with --request-timeout"))
            }
            Self::Garbage { command, .. } => {
                Some(format!("run {command} manually, and check its output"))
            }
            Self::NoCommand { .. }
            | Self::Start { .. }
            | Self::BadToken
            | Self::TokenFile { .. } => None,
        }
    }
}

/// A credential plugin that is ready to run.
#[derive(Debug, Clone)]
pub(super) struct CredentialPlugin {
    command: String,
    api_version: String,
    cluster: Option<ExecAuthCluster>,
    config: ExecConfig,
    /// Longest time that the plugin may run: `--request-timeout`.
    wait: Option<Duration>,
}

/// The credential that a plugin printed.
#[derive(Debug, Clone, Default)]
pub(super) struct IssuedCredential {
    pub(super) token: Option<SecretString>,
    /// The certificate and its key, in PEM.
    pub(super) certificate: Option<(String, SecretString)>,
    pub(super) expires: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    api_version: Option<String>,
    kind: Option<String>,
    status: Option<ExecCredentialStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredentialStatus {
    expiration_timestamp: Option<String>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

impl CredentialPlugin {
    /// Checks the plugin's configuration. `cluster` is passed to a plugin that asks for it.
    pub(super) fn parse(
        config: ExecConfig,
        user: &str,
        cluster: Option<ExecAuthCluster>,
        wait: Option<Duration>,
    ) -> Result<Self, ExecError> {
        let Some(command) = config.command.clone().filter(|command| !command.is_empty()) else {
            return Err(ExecError::NoCommand { user: user.to_owned() });
        };
        let api_version = config.api_version.clone().unwrap_or_default();
        if !matches!(
            api_version.as_str(),
            "client.authentication.k8s.io/v1" | "client.authentication.k8s.io/v1beta1"
        ) {
            return Err(ExecError::ApiVersion { command, version: api_version });
        }
        let cluster = cluster.filter(|_| config.provide_cluster_info);
        Ok(Self { command, api_version, cluster, config, wait })
    }

    /// Runs the plugin. It may ask the user on the terminal, so nothing else should be drawn there.
    pub(super) async fn run(&self) -> Result<IssuedCredential, ExecError> {
        let interactive = self.interactive(io::stdin().is_terminal())?;
        let mut spec = json!({ "interactive": interactive });
        if let Some(cluster) = &self.cluster {
            spec["cluster"] = serde_json::to_value(cluster).map_err(|error| self.garbage(error))?;
        }
        let info =
            json!({ "apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec });
        let mut command = Command::new(program(&self.command));
        command
            .args(self.config.args.iter().flatten())
            .envs(
                self.config
                    .env
                    .iter()
                    .flatten()
                    .filter_map(|pair| Some((pair.get("name")?, pair.get("value")?))),
            )
            .env("KUBERNETES_EXEC_INFO", info.to_string())
            .stdin(if interactive { Stdio::inherit() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true);
        let run = async { command.spawn()?.wait_with_output().await };
        let ran = match self.wait {
            None => run.await,
            // It is killed with the future.
            Some(wait) => timeout(wait, run)
                .await
                .map_err(|_| ExecError::TimedOut { command: self.command.clone(), after: wait })?,
        };
        let output = ran.map_err(|error| self.not_started(error))?;
        if !output.status.success() {
            let status = output.status.to_string();
            return Err(ExecError::Failed { command: self.command.clone(), status });
        }
        self.parse_output(&output.stdout)
    }

    /// Whether the plugin may ask the user, given whether there is a terminal.
    fn interactive(&self, terminal: bool) -> Result<bool, ExecError> {
        match self.config.interactive_mode {
            Some(ExecInteractiveMode::Never) => Ok(false),
            Some(ExecInteractiveMode::IfAvailable) | None => Ok(terminal),
            Some(ExecInteractiveMode::Always) if terminal => Ok(true),
            Some(ExecInteractiveMode::Always) => {
                Err(ExecError::NoTerminal { command: self.command.clone() })
            }
        }
    }

    fn not_started(&self, error: io::Error) -> ExecError {
        let command = self.command.clone();
        if error.kind() == io::ErrorKind::NotFound {
            return ExecError::Missing { command, install_hint: self.config.install_hint.clone() };
        }
        ExecError::Start { command, source: Arc::new(error) }
    }

    fn parse_output(&self, output: &[u8]) -> Result<IssuedCredential, ExecError> {
        // The messages of both parsers quote the text, which may be a token: only the line and
        // column are reported.
        let credential: ExecCredential = match serde_json::from_slice(output) {
            Ok(credential) => credential,
            Err(json) => serde_yaml::from_slice(output).map_err(|_| {
                self.garbage(format_args!(
                    "neither JSON nor YAML, at line {} column {}",
                    json.line(),
                    json.column()
                ))
            })?,
        };
        if credential.kind.as_deref() != Some("ExecCredential") {
            return Err(self.garbage("its kind is not ExecCredential"));
        }
        if credential.api_version.as_deref() != Some(self.api_version.as_str()) {
            let found = credential.api_version.unwrap_or_default();
            return Err(self.garbage(format_args!(
                "its apiVersion is {found:?}, but the kubeconfig asks for {}",
                self.api_version
            )));
        }
        let Some(status) = credential.status else { return Err(self.garbage("it has no status")) };
        let expires = match status.expiration_timestamp {
            Some(time) => Some(
                DateTime::parse_from_rfc3339(&time)
                    .map_err(|_| self.garbage("its expirationTimestamp is not a time"))?
                    .to_utc(),
            ),
            None => None,
        };
        let certificate = match (status.client_certificate_data, status.client_key_data) {
            (Some(certificate), Some(key)) => Some((certificate, key.into())),
            (None, None) => None,
            _ => {
                return Err(self.garbage(
                    "it has a certificate without a key, or a key without a certificate",
                ));
            }
        };
        if status.token.is_none() && certificate.is_none() {
            return Err(self.garbage("it has neither a token nor a certificate"));
        }
        Ok(IssuedCredential { token: status.token.map(Into::into), certificate, expires })
    }

    fn garbage(&self, detail: impl std::fmt::Display) -> ExecError {
        ExecError::Garbage { command: self.command.clone(), detail: detail.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use chrono::{TimeDelta, Utc};

    use super::*;

    #[test]
    fn short_lives_are_lived_to_their_half() {
        let now = Utc::now();
        let in_seconds = |seconds| now + TimeDelta::seconds(seconds);
        assert_eq!(renew_at(now, in_seconds(900)), in_seconds(840));
        assert_eq!(renew_at(now, in_seconds(60)), in_seconds(30));
        assert_eq!(renew_at(now, in_seconds(-5)), in_seconds(-5));
    }
}

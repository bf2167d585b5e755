//! kubectl's connection flags, and the kubeconfig with them applied: cluster, user and namespace,
//! selected as kubectl does; and why no connection could be prepared.

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use kube::config::{AuthInfo, Cluster, Kubeconfig, KubeconfigError};
use secrecy::SecretString;

use super::credential::ExecError;
use crate::platform::kubeconfig_home;

/// kubectl's connection flags.
#[derive(Debug, Clone, Default)]
pub struct ConnectionOptions {
    /// `--kubeconfig`: the only file to read.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`
    pub context: Option<String>,
    /// `--cluster`
    pub cluster: Option<String>,
    /// `--user`
    pub user: Option<String>,
    /// `-n`: instead of the context's namespace.
    pub namespace: Option<String>,
    /// `--as`
    pub as_user: Option<String>,
    /// `--as-group`, repeatable.
    pub as_groups: Vec<String>,
    /// `--as-uid`
    pub as_uid: Option<String>,
    /// `--server`
    pub server: Option<String>,
    /// `--token`: instead of every other credential of the user.
    pub token: Option<SecretString>,
    /// `--certificate-authority`
    pub certificate_authority: Option<PathBuf>,
    /// `--client-certificate`
    pub client_certificate: Option<PathBuf>,
    /// `--client-key`
    pub client_key: Option<PathBuf>,
    /// `--insecure-skip-tls-verify`
    pub insecure_skip_tls_verify: bool,
    /// `--tls-server-name`
    pub tls_server_name: Option<String>,
    /// `--disable-compression`
    pub disable_compression: bool,
    /// `--request-timeout`
    pub request_timeout: RequestTimeout,
}

/// Value of `--request-timeout` as kubectl reads it: `0` for none, a number of seconds, or a duration such as `1m30s`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestTimeout(pub Option<Duration>);

impl FromStr for RequestTimeout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is not a duration: use a number of seconds, or one such as 1m30s; 0 is none"
            )
        };
        let total = match text.parse::<u64>() {
            Ok(seconds) => Duration::from_secs(seconds),
            Err(_) => go_duration(text).ok_or_else(wrong)?,
        };
        Ok(Self((!total.is_zero()).then_some(total)))
    }
}

/// Parses a duration as Go's `time.ParseDuration` does, without a sign.
fn go_duration(mut text: &str) -> Option<Duration> {
    let mut total = None;
    while !text.is_empty() {
        let number = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (value, rest) = text.split_at(number);
        let unit = rest.find(|letter: char| letter.is_ascii_digit()).unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(unit);
        let scale = match unit {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(value.parse::<f64>().ok()? * scale).ok()?;
        total = Some(total.unwrap_or(Duration::ZERO).checked_add(part)?);
        text = rest;
    }
    total
}

/// The cluster, user and namespace that the kubeconfig and the flags select.
#[derive(Debug, Clone, Default)]
pub(super) struct SelectedContext {
    /// The name of the context, where one was chosen.
    pub(super) context: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) cluster_name: String,
    pub(super) cluster: Cluster,
    pub(super) user_name: String,
    pub(super) user: AuthInfo,
}

/// Reads the kubeconfigs and applies the flags. With the inner error there is no kubeconfig: a pod
/// can still connect as its service account.
///
/// `env` is `$KUBECONFIG`, `home` the user's home folder.
pub(super) fn select_context(
    options: &ConnectionOptions,
    env: Option<&std::ffi::OsStr>,
    home: Option<&Path>,
) -> Result<Result<SelectedContext, ConnectError>, ConnectError> {
    let (merged, read, looked_for) = read_all(options.kubeconfig.as_deref(), env, home)?;
    let nothing =
        merged.contexts.is_empty() && merged.clusters.is_empty() && merged.auth_infos.is_empty();
    if nothing && options.server.is_none() {
        let error = if read.is_empty() {
            ConnectError::NoKubeconfig { looked_for }
        } else {
            ConnectError::Empty { paths: read }
        };
        // The service account of a pod does not replace a file that a flag names.
        return if options.kubeconfig.is_some() { Err(error) } else { Ok(Err(error)) };
    }
    let mut chosen = pick(options, merged)?;
    override_cluster(options, &mut chosen.cluster)?;
    override_user(options, &mut chosen.user)?;
    Ok(Ok(chosen))
}

/// Returns the names of all contexts of the kubeconfig, sorted.
///
/// # Errors
/// When there is no kubeconfig, or it cannot be read.
pub fn context_names(options: &ConnectionOptions) -> Result<Vec<String>, ConnectError> {
    let (env, home) = (std::env::var_os("KUBECONFIG"), kubeconfig_home());
    let read = read_all(options.kubeconfig.as_deref(), env.as_deref(), home.as_deref())?;
    let (merged, read, looked_for) = read;
    if read.is_empty() {
        return Err(ConnectError::NoKubeconfig { looked_for });
    }
    let mut names: Vec<String> = merged.contexts.into_iter().map(|it| it.name).collect();
    names.sort();
    Ok(names)
}

/// The context that is used where none is named; `None` without a kubeconfig, or where it says none.
pub fn current_context(options: &ConnectionOptions) -> Option<String> {
    let (env, home) = (std::env::var_os("KUBECONFIG"), kubeconfig_home());
    let read = read_all(options.kubeconfig.as_deref(), env.as_deref(), home.as_deref()).ok()?;
    read.0.current_context.filter(|it| !it.is_empty())
}

/// The merged kubeconfig, the files that were read, and the paths that were tried.
type MergedKubeconfig = (Kubeconfig, Vec<PathBuf>, Vec<PathBuf>);

fn read_all(
    flag: Option<&Path>,
    env: Option<&std::ffi::OsStr>,
    home: Option<&Path>,
) -> Result<MergedKubeconfig, ConnectError> {
    let from_env: Vec<PathBuf> =
        env.map(|list| std::env::split_paths(list).collect()).unwrap_or_default();
    let from_env: Vec<PathBuf> =
        from_env.into_iter().filter(|path| !path.as_os_str().is_empty()).collect();
    let looked_for = match (flag, from_env.is_empty()) {
        (Some(path), _) => vec![path.to_owned()],
        (None, false) => from_env,
        (None, true) => home.map(|home| home.join(".kube").join("config")).into_iter().collect(),
    };
    let mut merged = Kubeconfig::default();
    let mut read = Vec::new();
    for path in &looked_for {
        // As in kubectl, files of `$KUBECONFIG` need not exist; that of a flag must.
        if let Some(next) = read_one(path, flag.is_some())? {
            merged = merged.merge(next).map_err(|error| not_yaml(path, &error))?;
            read.push(path.clone());
        }
    }
    Ok((merged, read, looked_for))
}

fn read_one(path: &Path, required: bool) -> Result<Option<Kubeconfig>, ConnectError> {
    match Kubeconfig::read_from(path) {
        Ok(read) => Ok(Some(read)),
        Err(KubeconfigError::ReadConfig(error, _))
            if error.kind() == std::io::ErrorKind::NotFound && !required =>
        {
            Ok(None)
        }
        Err(KubeconfigError::ReadConfig(source, path)) => Err(ConnectError::Read { path, source }),
        Err(error) => Err(not_yaml(path, &error)),
    }
}

/// Returns the error for a file that is not a kubeconfig. The parser's own message quotes the lines
/// around the fault, which may hold a token: only the line number is reported.
fn not_yaml(path: &Path, error: &KubeconfigError) -> ConnectError {
    let (line, detail) = match error {
        KubeconfigError::Parse(error) => (
            error.location().map(|location| location.line()),
            "this is not YAML, or not of the right shape".to_owned(),
        ),
        error => (None, error.to_string()),
    };
    ConnectError::NotYaml { path: path.to_owned(), line, detail }
}

fn pick(options: &ConnectionOptions, merged: Kubeconfig) -> Result<SelectedContext, ConnectError> {
    let contexts: Vec<String> = merged.contexts.iter().map(|named| named.name.clone()).collect();
    let name = options.context.clone().or(merged.current_context).filter(|name| !name.is_empty());
    let context = match &name {
        Some(name) => match merged.contexts.into_iter().find(|named| named.name == *name) {
            Some(named) => named.context.unwrap_or_default(),
            None => {
                return Err(ConnectError::Unknown {
                    kind: "context",
                    name: name.clone(),
                    known: contexts,
                });
            }
        },
        // Without a context, flags that name a cluster or a server are enough.
        None if options.cluster.is_some() || options.server.is_some() => {
            kube::config::Context::default()
        }
        None => return Err(ConnectError::NoContext { known: contexts }),
    };
    let cluster_name = options.cluster.clone().unwrap_or(context.cluster);
    let clusters: Vec<String> = merged.clusters.iter().map(|named| named.name.clone()).collect();
    let cluster = match merged.clusters.into_iter().find(|named| named.name == cluster_name) {
        Some(named) => named.cluster.unwrap_or_default(),
        None if cluster_name.is_empty() && options.server.is_some() => Cluster::default(),
        None => {
            return Err(ConnectError::Unknown {
                kind: "cluster",
                name: cluster_name,
                known: clusters,
            });
        }
    };
    let user_name = options.user.clone().or(context.user).unwrap_or_default();
    let users: Vec<String> = merged.auth_infos.iter().map(|named| named.name.clone()).collect();
    let user = match merged.auth_infos.into_iter().find(|named| named.name == user_name) {
        Some(named) => named.auth_info.unwrap_or_default(),
        None if user_name.is_empty() => AuthInfo::default(),
        None => return Err(ConnectError::Unknown { kind: "user", name: user_name, known: users }),
    };
    let namespace = context.namespace.filter(|namespace| !namespace.is_empty());
    Ok(SelectedContext { context: name, namespace, cluster_name, cluster, user_name, user })
}

/// Applies the flags about the server.
pub(super) fn override_cluster(
    options: &ConnectionOptions,
    cluster: &mut Cluster,
) -> Result<(), ConnectError> {
    if options.insecure_skip_tls_verify && options.certificate_authority.is_some() {
        return Err(ConnectError::AuthorityAndInsecure);
    }
    if options.insecure_skip_tls_verify || options.certificate_authority.is_some() {
        cluster.certificate_authority_data = None;
        cluster.certificate_authority = options.certificate_authority.as_deref().map(text);
        cluster.insecure_skip_tls_verify = Some(options.insecure_skip_tls_verify);
    }
    // The server name in the kubeconfig is that of the server in the kubeconfig.
    if options.server.is_some() || options.tls_server_name.is_some() {
        cluster.tls_server_name.clone_from(&options.tls_server_name);
    }
    if let Some(server) = &options.server {
        // For a host without a scheme kubectl takes http or https, depending on other flags. https
        // never sends credentials unencrypted.
        let full =
            if server.contains("://") { server.clone() } else { format!("https://{server}") };
        cluster.server = Some(full);
    }
    if options.disable_compression {
        cluster.disable_compression = Some(true);
    }
    Ok(())
}

/// Applies the flags about the user.
pub(super) fn override_user(
    options: &ConnectionOptions,
    user: &mut AuthInfo,
) -> Result<(), ConnectError> {
    if let Some(token) = &options.token {
        // An API server prefers a certificate to a token, so a certificate would override the flag.
        *user = AuthInfo {
            token: Some(token.clone()),
            impersonate: user.impersonate.take(),
            impersonate_uid: user.impersonate_uid.take(),
            impersonate_groups: user.impersonate_groups.take(),
            impersonate_user_extra: user.impersonate_user_extra.take(),
            ..AuthInfo::default()
        };
    }
    if let Some(certificate) = &options.client_certificate {
        user.client_certificate_data = None;
        user.client_certificate = Some(text(certificate));
    }
    if let Some(key) = &options.client_key {
        user.client_key_data = None;
        user.client_key = Some(text(key));
    }
    if let Some(name) = &options.as_user {
        user.impersonate = Some(name.clone());
        user.impersonate_user_extra = None;
    }
    if !options.as_groups.is_empty() {
        user.impersonate_groups = Some(options.as_groups.clone());
    }
    if let Some(uid) = &options.as_uid {
        user.impersonate_uid = Some(uid.clone());
    }
    let for_nobody = user.impersonate.as_deref().unwrap_or_default().is_empty();
    if for_nobody && (user.impersonate_groups.is_some() || user.impersonate_uid.is_some()) {
        return Err(ConnectError::ImpersonatesNobody);
    }
    Ok(())
}

fn text(path: impl AsRef<Path>) -> String {
    path.as_ref().to_string_lossy().into_owned()
}

/// Reason for which no connection could be prepared. No request was sent.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// There is no kubeconfig, and this process does not run in a pod.
    #[error("no kubeconfig found: looked for {}", listed(looked_for))]
    NoKubeconfig {
        /// The paths that were tried.
        looked_for: Vec<PathBuf>,
    },
    /// A kubeconfig cannot be read.
    #[error("the kubeconfig {} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A kubeconfig is not YAML, or has other fields than a kubeconfig.
    #[error("{}{}: not a kubeconfig: {detail}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
    NotYaml {
        /// The file.
        path: PathBuf,
        /// The line of the fault.
        line: Option<u64>,
        /// The fault, without quoting the file: it holds credentials.
        detail: String,
    },
    /// The kubeconfigs have no contexts, clusters and users.
    #[error("the kubeconfig {} is empty", listed(paths))]
    Empty {
        /// The files.
        paths: Vec<PathBuf>,
    },
    /// No context is set, neither in the kubeconfig nor by a flag.
    #[error("no current context is set")]
    NoContext {
        /// The names that the kubeconfig has.
        known: Vec<String>,
    },
    /// A name that is not in the kubeconfig.
    #[error("no {kind} named {name:?} in the kubeconfig")]
    Unknown {
        /// Kind of the name: `context`, `cluster` or `user`.
        kind: &'static str,
        /// The name.
        name: String,
        /// The names that the kubeconfig has.
        known: Vec<String>,
    },
    /// The kubeconfig's cluster has no server URL.
    #[error("the cluster {cluster:?} has no server URL")]
    NoServer {
        /// The name of the cluster.
        cluster: String,
    },
    /// The text is not a URL.
    #[error("the {what} {url:?} is not a URL: {detail}")]
    Url {
        /// Meaning of the text: `server` or `proxy`.
        what: &'static str,
        /// The text.
        url: String,
        /// The fault.
        detail: String,
    },
    /// A certificate or key file cannot be read.
    #[error("the {what} {path} cannot be read")]
    File {
        /// Name of the file in messages, such as `client certificate`.
        what: &'static str,
        /// The file.
        path: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The data is not a certificate or key in PEM.
    #[error("the {what} contains no usable PEM data")]
    Pem {
        /// Name of the data in messages, such as `client certificate`.
        what: &'static str,
    },
    /// The client certificate has expired.
    #[error("the client certificate of user {user:?} expired on {when}, by this machine's clock")]
    CertificateExpired {
        /// The kubeconfig's user.
        user: String,
        /// The time of expiry.
        when: String,
    },
    /// A certificate authority was given together with `--insecure-skip-tls-verify`.
    #[error("a certificate authority and --insecure-skip-tls-verify exclude each other")]
    AuthorityAndInsecure,
    /// Groups or a uid to impersonate were given without a user.
    #[error("--as-group and --as-uid need --as")]
    ImpersonatesNobody,
    /// The value cannot be sent in a header.
    #[error("{what} contains characters that cannot be sent")]
    Header {
        /// Name of the value in messages, such as `the user agent`.
        what: &'static str,
    },
    /// The user logs in through an `auth-provider`, which Kubernetes has removed.
    #[error(
        "user {user:?} logs in through the auth-provider {provider:?}, which is no longer supported"
    )]
    AuthProvider {
        /// The kubeconfig's user.
        user: String,
        /// The provider.
        provider: String,
    },
    /// The credential plugin printed no credential.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// The pod's service account cannot be used.
    #[error("the service account of this pod cannot be used: {0}")]
    InCluster(#[source] Arc<kube::config::InClusterError>),
    /// TLS or the proxy could not be set up.
    #[error("the connection to {server} cannot be set up: {source}")]
    Setup {
        /// The server's URL.
        server: String,
        /// The error of kube.
        source: Box<kube::Error>,
    },
}

impl ConnectError {
    /// Returns advice for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoKubeconfig { .. } | Self::Empty { .. } => {
                Some("pass one with --kubeconfig or $KUBECONFIG, or create one with your \
                      provider's tool".to_owned())
            }
            Self::NoContext { known } => {
                Some(format!("select one with --context or `kubectl config use-context`; \
                              {}", known_names("context", known)))
            }
            Self::Unknown { kind, known, .. } => Some(known_names(kind, known)),
            Self::CertificateExpired { .. } => Some("renew the kubeconfig, or check this machine's clock".to_owned()),
            Self::AuthProvider { provider, .. } => Some(match provider.as_str() {
                "gcp" => "install gke-gcloud-auth-plugin and run `gcloud container clusters get-credentials` again".to_owned(),
                "azure" => "run `kubelogin convert-kubeconfig`; see https://github.com/Azure/kubelogin".to_owned(),
                _ => "use an exec credential plugin instead, such as https://github.com/int128/kubelogin".to_owned(),
            }),
            Self::Exec(error) => error.hint(),
            Self::NoServer { .. } => Some("pass one with --server".to_owned()),
            Self::NotYaml { .. }
            | Self::Read { .. }
            | Self::Url { .. }
            | Self::File { .. }
            | Self::Pem { .. }
            | Self::AuthorityAndInsecure
            | Self::ImpersonatesNobody
            | Self::Header { .. }
            | Self::InCluster(_)
            | Self::Setup { .. } => None,
        }
    }
}

fn known_names(kind: &str, known: &[String]) -> String {
    if known.is_empty() {
        format!("the kubeconfig has no {kind}")
    } else {
        format!("known: {}", known.join(", "))
    }
}

fn listed(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    if paths.is_empty() { "nothing".to_owned() } else { paths.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_timeouts_are_kubectls() {
        for (text, seconds) in [
            ("0", None),
            ("0s", None),
            ("5", Some(5.0)),
            ("1m30s", Some(90.0)),
            ("1.5h", Some(5400.0)),
            ("500ms", Some(0.5)),
        ] {
            let parsed: Result<RequestTimeout, _> = text.parse();
            assert_eq!(
                parsed.map(|timeout| timeout.0.map(|time| time.as_secs_f64())),
                Ok(seconds),
                "{text}"
            );
        }
        for text in ["", "s", "-5", "1d", "1 m", "5.s.", "1m30"] {
            assert!(text.parse::<RequestTimeout>().is_err(), "{text}");
        }
    }
}

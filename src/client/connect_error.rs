//! `ConnectError`: why no connection could be prepared, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::credential_plugin::ExecError;

/// Why no connection could be prepared. No request was sent.
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
        /// `context`, `cluster` or `user`.
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
        /// `server` or `proxy`.
        what: &'static str,
        /// The text.
        url: String,
        /// The fault.
        detail: String,
    },
    /// A certificate or key file cannot be read.
    #[error("the {what} {path} cannot be read")]
    File {
        /// Such as `client certificate`.
        what: &'static str,
        /// The file.
        path: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The data is not a certificate or key in PEM.
    #[error("the {what} contains no usable PEM data")]
    Pem {
        /// Such as `client certificate`.
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
        /// Such as `the user agent`.
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
    /// Returns what the user can do about it.
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

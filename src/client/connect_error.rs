//! Why there is no connection, in one clear line and a hint.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::credential_plugin::ExecError;

/// Why no connection could be prepared. Nothing was sent yet.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// There is no kubeconfig, and this is no pod.
    #[error("no kubeconfig found: looked for {}", listed(looked_for))]
    NoKubeconfig {
        /// Where it was looked for.
        looked_for: Vec<PathBuf>,
    },
    /// A kubeconfig cannot be read.
    #[error("the kubeconfig {} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A kubeconfig is not what it should be.
    #[error("{}{}: not a kubeconfig: {detail}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
    NotYaml {
        /// The file.
        path: PathBuf,
        /// Where in it.
        line: Option<u64>,
        /// What is wrong, without quoting the file: it holds credentials.
        detail: String,
    },
    /// There are kubeconfigs, but nothing in them.
    #[error("the kubeconfig {} is empty", listed(paths))]
    Empty {
        /// The files.
        paths: Vec<PathBuf>,
    },
    /// Nothing says which cluster is meant.
    #[error("no current context is set")]
    NoContext {
        /// Those that exist.
        known: Vec<String>,
    },
    /// A name that the kubeconfig does not know.
    #[error("no {kind} named {name:?} in the kubeconfig")]
    Unknown {
        /// `context`, `cluster` or `user`.
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// Those that exist.
        known: Vec<String>,
    },
    /// The cluster has no server.
    #[error("the cluster {cluster:?} has no server URL")]
    NoServer {
        /// The kubeconfig's cluster.
        cluster: String,
    },
    /// A URL that is none.
    #[error("the {what} {url:?} is not a URL: {detail}")]
    Url {
        /// `server` or `proxy`.
        what: &'static str,
        /// What was given.
        url: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A certificate or key file cannot be read.
    #[error("the {what} {path} cannot be read")]
    File {
        /// Which of them.
        what: &'static str,
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// Certificate or key data that is none.
    #[error("the {what} holds no usable PEM data")]
    Pem {
        /// Which of them.
        what: &'static str,
    },
    /// The client certificate is over.
    #[error("the client certificate of user {user:?} expired on {when}, by this machine's clock")]
    CertificateExpired {
        /// The kubeconfig's user.
        user: String,
        /// When.
        when: String,
    },
    /// A certificate authority for a server that is not to be verified.
    #[error("a certificate authority and --insecure-skip-tls-verify exclude each other")]
    AuthorityAndInsecure,
    /// Groups or a uid for nobody.
    #[error("--as-group and --as-uid need --as")]
    ImpersonatesNobody,
    /// A header value that cannot be sent.
    #[error("{what} holds characters that cannot be sent")]
    Header {
        /// Which value.
        what: &'static str,
    },
    /// A legacy way to log in.
    #[error(
        "user {user:?} logs in through the auth-provider {provider:?}, which is no longer supported"
    )]
    AuthProvider {
        /// The kubeconfig's user.
        user: String,
        /// The provider.
        provider: String,
    },
    /// The credential plugin gave none.
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
        /// What kube said.
        source: Box<kube::Error>,
    },
}

impl ConnectError {
    /// What to do next, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoKubeconfig { .. } | Self::Empty { .. } => {
                Some("give one with --kubeconfig or $KUBECONFIG, or make one with your provider's tool".to_owned())
            }
            Self::NoContext { known } => {
                Some(format!("select_context one with --context or `kubectl config use-context`; {}", known_names("context", known)))
            }
            Self::Unknown { kind, known, .. } => Some(known_names(kind, known)),
            Self::CertificateExpired { .. } => Some("renew the kubeconfig, or check this machine's clock".to_owned()),
            Self::AuthProvider { provider, .. } => Some(match provider.as_str() {
                "gcp" => "install gke-gcloud-auth-plugin and run `gcloud container clusters get-credentials` again".to_owned(),
                "azure" => "run `kubelogin convert-kubeconfig`; see https://github.com/Azure/kubelogin".to_owned(),
                _ => "use an exec credential plugin instead, such as https://github.com/int128/kubelogin".to_owned(),
            }),
            Self::Exec(error) => error.hint(),
            Self::NoServer { .. } => Some("give one with --server".to_owned()),
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

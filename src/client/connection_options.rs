//! `ConnectionOptions`: kubectl's connection flags.

use std::path::PathBuf;

use secrecy::SecretString;

use super::request_timeout::RequestTimeout;

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

//! Function `connect`, which prepares a client from the kubeconfig and kubectl's connection flags.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use http::header::{AUTHORIZATION, USER_AGENT};
use http::{HeaderValue, Uri};
use k8s_openapi::ByteString;
use kube::client::ClientBuilder;
use kube::config::{AuthInfo, Cluster, ExecAuthCluster};
use kube::{Client, Config};
use secrecy::ExposeSecret;
use tower::buffer::BufferLayer;

use super::certificate;
use super::credential::{AuthorizeLayer, Credential, CredentialPlugin, ExecError, bearer};
use super::kubeconfig::{
    ConnectError, ConnectionOptions, SelectedContext, override_cluster, override_user,
    select_context,
};
use super::proxy_environment::ProxyEnv;
use crate::platform::kubeconfig_home;

/// A connection to one API server.
#[derive(Clone)]
pub struct Connection {
    /// The client that readers and writers are built on.
    pub client: Client,
    /// The server's URL.
    pub server: String,
    /// The context of the kubeconfig; `None` for a service account, or where flags name a cluster.
    pub context: Option<String>,
    /// The namespace of objects that are named without one.
    pub namespace: String,
    /// The certificates (DER) of the configured certificate authority; empty if none is configured.
    pub authority: Vec<Vec<u8>>,
    /// Whether the server's address belongs to this machine: it runs here, or is reached through a
    /// tunnel that begins here.
    pub here: bool,
    /// `--request-timeout`
    pub request_timeout: Option<Duration>,
}

/// Prepares a connection. No request is sent, except by a credential plugin.
///
/// The plugin may ask the user on the terminal: call this before anything is drawn there.
///
/// # Errors
///
/// [`ConnectError`]
pub async fn connect(
    options: &ConnectionOptions,
    user_agent: &str,
) -> Result<Connection, ConnectError> {
    let env = std::env::var_os("KUBECONFIG");
    let home = kubeconfig_home();
    let setup = match select_context(options, env.as_deref(), home.as_deref())? {
        Ok(chosen) => ClientSetup::of_kubeconfig(options, chosen).await?,
        Err(missing) => ClientSetup::of_service_account(options, missing)?,
    };
    setup.connect(options, user_agent)
}

/// The parts of a client that is about to be built.
struct ClientSetup {
    context: Option<String>,
    config: Config,
    credential: Option<Credential>,
}

impl ClientSetup {
    /// Prepares a client from a kubeconfig.
    async fn of_kubeconfig(
        options: &ConnectionOptions,
        chosen: SelectedContext,
    ) -> Result<Self, ConnectError> {
        let SelectedContext { context, namespace, cluster_name, cluster, user_name, mut user } =
            chosen;
        // The context is not where requests go, where flags name another place.
        let context = context.filter(|_| options.cluster.is_none() && options.server.is_none());
        let server = cluster.server.clone().filter(|server| !server.is_empty());
        let server =
            url("server", &server.ok_or(ConnectError::NoServer { cluster: cluster_name })?)?;
        let mut config = Config::new(server.clone());
        if let Some(namespace) = namespace {
            config.default_namespace = namespace;
        }
        config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
        config.disable_compression = cluster.disable_compression.unwrap_or(false);
        config.tls_server_name = cluster.tls_server_name.clone().filter(|name| !name.is_empty());
        config.root_cert = authority(&cluster)?;
        config.proxy_url = match cluster.proxy_url.as_deref().filter(|proxy| !proxy.is_empty()) {
            Some(proxy) => Some(url("proxy", proxy)?),
            None => {
                ProxyEnv::read().proxy_for(&server).map(|proxy| url("proxy", proxy)).transpose()?
            }
        };
        // As in kubectl, no credential is sent unencrypted, except to this machine (`kubectl
        // proxy`, tests).
        if server.scheme_str() != Some("https") && !is_local(&server) {
            keep_impersonation_only(&mut user);
        }
        let credential =
            authenticate(&mut user, &user_name, &cluster, options.request_timeout.0).await?;
        config.auth_info = user;
        Ok(Self { context, config, credential })
    }

    /// Prepares the client of a pod's service account; `missing` is the error outside of a pod.
    fn of_service_account(
        options: &ConnectionOptions,
        missing: ConnectError,
    ) -> Result<Self, ConnectError> {
        if std::env::var_os("KUBERNETES_SERVICE_HOST").is_none() {
            return Err(missing);
        }
        let mut config =
            Config::incluster().map_err(|error| ConnectError::InCluster(Arc::new(error)))?;
        for (kind, name) in
            [("context", &options.context), ("cluster", &options.cluster), ("user", &options.user)]
        {
            if let Some(name) = name {
                return Err(ConnectError::Unknown { kind, name: name.clone(), known: Vec::new() });
            }
        }
        let mut cluster = Cluster::default();
        override_cluster(options, &mut cluster)?;
        override_user(options, &mut config.auth_info)?;
        if let Some(root) = authority(&cluster)? {
            config.root_cert = Some(root);
            config.root_cert_file = None;
        }
        config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
        config.disable_compression = options.disable_compression;
        config.tls_server_name = cluster.tls_server_name;
        let credential = token_file(&mut config.auth_info)?;
        Ok(Self { context: None, config, credential })
    }

    fn connect(
        self,
        options: &ConnectionOptions,
        user_agent: &str,
    ) -> Result<Connection, ConnectError> {
        let Self { context, mut config, credential } = self;
        // kube would panic on a token with a line end.
        if let Some(token) = config.auth_info.token.take() {
            config.headers.push((AUTHORIZATION, bearer(&token)?));
        }
        let agent = HeaderValue::from_str(user_agent)
            .map_err(|_| ConnectError::Header { what: "the user agent" })?;
        config.headers.push((USER_AGENT, agent));
        // Reader and Writer retry and time out by themselves: kube would repeat writes for minutes.
        config.default_retry = false;
        config.read_timeout = None;
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let authority = config.root_cert.clone().unwrap_or_default();
        let here = config.proxy_url.is_none() && is_local(&config.cluster_url);
        let namespace =
            options.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let setup =
            |source| ConnectError::Setup { server: server.clone(), source: Box::new(source) };
        let builder = ClientBuilder::try_from(config).map_err(setup)?;
        let client = match credential {
            // The buffer makes the layers below it clonable, which `AuthorizeLayer` requires.
            Some(credential) => builder
                .with_layer(&BufferLayer::new(1024))
                .with_layer(&AuthorizeLayer(Arc::new(credential)))
                .build(),
            None => builder.build(),
        };
        let request_timeout = options.request_timeout.0;
        Ok(Connection { client, server, context, namespace, authority, here, request_timeout })
    }
}

/// Runs credential plugins, reads token files and checks the expiry of certificates, and removes
/// from `user` what kube would do less well.
async fn authenticate(
    user: &mut AuthInfo,
    name: &str,
    cluster: &Cluster,
    wait: Option<Duration>,
) -> Result<Option<Credential>, ConnectError> {
    if let Some(provider) = user.auth_provider.as_ref().filter(|provider| provider.name != "oidc") {
        return Err(ConnectError::AuthProvider {
            user: name.to_owned(),
            provider: provider.name.clone(),
        });
    }
    let has_token = user.token.is_some() || user.token_file.is_some() || user.username.is_some();
    let mut credential = None;
    if let Some(exec) = user.exec.take().filter(|_| !has_token) {
        let info = if exec.provide_cluster_info { Some(cluster_info(cluster)?) } else { None };
        let plugin = CredentialPlugin::parse(exec, name, info, wait)?;
        let issued = plugin.run().await?;
        if let Some((certificate, key)) = &issued.certificate {
            user.client_certificate_data = Some(base64(certificate.as_bytes())?);
            user.client_key_data = Some(base64(key.expose_secret().as_bytes())?.into());
        }
        credential = Credential::issued(plugin, &issued)?;
    }
    if let Some(from_file) = token_file(user)? {
        credential = Some(from_file);
    }
    let data = user.client_certificate_data.as_deref();
    let pem = load("client certificate", data, user.client_certificate.as_deref())?;
    let end = pem.and_then(|pem| certificate::expires(&pem));
    if let Some(end) = end.filter(|end| *end < Utc::now()) {
        let when = end.format("%Y-%m-%d %H:%M UTC").to_string();
        return Err(ConnectError::CertificateExpired { user: name.to_owned(), when });
    }
    load(
        "client key",
        user.client_key_data.as_ref().map(ExposeSecret::expose_secret),
        user.client_key.as_deref(),
    )?;
    Ok(credential)
}

/// Removes the token file from `user` and reads it: kube would send its line end too. As in
/// client-go, the file takes precedence over an inline token.
fn token_file(user: &mut AuthInfo) -> Result<Option<Credential>, ExecError> {
    let Some(path) = user.token_file.take().filter(|path| !path.is_empty()) else {
        return Ok(None);
    };
    match (Credential::file(PathBuf::from(path)), &user.token) {
        (Ok(credential), _) => {
            user.token = None;
            Ok(Some(credential))
        }
        (Err(_), Some(_)) => Ok(None),
        (Err(error), None) => Err(error),
    }
}

fn keep_impersonation_only(user: &mut AuthInfo) {
    *user = AuthInfo {
        impersonate: user.impersonate.take(),
        impersonate_uid: user.impersonate_uid.take(),
        impersonate_groups: user.impersonate_groups.take(),
        impersonate_user_extra: user.impersonate_user_extra.take(),
        ..AuthInfo::default()
    };
}

/// Returns what a plugin is told about the cluster.
fn cluster_info(cluster: &Cluster) -> Result<ExecAuthCluster, ConnectError> {
    ExecAuthCluster::try_from(cluster)
        .map_err(|_| ConnectError::Pem { what: "certificate authority" })
}

/// Returns the certificates of the cluster's certificate authority.
fn authority(cluster: &Cluster) -> Result<Option<Vec<Vec<u8>>>, ConnectError> {
    const WHAT: &str = "certificate authority";
    let data = cluster.certificate_authority_data.as_deref();
    let Some(pem) = load(WHAT, data, cluster.certificate_authority.as_deref())? else {
        return Ok(None);
    };
    certificate::bundle(&pem).map(Some).ok_or(ConnectError::Pem { what: WHAT })
}

/// Returns inline data, or else the contents of a file. Empty strings count as absent.
fn load(
    what: &'static str,
    data: Option<&str>,
    path: Option<&str>,
) -> Result<Option<Vec<u8>>, ConnectError> {
    if let Some(data) = data.filter(|data| !data.is_empty()) {
        let decoded: Result<ByteString, _> = serde_json::from_value(data.into());
        return decoded.map(|bytes| Some(bytes.0)).map_err(|_| ConnectError::Pem { what });
    }
    let Some(path) = path.filter(|path| !path.is_empty()) else { return Ok(None) };
    let read = std::fs::read(Path::new(path));
    read.map(Some).map_err(|source| ConnectError::File { what, path: path.to_owned(), source })
}

/// Returns PEM data in base64, as kube requires it. `ByteString` is the base64 of a crate that is
/// used anyway.
fn base64(pem: &[u8]) -> Result<String, ConnectError> {
    match serde_json::to_value(ByteString(pem.to_vec())) {
        Ok(serde_json::Value::String(text)) => Ok(text),
        _ => Err(ConnectError::Pem { what: "client certificate" }),
    }
}

fn url(what: &'static str, text: &str) -> Result<Uri, ConnectError> {
    let wrong = |detail: String| ConnectError::Url { what, url: text.to_owned(), detail };
    let uri: Uri = text.parse().map_err(|error: http::uri::InvalidUri| wrong(error.to_string()))?;
    if uri.scheme().is_none() || uri.host().is_none() {
        return Err(wrong("it has no scheme or no host".to_owned()));
    }
    Ok(uri)
}

/// Whether the server's address belongs to this machine.
fn is_local(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

//! The kubeconfig with the flags applied: cluster, user and namespace, selected as kubectl does.

use std::path::{Path, PathBuf};

use kube::config::{AuthInfo, Cluster, Kubeconfig, KubeconfigError};

use super::connect_error::ConnectError;
use super::connection_options::ConnectionOptions;

/// The cluster, user and namespace that the kubeconfig and the flags select.
#[derive(Debug, Clone, Default)]
pub(super) struct SelectedContext {
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
    Ok(SelectedContext { namespace, cluster_name, cluster, user_name, user })
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

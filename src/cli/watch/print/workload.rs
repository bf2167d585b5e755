//! The Deployment: pods of the restricted standard, spread over nodes, with the Secrets that a policy names.

use std::path::Path;

use serde_json::{Value, json};

use super::{Installation, NAME, POLICY_FILE, POLICY_NAME};
use crate::{
    cli::name::VARIABLE,
    model::{PROGRAM, program},
    watch::policy::report::ReportPolicy,
};

/// Returns the specification of the Deployment.
pub(super) fn spec(of: &Installation) -> Value {
    let labels = of.part().labels();
    let spread = json!({
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    });
    let policy = json!({"name": "policy", "configMap": {"name": POLICY_NAME}});
    let secrets = of.secrets.iter().map(MountedSecret::volume);
    let volumes: Vec<_> = [policy, state_volume()].into_iter().chain(secrets).collect();
    let mut pod = pod(NAME);
    pod["terminationGracePeriodSeconds"] = json!(30);
    pod["topologySpreadConstraints"] = json!([spread]);
    pod["containers"] = json!([watching(of)]);
    pod["volumes"] = json!(volumes);
    json!({
        "replicas": of.replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    })
}

/// Returns a pod of the restricted standard, without its containers.
pub(super) fn pod(account: &str) -> Value {
    // No runAsUser: the image says it, and some clusters give each namespace users of its own.
    json!({
        "serviceAccountName": account,
        "automountServiceAccountToken": true,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
    })
}

/// Folder for state that ends with the pod: since when controllers are absent. The journal of reconcilers is in the
/// cluster.
pub(super) const STATE_FOLDER: &str = "/var/lib/kubectl-storage";

/// Returns the volume of that folder.
pub(super) fn state_volume() -> Value {
    json!({"name": "state", "emptyDir": {"sizeLimit": "64Mi"}})
}

/// Returns a container of the restricted standard, which runs a command of this program.
pub(super) fn container(image: &str, command: &str, args: &Value) -> Value {
    let mut env = vec![json!({"name": "XDG_STATE_HOME", "value": STATE_FOLDER})];
    if program() != PROGRAM {
        // The file in the image has another name than that which people type.
        env.push(json!({"name": VARIABLE, "value": program()}));
    }
    json!({
        "name": command,
        "image": image,
        "command": ["/kubectl-storage", command],
        "args": args,
        "env": env,
        "resources": {
            "requests": {"cpu": "50m", "memory": "128Mi"},
            "limits": {"cpu": "1", "memory": "512Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
    })
}

/// Returns the container that watches, which writes into one folder.
fn watching(of: &Installation) -> Value {
    let policy = json!({"name": "policy", "mountPath": POLICY_FOLDER, "readOnly": true});
    let state = json!({"name": "state", "mountPath": STATE_FOLDER});
    let secrets = of.secrets.iter().map(MountedSecret::mount);
    let mounts: Vec<_> = [policy, state].into_iter().chain(secrets).collect();
    let args = json!(["-f", format!("{POLICY_FOLDER}/{POLICY_FILE}"), "--log-format", "json"]);
    let mut container = container(&of.image, "watch", &args);
    container["volumeMounts"] = json!(mounts);
    let ports = [("metrics", of.port), ("probes", of.probes)].into_iter();
    let ports = ports.filter_map(|(name, it)| Some(json!({"name": name, "containerPort": it?})));
    let ports: Vec<_> = ports.collect();
    if !ports.is_empty() {
        // Who reads metrics may be slow, or many: a kubelet asks elsewhere.
        let (port, scheme) = match of.probes {
            Some(_) => ("probes", "HTTP"),
            None => ("metrics", "HTTPS"),
        };
        let probe = |path: &str, period: u32| {
            json!({
                "httpGet": {"path": path, "port": port, "scheme": scheme},
                "periodSeconds": period,
                "timeoutSeconds": 5,
            })
        };
        container["ports"] = json!(ports);
        container["livenessProbe"] = probe("/healthz", 20);
        container["readinessProbe"] = probe("/readyz", 10);
    }
    container
}

/// Folder of the policy file.
pub(super) const POLICY_FOLDER: &str = "/etc/kubectl-storage/policy";

/// Secret that is mounted where the policy expects its files.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MountedSecret {
    /// Name of the Secret.
    pub(super) name: &'static str,
    /// Name of the volume with the Secret.
    pub(super) volume: &'static str,
    /// Folder where the Secret is mounted.
    folder: String,
    /// Keys of the Secret, and the names of their files.
    files: Vec<(&'static str, String)>,
}

impl MountedSecret {
    /// Returns the volume with the Secret, for the pod. Files keep their own names.
    pub(super) fn volume(&self) -> Value {
        let items = self.files.iter().map(|(key, path)| json!({"key": key, "path": path}));
        let items: Vec<_> = items.collect();
        json!({"name": self.volume, "secret": {"secretName": self.name, "items": items}})
    }

    /// Returns the mount of the volume. It is a folder, not a subPath: only then is it kept up to date.
    pub(super) fn mount(&self) -> Value {
        json!({"name": self.volume, "mountPath": self.folder, "readOnly": true})
    }

    /// Returns a note that pods wait for the Secret.
    pub(super) fn needed(&self, namespace: &str) -> String {
        let keys: Vec<_> = self.files.iter().map(|it| it.0).collect();
        let keys = keys.join(" and ");
        let name = self.name;
        format!("pods start once Secret {name} with {keys} exists in namespace {namespace}")
    }
}

/// Returns the Secrets with the files that a policy names.
///
/// # Errors
/// Why a file cannot be mounted.
pub(super) fn secrets(report: &ReportPolicy) -> Result<Vec<MountedSecret>, String> {
    let mut secrets = Vec::new();
    if let Some(webhook) = &report.webhook {
        let (folder, file) = place_in_secret("report.webhook.urlFile", &webhook.url_file)?;
        let files = vec![("url", file)];
        secrets.push(MountedSecret {
            name: "kubectl-storage-webhook",
            volume: "webhook",
            folder,
            files,
        });
    }
    if let Some(tls) = report.metrics.as_ref().and_then(|it| it.tls.as_ref()) {
        let (folder, certificate) = place_in_secret("report.metrics.tls.certFile", &tls.cert_file)?;
        let (of_key, key) = place_in_secret("report.metrics.tls.keyFile", &tls.key_file)?;
        if of_key != folder {
            return Err("report.metrics.tls: certFile and keyFile must be in one folder, where \
                        their Secret is mounted"
                .to_owned());
        }
        let files = vec![("tls.crt", certificate), ("tls.key", key)];
        secrets.push(MountedSecret { name: "kubectl-storage-tls", volume: "tls", folder, files });
    }
    match &secrets[..] {
        [one, other] if one.folder == other.folder => Err(format!(
            "report.webhook.urlFile and report.metrics.tls must be in different folders, not both in {}",
            one.folder
        )),
        _ => Ok(secrets),
    }
}

/// Returns the folder and the name of a file that is to be mounted.
fn place_in_secret(key: &str, file: &Path) -> Result<(String, String), String> {
    let path = file.to_string_lossy();
    let named = path.rsplit_once('/').filter(|(_, name)| !matches!(*name, "" | "." | ".."));
    let (folder, name) = named.unwrap_or_default();
    let is_plain = folder.starts_with('/')
        && !folder.contains(':')
        && folder.split('/').skip(1).all(|it| !matches!(it, "" | "." | ".."));
    let is_ours = folder == POLICY_FOLDER
        || ["/proc", "/sys", "/dev", "/var/run/secrets", "/var/lib/kubectl-storage"].iter().any(
            |it| {
                folder.strip_prefix(it).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            },
        );
    match is_plain && !is_ours {
        true => Ok((folder.to_owned(), name.to_owned())),
        false => Err(format!(
            "{key}: {path:?} cannot be mounted from a Secret; name it by an absolute path in a folder of its own, such as /etc/kubectl-storage/secret/file"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_mounted_where_a_folder_of_their_own_is() {
        let of = |path: &str| place_in_secret("key", Path::new(path));
        assert_eq!(of("/etc/hook/url"), Ok(("/etc/hook".to_owned(), "url".to_owned())));
        for path in [
            "url",
            "a/url",
            "/url",
            "/etc/../url",
            "/etc//url",
            "/etc/a:b/url",
            "/etc/hook/",
            "/etc/hook/..",
            "/etc/kubectl-storage/policy/url",
            "/proc/self/url",
            "/var/run/secrets/kubernetes.io/serviceaccount/url",
        ] {
            assert!(of(path).is_err(), "{path}");
        }
    }

    #[test]
    fn two_secrets_are_not_mounted_in_one_folder() {
        let of = |text: &str| {
            let report: ReportPolicy = serde_yaml::from_str(text).expect(text);
            secrets(&report)
        };
        let tls = "metrics: {address: '0.0.0.0:1', tls: {certFile: /a/c, keyFile: /a/k}}\n";
        assert_eq!(of(tls).map(|it| it.len()), Ok(1));
        assert_eq!(of(&format!("{tls}webhook: {{urlFile: /b/u}}")).map(|it| it.len()), Ok(2));
        assert!(of(&format!("{tls}webhook: {{urlFile: /a/u}}")).is_err());
        assert!(of(&tls.replace("/a/k", "/b/k")).is_err());
    }
}

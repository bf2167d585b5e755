//! The Deployment: pods of the restricted standard, spread over nodes.

use serde_json::{Value, json};

use super::{
    installation::{Installation, NAME, POLICY_FILE, POLICY_NAME},
    mounted::{MountedSecret, POLICY_FOLDER},
};

/// The specification of the Deployment.
pub(super) fn spec(of: &Installation) -> Value {
    let labels = Installation::labels();
    let spread = json!({
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    });
    let policy = json!({"name": "policy", "configMap": {"name": POLICY_NAME}});
    let state = json!({"name": "state", "emptyDir": {"sizeLimit": "64Mi"}});
    let secrets = of.secrets.iter().map(MountedSecret::volume);
    let volumes: Vec<_> = [policy, state].into_iter().chain(secrets).collect();
    // No runAsUser: the image says it, and some clusters give each namespace users of its own.
    let pod = json!({
        "serviceAccountName": NAME,
        "automountServiceAccountToken": true,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "terminationGracePeriodSeconds": 30,
        "topologySpreadConstraints": [spread],
        "containers": [container(of)],
        "volumes": volumes,
    });
    json!({
        "replicas": of.replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    })
}

/// Where the state is kept, in a folder that ends with the pod: since when controllers are absent. The
/// journal of reconcilers is in the cluster.
const STATE_FOLDER: &str = "/var/lib/kubectl-storage";

/// The container. It writes into one folder.
fn container(of: &Installation) -> Value {
    let policy = json!({"name": "policy", "mountPath": POLICY_FOLDER, "readOnly": true});
    let state = json!({"name": "state", "mountPath": STATE_FOLDER});
    let secrets = of.secrets.iter().map(MountedSecret::mount);
    let mounts: Vec<_> = [policy, state].into_iter().chain(secrets).collect();
    let mut container = json!({
        "name": "watch",
        "image": of.image,
        "command": ["/kubectl-storage", "watch"],
        "args": ["-f", format!("{POLICY_FOLDER}/{POLICY_FILE}"), "--log-format", "json"],
        "env": [{"name": "XDG_STATE_HOME", "value": STATE_FOLDER}],
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
        "volumeMounts": mounts,
    });
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

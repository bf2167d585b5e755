//! Clusters whose API server served another one before: nothing of that is left.

use std::fs;

use serde_json::json;

use crate::support::{Cluster, Options, PersistentVolume, eventually};

/// Nobody else asks for this, so the second cluster gets the servers of the first.
const OWN: &str = "--max-mutating-requests-inflight=201";

fn start() -> Cluster {
    Cluster::start(Options { server_args: &[OWN], ..Options::CONTROLLERS })
}

fn config_map(name: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
}

/// Beside others the servers may take too long to become what they were; then nobody gets them.
const TRIES: usize = 5;

#[test]
fn a_cluster_on_servers_of_another_is_as_new() {
    assert!((0..TRIES).any(|_| serves_another_as_new()), "no cluster got the servers of another");
}

/// Panics where the second cluster is not as new; says whether it has the servers of the first.
fn serves_another_as_new() -> bool {
    let first = start();
    first.install_snapshot_api();
    first.create(
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "left-behind"}}),
    );
    first.create(&PersistentVolume::csi("left-behind", "none.example", "left-behind").0);
    first.grant("user-1", &json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]));
    first.patch("", "namespace/default", &json!({"metadata": {"labels": {"left": "behind"}}}));
    first.create(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "left-behind"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
            }]},
            "validations": [{"expression": "!object.metadata.name.startsWith('refused-')"}],
        },
    }));
    first.create(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "left-behind"},
        "spec": {"policyName": "left-behind", "validationActions": ["Deny"]},
    }));
    let refused = |name: &str| {
        let text = config_map(name).to_string();
        first.try_kubectl(&["create", "-f", "-"], &text).is_err()
    };
    let mut number = 0;
    eventually("the policy is in force", || {
        number += 1;
        refused(&format!("refused-{number}"))
    });
    let server = first.server().to_owned();
    drop(first);

    let second = start();
    if second.server() != server {
        return false;
    }
    let log = fs::read_to_string(second.audit_log_file()).expect("the API server writes it");
    assert!(log.starts_with('{') && !log.contains("left-behind"), "{}", log.len());
    for object in ["namespace/left-behind", "pv/left-behind"] {
        assert!(second.get("", object).is_none(), "{object}");
    }
    for resource in ["crd", "validatingadmissionpolicy", "validatingadmissionpolicybinding"] {
        assert_eq!(second.list("", resource).len(), 0, "{resource}");
    }
    assert!(
        second.get("", "namespace/default").expect("there is one")["metadata"]["labels"]["left"]
            .is_null()
    );
    let may = ["auth", "can-i", "list", "pods", "--as", "user-1"];
    assert!(second.try_kubectl(&may, "").is_err());
    second.create(&config_map("refused-not"));
    true
}

//! The Secret with which a driver deletes was removed, and then a claim of a volume that needs it.

use serde_json::json;

use super::screen::screen;
use crate::support::{Cluster, DriverOptions, Options, Scenario, claim, eventually};

const INCIDENT: &str = "02-secret-removed";
const NAME: &str = "secret.csi.example";
const SOON: [&str; 4] = ["--threshold", "delete-wait=1s", "--threshold", "stuck=1s"];

#[test]
fn secret_removed() {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::COMPLETE });
    let on = Scenario::on(&cluster);
    let driver = cluster.start_driver(NAME, &DriverOptions::default());
    let role = "secrets-of-the-driver";
    on.cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": role},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}],
    }));
    on.cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": role},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "csi-controller", "namespace": "csi-secret-csi-example"}],
    }));
    on.create(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "admin-key"}, "stringData": {"key": "secret"},
    }));
    let class = on.named("class");
    on.create(&json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": class},
        "provisioner": NAME, "reclaimPolicy": "Delete",
        "parameters": {
            "csi.storage.k8s.io/provisioner-secret-name": "admin-key",
            "csi.storage.k8s.io/provisioner-secret-namespace": on.name,
        },
    }));
    on.create(&claim("orders", &class));
    let volume = on.bound("orders");
    let object = format!("pv/{volume}");

    on.delete("secret/admin-key");
    on.wait_gone("secret/admin-key");
    driver.fault(&json!({"DeleteVolume": {"fail": {
        "code": "INVALID_ARGUMENT", "message": "provided secret is empty",
    }}}));
    on.delete("pvc/orders");
    on.wait_phase(&object, "Released");
    let failed = || {
        let events = on.cluster.list("default", "events");
        events.iter().any(|it| it["reason"] == "VolumeFailedDelete")
    };
    eventually("its deletion fails", failed);
    std::thread::sleep(std::time::Duration::from_secs(3));

    let audit = screen(&on, INCIDENT, &[&["audit"][..], &SOON].concat());
    let explain = screen(&on, INCIDENT, &[&["explain", &object][..], &SOON].concat());
    audit.says(&["provided secret is empty"]);
    explain.says(&["provided secret is empty"]);
}

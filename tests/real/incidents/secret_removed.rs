//! The Secret with which a driver deletes was removed, and then a claim of a volume that needs it.

use serde_json::json;

use super::screen::screen;
use crate::support::{Cluster, DriverOptions, Options, Scenario, claim, eventually};

const INCIDENT: &str = "02-secret-removed";
const NAME: &str = "secret.csi.example";
const SOON: [&str; 4] = ["--threshold", "delete-wait=1s", "--threshold", "stuck=1s"];

#[test]
#[ignore = "extended suite: incidents, played again"]
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
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "admin-key"}, "stringData": {"key": "secret"},
    });
    on.create(&secret);
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
    let create = format!("create Secret {}/admin-key again", on.name);
    audit.says(&[
        "pv-released-delete-stuck: Released with policy Delete, but not reclaimed: last attempt failed: InvalidArgument: \
         provided secret is empty",
        &create,
        &format!("kubectl storage retain {object}"),
        &format!("pv-deletion-secret-missing: deletion Secret {}/admin-key does not exist", on.name),
    ]);
    // Its log says no more, and a restart changes nothing.
    audit.never_says(&["restart it", "is absent"]);
    explain.says(&[
        "Released for",
        "reclaimed by csi-provisioner of secret.csi.example",
        "Error: rpc error: code = InvalidArgument desc = provided secret is empty (",
        "times, first 20",
        "of secret.csi.example is running",
        &format!("Next: {create}"),
        &format!("kubectl storage retain {object}"),
        &format!("Deletion Secret {}/admin-key does not exist", on.name),
        "If deleted: destroyed later",
    ]);
    explain.never_says(&["restart it", "No findings"]);

    // What is advised helps.
    driver.fault(&json!({}));
    on.create(&secret);
    on.wait_gone(&object);
}

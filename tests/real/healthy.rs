//! Clusters in which nothing is wrong.

use serde_json::{Value, json};

use crate::support::{Cluster, Options, PersistentVolume, Scenario, claim, eventually};

/// A Deployment of one pod that uses a claim.
fn deployment(name: &str, claim: &str) -> Value {
    let pod = crate::support::pod(name, claim);
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod["spec"]},
        },
    })
}

fn class(name: &str, provisioner: &str, default: bool) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": default.to_string()}},
        "provisioner": provisioner, "reclaimPolicy": "Delete", "volumeBindingMode": "WaitForFirstConsumer",
    })
}

/// Thresholds so small that anything that is only young would show.
const STRICT: [&str; 10] = [
    "--older-than",
    "1s",
    "--threshold",
    "finalizer=1s",
    "--threshold",
    "protection=1s",
    "--threshold",
    "claim-protection=1s",
    "--threshold",
    "stuck=1s",
];

#[test]
fn nothing_is_wrong() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);

    // As in kind or k3s: local-path has no CSI driver and no finalizers.
    on.create(&class("local-path", "rancher.io/local-path", true));
    on.create(
        &PersistentVolume::host_path("pvc-local", "/opt/local-path-provisioner/pvc-local")
            .policy("Delete")
            .class("local-path")
            .provisioned_by("rancher.io/local-path")
            .reserved_for(&on.name, "local")
            .0,
    );
    let mut local = claim("local", "local-path");
    local["spec"]["volumeName"] = json!("pvc-local");
    on.create(&local);
    on.bound("local");
    on.create(&deployment("local", "local"));
    on.cluster.kubectl(&["rollout", "status", "deployment/local", "-n", &on.name, "--timeout=45s"]);
    let report = on.audit(&STRICT);
    assert_eq!(report.findings().count(), 0, "{report}");
    assert_eq!(report.json["summary"]["volumes"], 1);
    assert_eq!(report.json["summary"]["claims"], 1);

    let driver = on.cluster.driver();
    for (name, class) in [("kept", &driver.class_retain), ("deleted", &driver.class_delete)] {
        on.create(&claim(name, class));
        on.bound(name);
        on.create(&deployment(name, name));
        on.cluster.kubectl(&[
            "rollout",
            "status",
            &format!("deployment/{name}"),
            "-n",
            &on.name,
            "--timeout=45s",
        ]);
    }
    let report = on.audit(&STRICT);
    assert_eq!(report.findings().count(), 0, "{report}");
    assert_eq!(report.json["summary"]["volumes"], 3);

    // A claim and its volume go, and leave nothing to report.
    on.delete("deployment/deleted");
    on.delete("pvc/deleted");
    eventually("the volume is gone", || {
        on.cluster.kubectl(&["get", "pv", "-o", "name"]).lines().count() == 2
    });
    let report = on.audit(&STRICT);
    assert_eq!(report.findings().count(), 0, "{report}");
}

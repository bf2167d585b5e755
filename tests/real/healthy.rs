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

/// A set of two pods, whose claims go with it.
fn set(name: &str, class: &str) -> Value {
    let mut pod = deployment(name, "none")["spec"]["template"].clone();
    pod["spec"].as_object_mut().expect("because it is one").remove("volumes");
    let mut template = claim("data", class);
    template["metadata"] = json!({"name": "data"});
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": 2, "serviceName": "",
            "selector": {"matchLabels": {"app": name}},
            "template": pod,
            "volumeClaimTemplates": [template],
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
        },
    })
}

/// A pod with an ephemeral volume.
fn with_ephemeral(name: &str, class: &str) -> Value {
    let mut pod = crate::support::pod(name, "none");
    let spec = claim("none", class)["spec"].clone();
    pod["spec"]["volumes"] =
        json!([{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]);
    pod
}

/// Waits until csi-provisioner has removed the finalizer that it creates every volume with, also
/// those that their policy keeps: on a busy machine that takes longer than the thresholds here.
fn settled(on: &Scenario) {
    eventually("csi-provisioner has removed its finalizer from kept volumes", || {
        let volumes = on.cluster.kubectl(&["get", "pv", "-o", "json"]);
        let volumes: Value = serde_json::from_str(&volumes).expect("because kubectl prints JSON");
        let volumes = volumes["items"].as_array().cloned().unwrap_or_default();
        volumes.iter().all(|volume| {
            volume["spec"]["persistentVolumeReclaimPolicy"] != "Retain"
                || !volume["metadata"]["finalizers"]
                    .to_string()
                    .contains("external-provisioner.volume.kubernetes.io/finalizer")
        })
    });
}

/// Thresholds so small that anything that is only young would show.
const STRICT: [&str; 16] = [
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
    "--threshold",
    "pvc-pending=1s",
    "--threshold",
    "detach=1s",
    "--threshold",
    "resync=1s",
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

    let driver = on.cluster.driver_without_attachments();
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
    settled(&on);
    let report = on.audit(&STRICT);
    assert_eq!(report.findings().count(), 0, "{report}");
    assert_eq!(report.json["summary"]["volumes"], 3);

    on.create(&set("web", &driver.class_delete));
    on.cluster.kubectl(&["rollout", "status", "statefulset/web", "-n", &on.name, "--timeout=45s"]);
    on.create(&with_ephemeral("work", &driver.class_delete));
    on.wait_phase("pod/work", "Running");
    on.create(&claim("nightly", &driver.class_retain));
    on.bound("nightly");
    let mut job = crate::support::pod("nightly", "nightly")["spec"].clone();
    job["restartPolicy"] = json!("Never");
    on.create(&json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"},
        "spec": {
            "schedule": "0 3 * * *",
            "jobTemplate": {"spec": {"template": {"spec": job}}},
        },
    }));
    settled(&on);
    let report = on.audit(&STRICT);
    assert_eq!(report.findings().count(), 0, "{report}");
    assert_eq!(report.json["summary"]["claims"], 7);

    // A claim and its volume go, and leave nothing to report.
    on.delete("deployment/deleted");
    on.delete("pvc/deleted");
    eventually("the volume is gone", || {
        on.cluster.kubectl(&["get", "pv", "-o", "name"]).lines().count() == 6
    });
    let report = on.audit(&STRICT);
    assert_eq!(report.findings().count(), 0, "{report}");
}

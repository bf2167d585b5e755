//! Volumes of the in-tree provisioner, which the controller manager itself deletes (D-17 to D-19, D-39).

use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::support::{
    Cluster, Options, PersistentVolume, Scenario, claim, eventually, host_path_class, shared,
};

const PROTECTION: &str = "kubernetes.io/pv-controller";

/// A bound volume of the in-tree provisioner.
struct Volume {
    name: String,
    object: String,
    folder: PathBuf,
}

impl Volume {
    fn provisioned(on: &Scenario, policy: &str) -> Self {
        let class = on.named("class");
        on.create(&host_path_class(&class, policy));
        on.create(&claim("data", &class));
        let name = on.bound("data");
        let volume = Self { object: format!("pv/{name}"), folder: on.folder(&name), name };
        assert!(volume.folder.is_dir(), "the provisioner made no folder");
        volume
    }
}

#[test]
fn d_17_in_tree_delete_volume_deleted_first() {
    let on = Scenario::on(shared());
    let volume = Volume::provisioned(&on, "Delete");
    on.wait_finalizer(&volume.object, PROTECTION, true);

    on.terminate(&volume.name);
    let report = on.audit(&[]);
    report.expect_ids(&volume.object, &["pv-terminating-bound"]);
    report
        .finding("pv-terminating-bound", &volume.object)
        .expect("high", "fixable")
        .says(&["destroy"]);

    on.delete("pvc/data");
    on.wait_gone(&volume.object);
    assert!(!volume.folder.exists());
}

#[test]
fn d_18_in_tree_without_the_feature_leaks() {
    let cluster = Cluster::start(Options {
        version: "1.32.2",
        controller_args: &["--feature-gates=HonorPVReclaimPolicy=false"],
        ..Options::CONTROLLERS
    });
    let on = Scenario::on(&cluster);
    let volume = Volume::provisioned(&on, "Delete");
    assert!(!on.has_finalizer(&volume.object, PROTECTION));
    sleep(Duration::from_secs(2));
    let report = on.audit(&["--threshold", "protection=1s"]);
    report.finding("pv-intree-finalizer-missing", &volume.object).expect("medium", "report-only");

    on.terminate(&volume.name);
    let report = on.audit(&[]);
    let finding = report.finding("pv-leak-imminent", &volume.object);
    finding.severe("critical");
    finding.says(&[&volume.folder.display().to_string()]);

    on.delete("pvc/data");
    on.wait_gone(&volume.object);
    assert!(volume.folder.is_dir(), "the folder should have leaked");
}

#[test]
fn d_19_in_tree_finalizer_follows_the_policy() {
    let on = Scenario::on(shared());
    let volume = Volume::provisioned(&on, "Delete");
    on.wait_finalizer(&volume.object, PROTECTION, true);
    on.set_policy(&volume.name, "Retain");
    on.wait_finalizer(&volume.object, PROTECTION, false);
    on.set_policy(&volume.name, "Delete");
    on.wait_finalizer(&volume.object, PROTECTION, true);
    on.audit(&["--threshold", "protection=1s"]).expect_ids(&volume.object, &[]);

    on.set_policy(&volume.name, "Retain");
    on.wait_finalizer(&volume.object, PROTECTION, false);
    on.delete("pvc/data");
    on.wait_phase(&volume.object, "Released");
    sleep(Duration::from_secs(2));
    let report = on.audit(&["--older-than", "1s"]);
    report.expect_ids(&volume.object, &["pv-released-past-threshold"]);
    report.finding("pv-released-past-threshold", &volume.object).expect("medium", "fixable");
    assert!(volume.folder.is_dir());

    let before = on.cluster.mark();
    on.set_policy(&volume.name, "Delete");
    on.wait_gone(&volume.object);
    assert!(!volume.folder.exists());
    eventually("the finalizer was added while Released", || {
        on.cluster.events_since(before, &volume.name).iter().any(|event| {
            event["verb"] == "update"
                && event["requestObject"]["status"]["phase"] == "Released"
                && event["requestObject"]["metadata"]["finalizers"].to_string().contains(PROTECTION)
        })
    });
}

#[test]
fn d_39_undeletable_host_path_fails() {
    let on = Scenario::on(shared());
    let name = on.named("pv");
    let object = format!("pv/{name}");
    on.create(&PersistentVolume::host_path(&name, "/data/x").policy("Delete").0);
    let mut claim = claim("data", "");
    claim["spec"]["volumeName"] = json!(name);
    on.create(&claim);
    assert_eq!(on.bound("data"), name);

    on.delete("pvc/data");
    on.wait_phase(&object, "Failed");
    let message = on.read(&object)["status"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("host_path deleter only supports /tmp/.+"), "{message}");
    let report = on.audit(&[]);
    let finding = report.finding("pv-failed", &object).expect("high", "fixable");
    finding.says(&["host_path deleter only supports /tmp/.+", "retain"]);
}

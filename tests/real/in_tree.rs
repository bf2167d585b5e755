//! Volumes of the in-tree provisioner, which the controller manager itself deletes (D-17 to D-19, D-39).

use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::leaky::old::{Old, bound, namespace};
use crate::support::{
    Cluster, Options, PersistentVolume, Scenario, claim, eventually, host_path_class, never, shared,
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
#[ignore = "extended suite: Kubernetes 1.32"]
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
    report.is_fixture("pv-intree-finalizer-missing", &volume.object);

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
    let report = on.audit(&["--threshold", "protection=1s"]);
    report.expect_ids(&volume.object, &[]);
    report.is_near_miss("pv-intree-finalizer-missing", &volume.object);

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

/// R-2644-25: the controller manager may not add its finalizer to a deleted volume, and does nothing else either.
#[test]
fn a_deleted_volume_without_its_finalizer_hangs() {
    let folder = tempfile::tempdir_in("/tmp").expect("because the temporary folder is writable");
    let path = folder.path().display().to_string();
    let volume = PersistentVolume::host_path("pages", &path).policy("Delete");
    let volume = Old::volume(volume.provisioned_by("kubernetes.io/host-path"), "Bound", 40);
    let seed =
        [&[namespace("wiki")][..], &bound(&volume.terminating(30), "wiki", "pages")].concat();
    let cluster = Cluster::start(Options { seed: &seed, ..Options::CONTROLLERS });
    let on = Scenario::on(&cluster);
    let deadlock = "pv-terminating-intree-deadlock";
    let report = on.audit(&[]);
    report.expect_ids("pv/pages", &[deadlock]);
    report.finding(deadlock, "pv/pages").expect("high", "fixable");

    cluster.kubectl(&["delete", "pvc/pages", "-n", "wiki", "--wait=false"]);
    eventually("the claim is gone", || cluster.get("wiki", "pvc/pages").is_none());
    never("the volume goes", Duration::from_secs(5), || on.get("pv/pages").is_none());
    assert!(folder.path().is_dir());
    on.audit(&[]).finding(deadlock, "pv/pages").expect("high", "fixable");

    on.set_policy("pages", "Retain");
    on.wait_gone("pv/pages");
    assert!(folder.path().is_dir(), "the folder is kept");
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
    report.is_fixture("pv-failed", &object);
}

/// A volume that Kubernetes 1.30 could still delete.
#[test]
fn a_removed_plugin_fails() {
    let on = Scenario::on(shared());
    let name = on.named("pv");
    let object = format!("pv/{name}");
    let mut volume = PersistentVolume::host_path(&name, "/").policy("Delete").0;
    volume["spec"].as_object_mut().expect("because it is one").remove("hostPath");
    volume["spec"]["rbd"] = json!({"monitors": ["10.0.0.7:6789"], "image": "one", "pool": "rbd"});
    let volume = PersistentVolume(volume).provisioned_by("kubernetes.io/rbd");
    on.create(&volume.left_by(&on.name, "gone").0);
    on.wait_phase(&object, "Failed");
    let report = on.audit(&[]);
    let finding = report.finding("pv-intree-plugin-removed", &object);
    finding.expect("high", "fixable").says(&["kubernetes.io/rbd"]);
    report.is_fixture("pv-intree-plugin-removed", &object);
}

/// Kubernetes is upgraded, and rolled back again, while volumes are being deleted.
#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn d_84_the_feature_comes_and_goes() {
    const OFF: [&str; 1] = ["--feature-gates=HonorPVReclaimPolicy=false"];
    let cluster = Cluster::start(Options {
        version: "1.32.2",
        controller_args: &OFF,
        ..Options::CONTROLLERS
    });
    let on = Scenario::on(&cluster);
    on.create(&host_path_class("delete", "Delete"));
    on.create(&host_path_class("retain", "Retain"));
    let provisioned = |claimed: &str, class: &str| {
        on.create(&claim(claimed, class));
        let name = on.bound(claimed);
        let folder = on.folder(&name);
        Volume { object: format!("pv/{name}"), folder, name }
    };
    let soon = ["--threshold", "finalizer=1s"];

    // Left by a migration to CSI that was taken back.
    let strayed = provisioned("strayed", "retain");
    let both =
        ["kubernetes.io/pv-protection", "external-provisioner.volume.kubernetes.io/finalizer"];
    on.patch(&strayed.object, &json!({"metadata": {"finalizers": both}}));
    let early = provisioned("early", "delete");
    on.terminate(&early.name);
    sleep(Duration::from_secs(2));
    let report = on.audit(&soon);
    report.finding("pv-stale-ext-finalizer-intree", &strayed.object).expect("medium", "blocked");
    report.is_fixture("pv-stale-ext-finalizer-intree", &strayed.object);

    // The upgrade wants a finalizer on a volume that may get none any more.
    cluster.restart_controllers(&[]);
    on.wait_finalizer(&strayed.object, both[1], false);
    on.delete("pvc/early");
    let late = provisioned("late", "delete");
    on.wait_finalizer(&late.object, PROTECTION, true);
    on.terminate(&late.name);
    assert!(on.get(&early.object).is_some() && on.get("pvc/early").is_none());
    sleep(Duration::from_secs(2));
    let report = on.audit(&soon);
    let finding = report.finding("pv-terminating-intree-deadlock", &early.object);
    finding.expect("high", "fixable");
    report.is_fixture("pv-terminating-intree-deadlock", &early.object);
    report.is_near_miss("pv-terminating-intree-deadlock", &late.object);
    report.is_near_miss("pv-intree-finalizer-rolled-back", &late.object);
    assert!(early.folder.is_dir());

    // The rollback leaves a finalizer that nobody removes any more.
    cluster.restart_controllers(&OFF);
    on.delete("pvc/late");
    on.wait_phase(&late.object, "Released");
    sleep(Duration::from_secs(3));
    let report = on.audit(&soon);
    let finding = report.finding("pv-intree-finalizer-rolled-back", &late.object);
    finding.expect("high", "blocked");
    report.is_fixture("pv-intree-finalizer-rolled-back", &late.object);
    assert!(late.folder.is_dir(), "nobody deleted the folder");
    on.wait_gone(&early.object);
}

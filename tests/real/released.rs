//! Volumes that somebody else could take, and disks that more than one volume names (D-24).

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{DriverOptions, PersistentVolume, Scenario, claim, eventually, pod, shared};

/// A claim for a volume of this name.
fn claim_of(name: &str, class: &str, volume: &str) -> Value {
    let mut claim = claim(name, class);
    claim["spec"]["volumeName"] = json!(volume);
    claim
}

/// A volume of the shared driver whose claim was deleted; its policy keeps it.
fn released(on: &Scenario) -> (String, String) {
    on.create(&claim("data", &shared().driver().class_retain));
    let name = on.bound("data");
    let object = format!("pv/{name}");
    on.delete("pvc/data");
    on.wait_phase(&object, "Released");
    eventually("the claim is gone", || on.get("pvc/data").is_none());
    (name, object)
}

/// A claim of the same name asks for its old volume, and never gets it.
#[test]
fn a_claim_that_is_made_again() {
    let on = Scenario::on(shared());
    let (name, object) = released(&on);
    on.create(&claim_of("data", &shared().driver().class_retain, &name));
    sleep(Duration::from_secs(2));
    assert_eq!(on.read("pvc/data")["status"]["phase"], "Pending");
    assert_eq!(on.read(&object)["status"]["phase"], "Released");

    let report = on.audit(&[]);
    let finding = report.finding("pv-released-claim-recreated", &object);
    finding.expect("high", "fixable");
    report.is_fixture("pv-released-claim-recreated", &object);
}

/// Another claim asks for a volume that was somebody else's.
#[test]
fn a_claim_that_asks_for_anothers_volume() {
    let on = Scenario::on(shared());
    let (name, object) = released(&on);
    on.create(&claim_of("other", &shared().driver().class_retain, &name));
    sleep(Duration::from_secs(2));
    assert_eq!(on.read("pvc/other")["status"]["phase"], "Pending");

    let report = on.audit(&[]);
    let finding = report.finding("pv-referenced-by-other-pvc", &object);
    finding.expect("high", "report-only").says(&["other"]);
    report.is_fixture("pv-referenced-by-other-pvc", &object);
    report.is_near_miss("pv-released-claim-recreated", &object);
}

/// As many answers on the internet advise: the claimRef is removed, and the data is anybody's.
#[test]
fn a_volume_without_its_claim_ref_is_free() {
    let on = Scenario::on(shared());
    let (_, object) = released(&on);
    let before = on.audit(&[]);
    before.is_near_miss("pv-available-was-bound", &object);
    on.patch(&object, &json!({"spec": {"claimRef": null}}));
    on.wait_phase(&object, "Available");

    let report = on.audit(&[]);
    report.finding("pv-available-was-bound", &object).expect("high", "report-only");
    report.is_fixture("pv-available-was-bound", &object);
}

/// Two volumes were written down for one disk, one of them with the policy Delete.
#[test]
fn two_volumes_of_one_disk() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let handle = on.named("disk");
    driver.make(&handle);
    let (used, leftover) = (on.named("used"), on.named("leftover"));
    on.create(&PersistentVolume::csi(&used, &driver.name, &handle).policy("Delete").0);
    on.create(&claim_of("data", "", &used));
    on.bound("data");
    let report = on.audit(&[]);
    let object = format!("pv/{used}");
    report.finding("pv-static-delete-now-effective", &object).expect("high", "fixable");
    report.is_fixture("pv-static-delete-now-effective", &object);
    report.is_near_miss("duplicate-volume-handle", &object);

    let other = PersistentVolume::csi(&leftover, &driver.name, &handle).left_by(&on.name, "gone");
    on.create(&other.0);
    on.wait_phase(&format!("pv/{leftover}"), "Released");
    let report = on.audit(&[]);
    report.finding("duplicate-volume-handle", &object).expect("critical", "fixable");
    report.is_fixture("duplicate-volume-handle", &object);
    let object = format!("pv/{leftover}");
    report.finding("pv-released-handle-shared", &object).expect("critical", "report-only");
    report.is_fixture("pv-released-handle-shared", &object);
    assert!(driver.has(&handle));
}

/// The pod and its claim are gone, and the attachment stays.
#[test]
fn d_24_a_volume_that_is_still_attached() {
    let on = Scenario::on(shared());
    let options = DriverOptions { attach: true, ..DriverOptions::default() };
    let driver = shared().start_driver("d24.csi.example", &options);
    on.create(&claim("data", &driver.class_retain));
    let name = on.bound("data");
    let object = format!("pv/{name}");
    on.create(&pod("user", "data"));
    let attachments = || {
        let all = on.cluster.list("", "volumeattachments").into_iter();
        all.filter(|it| it["spec"]["source"]["persistentVolumeName"] == *name).count()
    };
    eventually("it is being attached", || attachments() == 1);
    on.delete("pod/user");
    on.wait_gone("pod/user");
    on.delete("pvc/data");
    on.wait_phase(&object, "Released");
    sleep(Duration::from_secs(2));
    assert_eq!(attachments(), 1);

    let soon = ["--older-than", "1s", "--threshold", "detach=1s"];
    let report = on.audit(&soon);
    report.finding("pv-released-still-attached", &object).expect("high", "report-only");
    report.is_fixture("pv-released-still-attached", &object);
    report.finding("pv-released-past-threshold", &object).expect("medium", "blocked");
}

#[test]
fn a_volume_that_would_be_recycled() {
    let on = Scenario::on(shared());
    let name = on.named("pv");
    let object = format!("pv/{name}");
    on.create(&PersistentVolume::host_path(&name, "/tmp/recycled").policy("Recycle").0);
    on.wait_phase(&object, "Available");
    let report = on.audit(&[]);
    report.finding("pv-recycle-policy", &object).expect("low", "fixable");
    report.is_fixture("pv-recycle-policy", &object);
}

/// The disk is in a node, and the node is taken out of the cluster.
#[test]
fn a_node_that_is_gone() {
    let on = Scenario::on(shared());
    let (name, node) = (on.named("pv"), on.named("node"));
    let object = format!("pv/{name}");
    on.cluster.create(&json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": node, "labels": {"kubernetes.io/hostname": node}},
        "spec": {"unschedulable": true}, // of other scenarios' pods
    }));
    let mut volume = PersistentVolume::host_path(&name, "/").0;
    volume["spec"].as_object_mut().expect("because it is one").remove("hostPath");
    volume["spec"]["local"] = json!({"path": "/mnt/disks/one"});
    let here = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]});
    volume["spec"]["nodeAffinity"] =
        json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}});
    on.create(&volume);
    on.create(&claim_of("data", "", &name));
    on.bound("data");
    on.audit(&[]).is_near_miss("pv-node-gone", &object);

    on.delete(&format!("node/{node}"));
    on.wait_gone(&format!("node/{node}"));
    let report = on.audit(&[]);
    report.finding("pv-node-gone", &object).expect("high", "report-only").says(&[&node]);
    report.is_fixture("pv-node-gone", &object);
}

/// What the tag of the image claims; what runs is the testbed's.
#[test]
fn a_provisioner_that_claims_a_bad_version() {
    let on = Scenario::on(shared());
    let image = Some("registry.k8s.io/sig-storage/csi-provisioner:v5.0.1");
    let options = DriverOptions { provisioner_image: image, ..DriverOptions::default() };
    let driver = shared().start_driver("old.csi.example", &options);
    let object = format!("csidriver/{}", driver.name);
    let report = on.audit(&[]);
    let finding = report.finding("provisioner-known-bad-version", &object);
    finding.expect("medium", "report-only").says(&["5.0.1"]);
    report.is_fixture("provisioner-known-bad-version", &object);
    let shared = format!("csidriver/{}", shared().driver().name);
    report.expect_not(&shared, "provisioner-known-bad-version");
}

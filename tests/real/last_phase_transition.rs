//! How long a volume has been in its phase, and how far that can be believed (D-76 to D-83).

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Cluster, Fault, Options, PersistentVolume, Scenario, claim, shared};

const PAST: &str = "pv-released-past-threshold";
const UNKNOWN: &str = "pv-released-unknown-age";
const UNTRUSTED: &str = "pv-age-untrusted";

fn stamp(on: &Scenario, object: &str) -> String {
    let stamp = on.read(object)["status"]["lastPhaseTransitionTime"].take();
    stamp.as_str().unwrap_or_else(|| panic!("{object} has no lastPhaseTransitionTime")).to_owned()
}

/// Stamps have full seconds.
fn next_second() {
    sleep(Duration::from_millis(1100));
}

/// A Released volume of the shared driver, with policy Retain.
fn released(on: &Scenario, name: &str) -> String {
    let driver = shared().driver();
    let name = on.named(name);
    driver.make(&name);
    on.create(&PersistentVolume::csi(&name, &driver.name, &name).left_by(&on.name, "gone").0);
    let object = format!("pv/{name}");
    on.wait_phase(&object, "Released");
    object
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_76_stamp_moves_with_the_phase() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let name = on.named("pv");
    let object = format!("pv/{name}");
    driver.make(&name);
    on.create(&PersistentVolume::csi(&name, &driver.name, &name).provisioned_by(&driver.name).0);
    on.wait_phase(&object, "Available");
    let available = stamp(&on, &object);

    next_second();
    let mut claim = claim("data", "");
    claim["spec"]["volumeName"] = json!(name);
    on.create(&claim);
    on.bound("data");
    let bound = stamp(&on, &object);
    assert!(bound > available, "{bound} is not after {available}");

    next_second();
    on.delete("pvc/data");
    on.wait_phase(&object, "Released");
    let released = stamp(&on, &object);
    assert!(released > bound, "{released} is not after {bound}");

    next_second();
    let report = on.audit(&["--older-than", "1s"]);
    report.expect_ids(&object, &[PAST]);
    let finding = report.finding(PAST, &object).expect("medium", "fixable");
    finding.trusted("corroborated");
    finding.aged(1..30);
    finding.says(&[&name, &driver.name]);
    report.is_fixture(PAST, &object);
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_77_patches_do_not_move_the_stamp() {
    let on = Scenario::on(shared());
    let name = on.named("pv");
    let object = format!("pv/{name}");
    // Nobody acts for this driver, whatever the policy says.
    let volume = PersistentVolume::csi(&name, "none.csi.example", &name);
    on.create(&volume.provisioned_by("none.csi.example").left_by(&on.name, "gone").0);
    on.wait_phase(&object, "Released");
    let before = stamp(&on, &object);
    next_second();
    on.patch(&object, &json!({"metadata": {"labels": {"touched": "yes"}}}));
    on.patch(
        &object,
        &json!({"metadata": {"finalizers": ["kubernetes.io/pv-protection", "example.com/kept"]}}),
    );
    on.patch(&object, &json!({"spec": {"persistentVolumeReclaimPolicy": "Delete"}}));
    on.patch(&object, &json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}}));
    next_second();
    assert_eq!(on.read(&object)["status"]["phase"], "Released");
    assert_eq!(stamp(&on, &object), before);
    let report = on.audit(&["--older-than", "2s"]);
    let finding = report.finding(PAST, &object);
    finding.trusted("corroborated");
    finding.aged(2..60);
    report.is_near_miss(UNTRUSTED, &object);
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_78_no_trace_of_the_release_is_an_unknown_age() {
    let on = Scenario::on(shared());
    let object = released(&on, "pv");
    on.patch_status(
        &object,
        &json!({"status": {"lastPhaseTransitionTime": "0001-01-01T00:00:00Z"}}),
    );
    on.patch(&object, &json!({"metadata": {"managedFields": [{}]}}));
    let volume = on.read(&object);
    assert!(volume["status"]["lastPhaseTransitionTime"].is_null(), "served as {volume:#}");
    assert!(volume["metadata"]["managedFields"].is_null(), "still there: {volume:#}");
    next_second();
    let report = on.audit(&["--older-than", "1s"]);
    report.expect_ids(&object, &[UNKNOWN]);
    let finding = report.finding(UNKNOWN, &object);
    finding.severe("medium");
    finding.not_fixable();
    report.is_fixture(UNKNOWN, &object);
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_80_impossible_stamps_are_not_believed() {
    let on = Scenario::on(shared());
    let (future, past) = (released(&on, "future"), released(&on, "past"));
    on.patch_status(
        &future,
        &json!({"status": {"lastPhaseTransitionTime": "2199-01-01T00:00:00Z"}}),
    );
    on.patch_status(&past, &json!({"status": {"lastPhaseTransitionTime": "2001-01-01T00:00:00Z"}}));
    next_second();
    let report = on.audit(&["--older-than", "1h"]);
    for object in [&future, &past] {
        report.expect_ids(object, &[UNTRUSTED]);
        report.finding(UNTRUSTED, object).expect("medium", "report-only");
    }
    report.is_fixture(UNTRUSTED, &past);
    // Only what the API server itself recorded counts, and that is seconds old.
    let report = on.audit(&["--older-than", "1s"]);
    for object in [&future, &past] {
        let finding = report.finding(PAST, object);
        finding.trusted("lower-bound");
        finding.aged(1..60);
    }
}

/// As a server of 1.27 left it: Released, and no `lastPhaseTransitionTime`.
fn of_1_27(name: &str, managed: Option<&str>) -> (String, Value) {
    let mut volume = PersistentVolume::csi(name, "old.csi.example", name).left_by("old", "gone").0;
    volume["metadata"]["uid"] = json!(format!("00000000-0000-4000-8000-{:012}", name.len()));
    volume["metadata"]["creationTimestamp"] = json!("2023-05-01T08:00:00Z");
    volume["metadata"]["finalizers"] = json!(["kubernetes.io/pv-protection"]);
    volume["spec"]["volumeMode"] = json!("Filesystem");
    volume["status"] = json!({"phase": "Released"});
    if let Some(time) = managed {
        volume["metadata"]["managedFields"] = json!([{
            "manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1", "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:phase": {}}}, "subresource": "status",
        }]);
    }
    (format!("persistentvolumes/{name}"), volume)
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_81_volumes_of_an_old_server() {
    let seed = [of_1_27("silent", None), of_1_27("recorded", Some("2023-06-01T08:00:00Z"))];
    let cluster = Cluster::start(Options { seed: &seed, ..Options::CONTROLLERS });
    let on = Scenario::on(&cluster);
    on.wait_phase("pv/silent", "Released");

    let report = on.audit(&[]);
    report.expect_ids("pv/silent", &[UNKNOWN]);
    let finding = report.finding(PAST, "pv/recorded");
    finding.trusted("lower-bound");
    finding.aged(365 * 24 * 3600..i64::MAX);

    // The first transition under this server is stamped.
    on.patch("pv/silent", &json!({"spec": {"claimRef": {"uid": null}}}));
    on.wait_phase("pv/silent", "Available");
    stamp(&on, "pv/silent");
    on.patch(
        "pv/silent",
        &json!({"spec": {"claimRef": {"uid": "00000000-dead-4000-8000-000000000001"}}}),
    );
    on.wait_phase("pv/silent", "Released");
    next_second();
    // Without managedFields before, the API server keeps none now: the stamp has no second witness.
    let report = on.audit(&["--older-than", "1s"]);
    report.finding(PAST, "pv/silent").trusted("single-source").expect("medium", "blocked");
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_82_nobody_moves_a_volume_out_of_pending() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    cluster.stop_component("kcm");
    on.create(&PersistentVolume::csi("waiting", "any.csi.example", "waiting").0);
    assert_eq!(on.read("pv/waiting")["status"]["phase"], "Pending");
    let soon = ["--threshold", "pv-pending=5s"];
    on.audit(&soon).expect_not("pv/waiting", "pv-pending-too-long");
    sleep(Duration::from_secs(5));
    let report = on.audit(&soon);
    let finding = report.finding("pv-pending-too-long", "pv/waiting");
    finding.expect("medium", "report-only").aged(5..60).says(&["kube-controller-manager"]);
    report.is_fixture("pv-pending-too-long", "pv/waiting");

    // Nobody gives it back what somebody took away.
    on.patch("pv/waiting", &json!({"metadata": {"finalizers": null}}));
    let report = on.audit(&["--threshold", "protection=1s"]);
    report.finding("pv-missing-pv-protection", "pv/waiting").severe("medium");
    report.is_fixture("pv-missing-pv-protection", "pv/waiting");

    cluster.start_component("kcm");
    on.wait_phase("pv/waiting", "Available");
    on.wait_finalizer("pv/waiting", "kubernetes.io/pv-protection", true);
    let report = on.audit(&[&soon[..], &["--threshold", "protection=1s"]].concat());
    report.expect_ids("pv/waiting", &[]);
    report.is_near_miss("pv-pending-too-long", "pv/waiting");
    report.is_near_miss("pv-missing-pv-protection", "pv/waiting");
}

/// A volume that has been Released for ten days, by its stamp and by its managedFields.
fn released_ten_days_ago(on: &Scenario) -> String {
    let (name, time) = (on.named("pv"), ten_days_ago());
    let mut volume =
        PersistentVolume::csi(&name, "old.csi.example", &name).left_by("old", "gone").0;
    volume["metadata"]["uid"] = json!("00000000-0000-4000-8000-0000000000d8");
    volume["metadata"]["creationTimestamp"] = json!(time);
    volume["metadata"]["finalizers"] = json!(["kubernetes.io/pv-protection"]);
    volume["metadata"]["managedFields"] = json!([{
        "manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1", "time": time,
        "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:lastPhaseTransitionTime": {}, "f:phase": {}}},
        "subresource": "status",
    }]);
    volume["spec"]["volumeMode"] = json!("Filesystem");
    volume["status"] = json!({"phase": "Released", "lastPhaseTransitionTime": time});
    on.cluster.write(&format!("persistentvolumes/{name}"), &volume.to_string());
    on.remember(&name);
    format!("pv/{name}")
}

fn ten_days_ago() -> String {
    let time = chrono::Utc::now() - chrono::TimeDelta::days(10);
    time.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// The proxy moves the `Date` header by days, ahead and behind: ages follow it and not the clock of this machine.
#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_83_the_workstations_clock_does_not_matter() {
    const DAY: i64 = 24 * 3600;
    let on = Scenario::on(shared());
    let object = released_ten_days_ago(&on);
    on.wait_phase(&object, "Released");
    let proxy = shared().proxy();
    for days in [3, 0, -3] {
        proxy.clear();
        if days != 0 {
            proxy.fault(Fault::clock(days * DAY));
        }
        let aged = 10 + days;
        let report = on.audit_through(&proxy, &["--older-than", &format!("{}d", aged - 1)]);
        report.expect_ids(&object, &[PAST]);
        let finding = report.finding(PAST, &object);
        finding.trusted("corroborated");
        finding.aged(aged * DAY..aged * DAY + 600);
        let report = on.audit_through(&proxy, &["--older-than", &format!("{}d", aged + 1)]);
        report.expect_ids(&object, &[]);
    }
    on.audit(&["--older-than", "365d"]).is_near_miss(PAST, &object);
}

//! Incident 10: the provisioner runs and retries, and each attempt to delete a backend volume fails.

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use super::screen::screen;
use crate::support::{Cluster, DriverOptions, Options, Scenario, claim, eventually};

const ERROR: &str = "volume is busy: clone vol-7 depends on it";

#[test]
#[ignore = "extended suite: incidents, played again"]
fn i_10_driver_fails_every_deletion() {
    let incident = "10-delete-fails";
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let driver = cluster.start_driver("disk.csi.example", &DriverOptions::default());
    on.create(&claim("data", &driver.class_delete));
    let volume = on.bound("data");
    let (object, handle) = (format!("pv/{volume}"), on.handle(&volume));
    driver.fault(
        &json!({"DeleteVolume": {"fail": {"code": "FAILED_PRECONDITION", "message": ERROR}}}),
    );
    on.delete("pvc/data");
    on.wait_phase(&object, "Released");
    eventually("it was tried often", || driver.delete_calls(&handle) >= 4);
    sleep(Duration::from_secs(6));

    let stuck = ["--threshold", "stuck=5s"];
    let audit = screen(&on, incident, &[&["audit"], &stuck[..]].concat());
    audit.says(&["pv-released-delete-stuck", "last attempt failed", ERROR]);
    let explained = screen(&on, incident, &[&["explain", &object], &stuck[..]].concat());
    explained.says(&[
        &format!("{object}  Released for"),
        &format!("{}/data (does not exist)", on.name),
        &handle,
        &format!("rpc error: code = FailedPrecondition desc = {ERROR}"),
        "csi-provisioner",
        "running, but makes no progress",
        "times",
        "read its log",
        &format!("kubectl storage retain {object}"),
    ]);
    explained.never_says(&["absent", "cause not found", "cause unknown"]);

    // It retries by itself.
    driver.fault(&json!({}));
    on.wait_gone(&object);
    assert!(!driver.has(&handle));
    screen(&on, "10-delete-fails-after", &[&["audit"], &stuck[..]].concat())
        .never_says(&["pv-released-delete-stuck"]);
}

#[test]
#[ignore = "extended suite: incidents, played again"]
fn i_10_provisioner_may_not_patch_volumes() {
    let incident = "10-rbac-patch";
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let options = DriverOptions { rbac_without: &["patch"], ..DriverOptions::default() };
    let driver = cluster.start_driver("disk.csi.example", &options);
    on.create(&claim("data", &driver.class_delete));
    let volume = on.bound("data");
    let (object, handle) = (format!("pv/{volume}"), on.handle(&volume));
    on.delete("pvc/data");
    on.wait_phase(&object, "Released");
    eventually("the backend volume is deleted", || !driver.has(&handle));
    sleep(Duration::from_secs(6));
    assert!(on.get(&object).is_some(), "the object remains");

    let stuck = ["--threshold", "stuck=5s"];
    let audit = screen(&on, incident, &[&["audit"], &stuck[..]].concat());
    audit.says(&["provisioner-rbac-missing-patch", "may not patch"]);
    let explained = screen(&on, incident, &[&["explain", &object], &stuck[..]].concat());
    explained.says(&[
        &object,
        "csi-provisioner",
        "is running",
        "may not patch persistentvolumes",
        "add the verb patch on persistentvolumes",
    ]);
    explained.never_says(&["absent", "cause not found", "cause unknown"]);

    driver.grant_all();
    on.wait_gone(&object);
}

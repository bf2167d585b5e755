//! With the real external-resizer, and a driver that grows folders.

use std::fs;

use serde_json::{Value, json};

use super::{lines, sizes};
use crate::support::{Admin, Driver, DriverOptions, Scenario, Told, claim, eventually, shared};

/// A claim of 1 GiB, of a driver of its own.
fn bound(on: &Scenario) -> (Driver, String) {
    let options = DriverOptions { resizer: true, ..DriverOptions::default() };
    let driver = on.cluster.start_driver(&on.named("growing.example"), &options);
    on.create(&claim("data", &driver.class_delete));
    let volume = on.bound("data");
    let handle = on.handle(&volume);
    (driver, handle)
}

fn expand(admin: &Admin, on: &Scenario, more: &[&str]) -> Told {
    admin.run(&[&["expand", "pvc/data", "-n", &*on.name, "--yes"], more].concat())
}

/// The size of a volume at the backend.
fn backend(driver: &Driver, handle: &str) -> Value {
    let text = fs::read_to_string(driver.folder(handle).join("volume.json"));
    let volume: Value = serde_json::from_str(&text.expect("it exists")).expect("it is JSON");
    volume["capacity"].clone()
}

const GI: u64 = 1 << 30;

#[test]
#[ignore = "extended suite: external-resizer"]
fn a_claim_grows_and_cannot_shrink_again() {
    let on = Scenario::on(shared());
    let (driver, handle) = bound(&on);
    let (admin, mark) = (Admin::of(&on), on.cluster.mark());
    let planned = expand(&admin, &on, &["--by", "50%", "--dry-run"]).ends(0);
    assert_eq!(planned.listed("changes")[0]["storage"], 3 * GI / 2);
    expand(&admin, &on, &["--by", "50%", "--dry-run=server"]).ends(0);
    assert_eq!(lines(&admin.sent(mark)), ["dry patch persistentvolumeclaims data"]);
    assert_eq!(backend(&driver, &handle), GI);

    let mark = on.cluster.mark();
    let told = expand(&admin, &on, &["--to", "2Gi"]).ends(0);
    assert!(told.reason("data").contains("status.capacity is 2Gi"), "{:#}", told.json);
    let patch = "patch persistentvolumeclaims data";
    assert_eq!(lines(&admin.sent(mark)), [format!("dry {patch}"), patch.to_owned()]);
    assert_eq!(sizes(&on, "data"), ["2Gi", "2Gi"]);
    assert_eq!(backend(&driver, &handle), 2 * GI);

    let told = admin.refused(5, &["undo", "1", "--yes"]);
    assert!(told.json.to_string().contains("volumes cannot shrink"), "{:#}", told.json);
    assert!(expand(&admin, &on, &["--to", "1Gi"]).ends(5).reason("data").contains("not larger"));
    driver.stop("uninstall");
}

#[test]
#[ignore = "extended suite: external-resizer"]
fn an_infeasible_size_is_lowered_again() {
    let on = Scenario::on(shared());
    let (driver, handle) = bound(&on);
    let admin = Admin::of(&on);
    let fails = |code: &str| {
        let fail = json!({"code": code, "message": "the pool is full"});
        driver.fault(&json!({"ControllerExpandVolume": {"fail": fail}}));
    };
    fails("OUT_OF_RANGE");
    let told = expand(&admin, &on, &["--to", "8Gi"]).ends(6);
    assert_eq!(told.outcomes("failed"), ["data"], "{:#}", told.json);
    for word in ["infeasible", "the pool is full", "kubectl storage undo"] {
        assert!(told.reason("data").contains(word), "{:#}", told.json);
    }
    let again = expand(&admin, &on, &["--to", "9Gi"]).ends(5);
    assert!(again.reason("data").contains("has failed"), "{:#}", again.json);

    driver.fault(&json!({}));
    let undone = admin.run(&["undo", "--yes"]).ends(0);
    assert_eq!(undone.outcomes("done"), ["data"], "{:#}", undone.json);
    eventually("the least size is there", || sizes(&on, "data") == ["1025Mi", "1025Mi"]);
    assert_eq!(backend(&driver, &handle), 1025 * 1024 * 1024);

    // external-resizer goes on trying: the volume may grow at any moment.
    fails("UNAVAILABLE");
    let told = expand(&admin, &on, &["--to", "2Gi", "--timeout", "5s"]).ends(6);
    assert_eq!(told.outcomes("pending"), ["data"], "{:#}", told.json);
    assert!(told.reason("data").contains("the pool is full"), "{:#}", told.json);
    let undone = admin.refused(5, &["undo", "--yes"]);
    assert!(undone.json.to_string().contains("still trying"), "{:#}", undone.json);
    driver.fault(&json!({}));
    eventually("it has grown", || sizes(&on, "data") == ["2Gi", "2Gi"]);
    driver.stop("uninstall");
}

#[test]
#[ignore = "extended suite: external-resizer"]
fn a_file_system_waits_for_a_pod() {
    let on = Scenario::on(shared());
    let (driver, handle) = bound(&on);
    let state = driver.folder(&handle);
    let state = state.ancestors().nth(2).expect("volumes lie in the driver's folder");
    fs::write(state.join("node-expansion"), "").expect("the folder is ours");
    let admin = Admin::of(&on);
    let told = expand(&admin, &on, &["--to", "2Gi"]).ends(6);
    assert_eq!(told.outcomes("pending"), ["data"], "{:#}", told.json);
    assert!(told.reason("data").contains("no pod does: start one"), "{:#}", told.json);
    assert_eq!(sizes(&on, "data"), ["2Gi", "1Gi"]);
    assert_eq!(backend(&driver, &handle), 2 * GI);
    let again = expand(&admin, &on, &["--to", "3Gi"]).ends(5);
    assert!(again.reason("data").contains("when a pod mounts it"), "{:#}", again.json);
    let undone = admin.refused(5, &["undo", "--yes"]);
    assert!(undone.json.to_string().contains("has grown"), "{:#}", undone.json);
    driver.stop("uninstall");
}

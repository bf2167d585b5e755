//! Somebody stops a reclaim in the middle: what goes then is not said to be verified.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{DriverOptions, PersistentVolume, Run, Scenario, eventually, shared};

/// Longer than what was written takes to be seen.
const MOMENT: Duration = Duration::from_millis(2100);

#[test]
fn a_policy_taken_back_is_not_said_to_be_done() {
    let on = Scenario::on(shared());
    let driver = shared().start_driver("taken-back.csi.example", &DriverOptions::default());
    driver
        .fault(&json!({"DeleteVolume": {"fail": {"code": "INTERNAL", "message": "disk is busy"}}}));
    let name = on.named("pv");
    driver.make(&name);
    let volume = PersistentVolume::csi(&name, &driver.name, &name).left_by(&on.name, "data");
    on.create(&volume.provisioned_by(&driver.name).class(&driver.class_retain).0);
    let object = format!("pv/{name}");
    on.wait_phase(&object, "Released");
    sleep(MOMENT);

    let run = Run::of(&["gc", &name, "--older-than", "1s", "--yes", "-o", "json"])
        .more(&["--as", &on.named("admin"), "--as-group", "system:masters"])
        .kubeconfig(on.cluster.kubeconfig())
        .start();
    let policy = || on.read(&object)["spec"]["persistentVolumeReclaimPolicy"].clone();
    eventually("the policy is Delete", || policy() == "Delete");
    on.patch(&object, &json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}}));
    sleep(MOMENT);
    on.cluster.kubectl(&["delete", &object]);

    let outcome = run.finish();
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    let receipt: Value = serde_json::from_str(&outcome.stdout).expect("it is JSON");
    let change = &receipt["changes"][0];
    assert_eq!(change["outcome"], "pending", "{change:#}");
    let detail = change["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("its policy was changed to Retain"), "{detail}");
    assert!(driver.has(&name), "the driver was not able to delete it");
}

//! Incident 9: the `PersistentVolume` of a claim was removed by force, and came back without the uid of its claim.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::copied;
use super::screen::screen;
use crate::support::{Cluster, DriverOptions, Options, Scenario, claim, eventually, pod};

const INCIDENT: &str = "09-lost-claim";

#[test]
#[ignore = "extended suite: incidents, played again"]
fn i_09_lost_claim() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let driver = cluster.start_driver("disk.csi.example", &DriverOptions::default());
    on.create(&claim("data", &driver.class_delete));
    let volume = on.bound("data");
    let (object, handle) = (format!("pv/{volume}"), on.handle(&volume));
    on.create(&pod("db-0", "data"));
    eventually("the pod runs", || on.read("pod/db-0")["status"]["phase"] == "Running");
    let saved = on.read(&object);
    on.terminate(&volume);
    on.patch(&object, &json!({"metadata": {"finalizers": null}}));
    on.wait_gone(&object);
    on.wait_phase("pvc/data", "Lost");
    eventually("its loss is an event", || {
        cluster.kubectl(&["get", "events", "-n", &on.name]).contains("ClaimLost")
    });
    assert!(driver.has(&handle), "the backend volume remains");

    let audit = screen(&on, INCIDENT, &["audit"]);
    audit.says(&["critical", "pvc-lost", &volume, "does not exist"]);
    let explain = ["explain", "pvc/data", "-n", &on.name];
    let explained = screen(&on, INCIDENT, &explain);
    explained.says(&[
        &format!("pvc/{}/data  Lost", on.name),
        &format!("PersistentVolume {volume} does not exist"),
        "new pods with this claim cannot start",
        &format!("po/{}/db-0", on.name),
        "Running",
        "Bound claim has lost its PersistentVolume",
        "keep the claim",
        &format!("recreate PersistentVolume {volume} from its manifest, with policy Retain"),
        "the backend volume may still exist",
        // Without it nobody can write spec.claimRef.
        on.read("pvc/data")["metadata"]["uid"].as_str().expect("because it exists"),
    ]);
    explained.never_says(&["is destroyed", "data is lost"]);

    // Somebody restores it from a manifest without the uid.
    on.create(&without_uid(&saved));
    on.wait_phase(&object, "Available");
    sleep(Duration::from_secs(2));
    assert_eq!(on.read("pvc/data")["status"]["phase"], "Lost");
    let incident = format!("{INCIDENT}-without-uid");
    let audit = screen(&on, &incident, &["audit"]);
    audit.says(&["pvc-lost", "has this claim's name, but no uid"]);
    let explained = screen(&on, &incident, &explain);
    explained.says(&[
        &format!("spec.claimRef of PersistentVolume {volume} has this claim's name, but no uid"),
        &format!("kubectl storage rebind {object}"),
    ]);
    explained.never_says(&["does not exist"]);
    let command = copied::command(&explained, "kubectl storage rebind");
    copied::run(&cluster, &format!("{command} --yes"));
    on.wait_phase("pvc/data", "Bound");
    assert!(driver.has(&handle) && driver.delete_calls(&handle) == 0);
}

/// The volume as somebody would restore it: policy Retain, what the server sets left out, the uid of the claim too.
fn without_uid(saved: &Value) -> Value {
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": saved["metadata"]["name"]},
        "spec": saved["spec"],
    });
    let spec = &mut volume["spec"];
    spec["persistentVolumeReclaimPolicy"] = json!("Retain");
    let claim_ref = spec["claimRef"].as_object_mut().expect("because it was bound");
    claim_ref.remove("uid");
    claim_ref.remove("resourceVersion");
    volume
}

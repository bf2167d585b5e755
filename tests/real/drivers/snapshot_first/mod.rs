//! `delete pvc --snapshot-first` with the real snapshot controllers and the GCE PD driver: which snapshot is taken, what
//! is sent, and what is left of the disk.

mod meanwhile;
mod refused;
mod taken;

use serde_json::{Value, json};

use crate::support::{Admin, GcePd, Mark, Running, Scenario, Told, Write, claim, eventually};

/// A bound claim of a class with policy Delete, its volume and the handle of its disk.
fn bound(on: &Scenario, cloud: &GcePd, name: &str) -> (String, String) {
    on.create(&claim(name, &cloud.class_delete));
    let volume = on.bound(name);
    let disk = on.handle(&volume);
    assert!(cloud.has(&disk), "no disk {disk}");
    (volume, disk)
}

/// The words that delete a claim of the scenario after a snapshot.
fn delete<'a>(on: &'a Scenario, claim: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["delete", "pvc", claim, "-n", &*on.name, "--yes", "--snapshot-first"], more].concat()
}

/// Everything that was sent, dry runs too.
fn sent(admin: &Admin, since: Mark) -> Vec<String> {
    admin.sent(since).iter().map(Write::line).collect()
}

/// The snapshots of the namespace that this tool made.
fn snapshots(on: &Scenario) -> Vec<Value> {
    on.cluster.list(&on.name, "volumesnapshots")
}

fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().expect("because it has one").to_owned()
}

/// The one snapshot, and its handle at the cloud.
#[track_caller]
fn taken(on: &Scenario) -> (Value, String) {
    let all = snapshots(on);
    let [snapshot] = all.as_slice() else { panic!("{} snapshots: {all:#?}", all.len()) };
    let content = snapshot["status"]["boundVolumeSnapshotContentName"].as_str();
    let content = on.read(&format!("vsc/{}", content.expect("it is bound")));
    let handle = content["status"]["snapshotHandle"].as_str().expect("it is ready").to_owned();
    (snapshot.clone(), handle)
}

#[track_caller]
fn is_untouched(on: &Scenario, claim: &str, volume: &str, cloud: &GcePd, disk: &str) {
    assert!(on.read(&format!("pvc/{claim}"))["metadata"]["deletionTimestamp"].is_null());
    let volume = on.read(&format!("pv/{volume}"));
    assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Delete");
    assert_eq!(volume["status"]["phase"], "Bound");
    assert!(cloud.has(disk));
    assert_eq!(cloud.operations_on(disk), ["insert"]);
}

#[track_caller]
fn says(told: &Told, claim: &str, words: &[&str]) {
    let reason = told.reason(claim);
    for word in words {
        assert!(reason.contains(word), "{reason:?} does not say {word:?}");
    }
}

fn snapshot_class(name: &str, driver: &str, more: &Value) -> Value {
    let mut class = json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotClass",
        "metadata": {"name": name}, "driver": driver, "deletionPolicy": "Delete",
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        class[key] = value.clone();
    }
    class
}

fn as_default(name: &str) -> Value {
    let annotations = json!({"snapshot.storage.kubernetes.io/is-default-class": "true"});
    json!({"metadata": {"name": name, "annotations": annotations}})
}

/// Begins a deletion, and waits until its snapshot was created, which is not taken yet.
fn begun(on: &Scenario, admin: &Admin, more: &[&str]) -> Running {
    let known = snapshots(on).len();
    let running = admin.by(on.cluster.kubeconfig(), &delete(on, "data", more)).start();
    eventually("the snapshot is created", || snapshots(on).len() > known);
    running
}

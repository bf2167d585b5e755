//! `fix-finalizers` against real controllers, and against none: what it removes, what it refuses, and what is gone
//! afterwards.
//!
//! `../finalizers.rs` holds what the audit says of the same.

mod absent;
mod attachments;
mod behind;
mod blind;
mod claims;
mod foreign;
mod guarded;
mod halfway;
mod review;
mod rights;
mod rolled_back;
mod saved;
mod stubborn;
mod waits;

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Admin, Mark, PersistentVolume, STILL, Scenario, Told, Write, eventually};

const EXTERNAL: &str = "external-provisioner.volume.kubernetes.io/finalizer";
const IN_TREE: &str = "kubernetes.io/pv-controller";
const PV_PROTECTION: &str = "kubernetes.io/pv-protection";
const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";

/// A driver that nobody ever installed where no controller runs, and the user's word for it.
const GONE: &str = "gone.csi.example";
const IS_GONE: [&str; 2] = ["--driver-absent", GONE];

/// Whatever counts as long after minutes does after a second.
const SOON: [&str; 12] = [
    "--threshold",
    "finalizer=1s",
    "--threshold",
    "stuck=1s",
    "--threshold",
    "detach=1s",
    "--threshold",
    "protection=1s",
    "--threshold",
    "claim-protection=1s",
    "--threshold",
    "driver-action=1s",
];

/// The words of a run.
fn fix<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["fix-finalizers"], &SOON[..], words].concat()
}

/// A volume of the driver that is gone, whose claim is gone too: it needs nothing but its finalizers to go.
fn left(on: &Scenario, name: &str) -> PersistentVolume {
    let name = on.named(name);
    PersistentVolume::csi(&name, GONE, &name).left_by(&on.name, "gone").provisioned_by(GONE)
}

/// Creates a volume in a cluster without controllers, with these finalizers and no others, in a phase.
fn make(on: &Scenario, volume: &PersistentVolume, phase: &str, finalizers: &[&str]) -> String {
    let made = on.create(&volume.0);
    let object = format!("pv/{}", made["metadata"]["name"].as_str().unwrap_or_default());
    on.patch_status(&object, &json!({"status": {"phase": phase}}));
    set_finalizers(on, &object, finalizers);
    object
}

/// The same, deleted, and for long enough.
fn hang(on: &Scenario, volume: &PersistentVolume, finalizers: &[&str]) -> String {
    let object = make(on, volume, "Released", finalizers);
    on.terminate(object.trim_start_matches("pv/"));
    grow_old();
    object
}

/// Waits until what was done before counts as long ago: the server's times are of whole seconds.
fn grow_old() {
    sleep(Duration::from_millis(2100));
}

fn set_finalizers(on: &Scenario, object: &str, finalizers: &[&str]) {
    on.patch(object, &json!({"metadata": {"finalizers": finalizers}}));
}

fn finalizers(on: &Scenario, object: &str) -> Vec<String> {
    let live = on.read(object);
    let all = live["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    all.iter().map(|it| it.as_str().unwrap_or_default().to_owned()).collect()
}

/// Waits until the garbage collector and kwok have taken away all that would run a driver.
fn wait_uninstalled(on: &Scenario, namespace: &str) {
    eventually("nothing is left that would run the driver", || {
        let kinds = "deployments,replicasets,pods";
        on.cluster.kubectl(&["get", kinds, "-n", namespace, "-o", "name"]).trim().is_empty()
    });
}

/// What was asked to be changed since, in order, in the words of [`Write::line`].
fn lines(sent: &[Write]) -> Vec<String> {
    sent.iter().map(Write::line).collect()
}

/// Panics unless the requests since are a dry run and the real removal of one finalizer, by a patch that tests all that
/// it rests on, and nothing else. Returns the patch.
#[track_caller]
fn one_removal(admin: &Admin, since: Mark, plural: &str, before: &Value, finalizer: &str) -> Value {
    let sent = admin.sent(since);
    let name = before["metadata"]["name"].as_str().unwrap_or_default();
    let patched: Vec<_> = sent.iter().filter(|it| it.resource == plural).collect();
    let of_it: Vec<_> = patched.iter().map(|it| it.line()).collect();
    assert_eq!(of_it, [format!("dry patch {plural} {name}"), format!("patch {plural} {name}")]);
    // Besides, what is left without an object is recorded.
    let others: Vec<_> = sent.iter().filter(|it| it.resource != plural).collect();
    assert!(others.iter().all(|it| it.resource == "configmaps"), "{others:#?}");
    assert_eq!(patched[0].body, patched[1].body);
    let patch = patched[1].body.clone();
    is_one_removal(&patch, before, finalizer);
    patch
}

/// Panics unless a patch removes this finalizer from where it was, and tests that it is there.
#[track_caller]
fn is_one_removal(patch: &Value, before: &Value, finalizer: &str) {
    let all = before["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let place = all.iter().position(|it| it == finalizer).expect("because it was there");
    let place = format!("/metadata/finalizers/{place}");
    let operations = patch.as_array().expect("because it is a JSON patch");
    let tests = |field: &str| {
        tested(patch, field).unwrap_or_else(|| panic!("{field} is not tested: {patch:#}"))
    };
    assert_eq!(*tests("/metadata/uid"), before["metadata"]["uid"]);
    assert_eq!(*tests("/metadata/resourceVersion"), before["metadata"]["resourceVersion"]);
    assert_eq!(tests(&place), finalizer);
    let writes: Vec<_> = operations.iter().filter(|it| it["op"] != "test").collect();
    assert_eq!(writes, [&json!({"op": "remove", "path": place})], "{patch:#}");
}

/// The value that a patch tests at a path, or nothing.
fn tested<'a>(patch: &'a Value, field: &str) -> Option<&'a Value> {
    let mut all = patch.as_array()?.iter();
    all.find(|it| it["op"] == "test" && it["path"] == field).map(|it| &it["value"])
}

/// Panics unless the one object that was named was refused before anything was begun, for a reason that has all of these
/// words.
#[track_caller]
fn because(told: &Told, name: &str, words: &[&str]) {
    let reason = told.reason(name);
    for word in words {
        assert!(reason.contains(word), "{name}: {reason:?} does not say {word:?}");
    }
}

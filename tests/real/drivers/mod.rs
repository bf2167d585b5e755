//! Drivers that people run, as they were released: what the tool reclaims there, what it refuses, and what is left at
//! the backend.

mod deleted_claims;
mod gce_pd;
mod in_tree_host_path;
mod listed_disks;
mod local_path;
mod own_inventories;
mod snapshot_first;

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::support::{Admin, Mark, Scenario, Write};

/// All that is left over in the scenario's namespace, and is no younger than two seconds.
fn gc<'a>(on: &'a Scenario) -> [&'a str; 6] {
    ["gc", "-n", &on.name, "--older-than", "1s", "--yes"]
}

/// Deletes the claim of a bound volume, and waits until it has been Released for longer than [`gc`] asks for.
fn release(on: &Scenario, claim: &str, volume: &str) {
    on.delete(&format!("pvc/{claim}"));
    on.wait_phase(&format!("pv/{volume}"), "Released");
    age();
}

/// Lets what is Released be so for longer than [`gc`] asks for.
fn age() {
    sleep(Duration::from_millis(2100));
}

/// Panics unless all that somebody sent since is one change of a volume: that it is to be deleted with its claim. It was
/// tried first.
#[track_caller]
fn only_the_policy_was_sent(admin: &Admin, since: Mark, volume: &str) {
    let sent = admin.sent(since);
    let line = format!("patch persistentvolumes {volume}");
    let lines: Vec<_> = sent.iter().map(Write::line).collect();
    assert_eq!(lines, [format!("dry {line}"), line], "{sent:#?}");
    assert_eq!(sent[0].body, sent[1].body);
    let policy =
        json!({"op": "replace", "path": "/spec/persistentVolumeReclaimPolicy", "value": "Delete"});
    let operations = sent[1].body.as_array().expect("because it is a JSON patch");
    assert!(operations.contains(&policy), "{operations:#?}");
}

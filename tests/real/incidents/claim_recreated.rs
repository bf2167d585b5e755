//! A claim was deleted and created again from its own manifest, and does not get its volume back.

use serde_json::json;

use super::copied;
use super::screen::screen;
use crate::support::{Cluster, DriverOptions, Options, Scenario, claim, eventually, pod};

const INCIDENT: &str = "05-claim-recreated";
const SOON: [&str; 4] = ["--threshold", "pvc-pending=1s", "--threshold", "stuck=1s"];

#[test]
#[ignore = "extended suite: incidents, played again"]
fn claim_recreated() {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::COMPLETE });
    let on = Scenario::on(&cluster);
    let driver = cluster.start_driver("kept.csi.example", &DriverOptions::default());
    on.create(&claim("orders", &driver.class_retain));
    let volume = on.bound("orders");
    let object = format!("pv/{volume}");
    on.delete("pvc/orders");
    on.wait_gone("pvc/orders");
    on.wait_phase(&object, "Released");

    let mut again = claim("orders", &driver.class_retain);
    again["spec"]["volumeName"] = json!(volume);
    on.create(&again);
    on.create(&pod("orders", "orders"));
    let about = |name: &str, reason: &str| {
        let events = on.cluster.list(&on.name, "events");
        events.iter().any(|it| it["involvedObject"]["name"] == *name && it["reason"] == *reason)
    };
    eventually("the claim waits", || about("orders", "FailedBinding"));
    eventually("the pod waits", || about("orders", "FailedScheduling"));
    std::thread::sleep(std::time::Duration::from_secs(3));

    let audit = screen(&on, INCIDENT, &[&["audit"][..], &SOON].concat());
    let explain =
        screen(&on, INCIDENT, &[&["explain", "pvc/orders", "-n", &on.name][..], &SOON].concat());
    audit.says(&[
        &format!("{object} pv-released-claim-recreated: its claim was recreated: the new claim does not have the data"),
        "also pv-referenced-by-other-pvc (same object)",
        &format!("and pvc/{}/orders that waits for it", on.name),
        "Next: decide whether this claim may read the old data; then clear spec.claimRef.uid:",
        &format!("kubectl storage rebind {object}"),
    ]);
    assert_eq!(audit.lines_with("Next:"), 1, "{}", audit.0);
    explain.says(&[
        "Pending for",
        &format!("volume {volume} (Released, policy Retain)"),
        &format!("{object} pv-released-claim-recreated"),
        "still has the uid of an earlier claim of this name in spec.claimRef",
        &format!("Error: volume \"{volume}\" already bound to a different claim."),
        "decide whether this claim may read the old data",
        &format!("po/{}/orders: references it, Pending", on.name),
        "If deleted:",
        &format!("{object} no change"),
    ]);
    for screen in [&audit, &explain] {
        screen.never_says(&["No findings", "destroyed", "(leak)"]);
    }

    // The command stands there to be copied.
    let command = copied::command(&explain, "kubectl storage rebind");
    copied::run(&cluster, &format!("{command} --yes"));
    assert_eq!(on.bound("orders"), volume);
}

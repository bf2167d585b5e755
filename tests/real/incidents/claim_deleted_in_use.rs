//! Incident 7: a claim was deleted under a running pod, and the policy of its volume is Delete.

use std::time::Duration;

use super::copied;
use super::screen::screen;
use crate::support::{Cluster, DriverOptions, Options, Scenario, claim, eventually, never, pod};

const INCIDENT: &str = "07-claim-deleted-in-use";

#[test]
#[ignore = "extended suite: incidents, played again"]
fn i_07_claim_deleted_under_a_running_pod() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let driver = cluster.start_driver("disk.csi.example", &DriverOptions::default());
    on.create(&claim("data", &driver.class_delete));
    let volume = on.bound("data");
    let handle = on.handle(&volume);
    on.create(&pod("db-0", "data"));
    eventually("the pod runs", || on.read("pod/db-0")["status"]["phase"] == "Running");
    on.delete("pvc/data");
    eventually("the claim is Terminating", || {
        !on.read("pvc/data")["metadata"]["deletionTimestamp"].is_null()
    });

    let audit = screen(&on, INCIDENT, &["audit"]);
    audit.says(&[
        "pvc-terminating-in-use",
        "Terminating while pods use it",
        "policy Delete can destroy the data",
    ]);
    let explained = screen(&on, INCIDENT, &["explain", "pvc/data", "-n", &on.name]);
    let retain = format!("kubectl storage retain pv/{volume}");
    explained.says(&[
        &format!("pvc/{}/data  Bound, Terminating for", on.name),
        "pvc-terminating-in-use",
        "policy Delete",
        "when the last of these pods is deleted",
        &format!("po/{}/db-0", on.name),
        "Running",
        &retain,
    ]);
    assert_eq!(explained.lines_with(&retain), 1, "its command is whole:\n{}", explained.0);
    // Nothing brings a Terminating claim back.
    explained.never_says(&["undelete", "can be reverted"]);

    copied::run(&cluster, &format!("{retain} --yes"));
    on.delete("pod/db-0");
    on.wait_gone("pvc/data");
    on.wait_phase(&format!("pv/{volume}"), "Released");
    never("the data is destroyed", Duration::from_secs(2), || !driver.has(&handle));
}

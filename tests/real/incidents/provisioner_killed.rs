//! The provisioner of a driver was stopped for good, while volumes with policy Delete become Released.

use super::screen::screen;
use crate::support::{Cluster, DriverOptions, Options, Scenario, claim, eventually};

const INCIDENT: &str = "01-provisioner-killed";
const NAME: &str = "killed.csi.example";
const SOON: [&str; 4] = ["--threshold", "delete-wait=1s", "--threshold", "stuck=1s"];

#[test]
#[ignore = "extended suite: incidents, played again"]
fn provisioner_killed() {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::COMPLETE });
    let on = Scenario::on(&cluster);
    let driver = cluster.start_driver(NAME, &DriverOptions::default());
    let names = ["orders", "mail", "wiki", "cache", "builds", "metrics"];
    for name in names {
        on.create(&claim(name, &driver.class_delete));
    }
    let volumes = names.map(|name| on.bound(name));
    driver.stop("scale-to-zero");
    eventually("its pod is gone", || on.cluster.list("csi-killed-csi-example", "pods").is_empty());
    for (name, volume) in names.iter().zip(&volumes) {
        on.delete(&format!("pvc/{name}"));
        on.wait_phase(&format!("pv/{volume}"), "Released");
    }
    std::thread::sleep(std::time::Duration::from_secs(35)); // until its Lease has expired

    let audit = screen(&on, INCIDENT, &[&["audit"][..], &SOON].concat());
    let object = format!("pv/{}", volumes[0]);
    let explain = screen(&on, INCIDENT, &[&["explain", &object][..], &SOON].concat());
    audit.says(&[
        "pv-released-delete-stuck: Released with policy Delete, but not reclaimed: csi-provisioner of killed.csi.example seems \
         to have stopped (lease/csi-killed-csi-example/killed-csi-example was not renewed since",
        "start csi-provisioner of killed.csi.example again",
        "kubectl storage retain pv/",
        "6 high: 6 volumes",
        "Released 6Gi",
    ]);
    assert_eq!(audit.lines_with("pv-released-delete-stuck"), 1, "they are folded: {}", audit.0);
    for volume in &volumes {
        audit.says(&[&format!("1Gi pv/{volume}")]);
    }
    audit.never_says(&["is running", "cause not found"]);
    explain.says(&[
        "Released for",
        "claim provisioner-killed/orders (does not exist)",
        "reclaimed by csi-provisioner of killed.csi.example",
        &on.handle(&volumes[0]),
        "seems to have stopped",
        "whether it runs is unknown",
        "was not renewed since",
        "Next: start csi-provisioner of killed.csi.example again; or else",
        &format!("kubectl storage retain {object}"),
        "If deleted: destroyed later",
    ]);
    explain.never_says(&["is running", "cause not found"]);
    // It is as was said: the backend volumes are there, and are deleted once it runs again.
    assert!(driver.has(&on.handle(&volumes[0])));
    driver.resume();
    on.wait_gone(&object);
}

//! The provisioner of a driver was stopped for good, while volumes with policy Delete become Released.

use super::screen::screen;
use crate::support::{Cluster, DriverOptions, Options, Scenario, claim, eventually};

const INCIDENT: &str = "01-provisioner-killed";
const NAME: &str = "killed.csi.example";
const SOON: [&str; 4] = ["--threshold", "delete-wait=1s", "--threshold", "stuck=1s"];

#[test]
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
    std::thread::sleep(std::time::Duration::from_secs(12)); // until its Lease has expired

    let audit = screen(&on, INCIDENT, &[&["audit"][..], &SOON].concat());
    let object = format!("pv/{}", volumes[0]);
    let explain = screen(&on, INCIDENT, &[&["explain", &object][..], &SOON].concat());
    screen(&on, INCIDENT, &["explain", &format!("driver/{NAME}")]);
    audit.says(&[NAME]);
    explain.says(&[NAME]);
}

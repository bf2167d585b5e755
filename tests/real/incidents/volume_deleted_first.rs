//! Incident 8: a `PersistentVolume` was deleted before its claim, and lacked the deletion-protection finalizer.

use std::time::Duration;

use serde_json::json;

use super::screen::{Screen, screen};
use crate::support::{Cluster, DriverOptions, Options, Scenario, claim, eventually, never, pod};

const INCIDENT: &str = "08-volume-deleted-first";

#[test]
#[ignore = "extended suite: incidents, played again"]
fn i_08_volume_deleted_before_its_claim() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let driver = cluster.start_driver("disk.csi.example", &DriverOptions::default());
    on.create(&claim("data", &driver.class_delete));
    on.create(&claim("other", &driver.class_delete));
    let volume = on.bound("data");
    on.bound("other");
    let (object, handle) = (format!("pv/{volume}"), on.handle(&volume));
    on.create(&pod("db-0", "data"));
    eventually("the pod runs", || on.read("pod/db-0")["status"]["phase"] == "Running");
    // As provisioners before HonorPVReclaimPolicy left their volumes.
    driver.stop("scale-to-zero");
    on.patch(&object, &json!({"metadata": {"finalizers": ["kubernetes.io/pv-protection"]}}));
    on.terminate(&volume);
    driver.resume();

    let audit = screen(&on, INCIDENT, &["audit"]);
    audit.says(&["critical", "pv-leak-imminent", "deleting the claim leaks"]);
    let first = |screen: &Screen, text: &str| screen.0.find(text).unwrap_or(usize::MAX);
    assert!(first(&audit, "pv-leak-imminent") < first(&audit, "pvc-unused"), "{}", audit.0);

    let retain = format!("kubectl storage retain {object}");
    let explained = screen(&on, INCIDENT, &["explain", &object]);
    explained.says(&[
        "Bound, Terminating for",
        &format!("{}/data (Bound)", on.name),
        "reclaim policy  Delete",
        &handle,
        "deleting the claim leaks the backend volume",
        "disk.csi.example",
        &retain,
        "If its claim is deleted: the backend volume is leaked",
        &format!("po/{}/db-0", on.name),
    ]);
    let of_claim = screen(&on, INCIDENT, &["explain", "pvc/data", "-n", &on.name]);
    of_claim.says(&[
        "pv-leak-imminent",
        "leak",
        &format!("po/{}/db-0", on.name),
        "the backend volume is leaked",
        &retain,
    ]);
    for screen in [&explained, &of_claim] {
        screen.never_says(&["data is destroyed", "deletes the backend volume, at once"]);
    }

    // What they foretell happens.
    on.delete("pod/db-0");
    eventually("the pod is deleted", || on.get("pod/db-0").is_none());
    on.delete("pvc/data");
    on.wait_gone("pvc/data");
    on.wait_gone(&object);
    never("the backend volume is deleted", Duration::from_secs(2), || !driver.has(&handle));
    assert_eq!(driver.delete_calls(&handle), 0);
}

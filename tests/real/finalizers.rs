//! Volumes that hang on finalizers (D-14, D-28, D-33).

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::support::{
    Cluster, DriverOptions, Options, PersistentVolume, Scenario, claim, eventually, shared,
};

const PROTECTION: &str = "external-provisioner.volume.kubernetes.io/finalizer";

/// The driver is uninstalled; its finalizer, and somebody else's, stay on a Terminating volume.
///
/// In a cluster of its own: a provisioner that does not say for whom it works might work for this driver.
#[test]
fn d_14_finalizer_of_an_uninstalled_driver() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let driver = cluster.start_driver("d14.csi.example", &DriverOptions::default());
    on.create(&claim("data", &driver.class_retain));
    let name = on.bound("data");
    let object = format!("pv/{name}");
    on.wait_finalizer(&object, PROTECTION, false);
    driver.stop("uninstall");
    let finalizers = ["kubernetes.io/pv-protection", PROTECTION, "example.com/backup"];
    on.patch(&object, &json!({"metadata": {"finalizers": finalizers}}));
    on.delete("pvc/data");
    on.wait_phase(&object, "Released");
    on.terminate(&name);
    on.wait_finalizer(&object, "kubernetes.io/pv-protection", false);
    eventually("nothing is left that would run the driver", || {
        let all = on.cluster.kubectl(&[
            "get",
            "deployments,replicasets,pods",
            "-n",
            "csi-d14-csi-example",
            "-o",
            "name",
        ]);
        all.trim().is_empty()
    });
    sleep(Duration::from_secs(2));

    let soon = ["--threshold", "finalizer=1s", "--threshold", "stuck=1s"];
    let report = on.audit(&soon);
    report.expect_not(&object, "pv-ext-finalizer-orphaned-driver");
    let stale = report.finding("pv-stale-ext-finalizer-retain", &object);
    stale.expect("medium", "blocked");
    report.is_fixture("pv-stale-ext-finalizer-retain", &object);
    report.finding("pv-or-pvc-unknown-finalizer", &object).says(&["example.com/backup"]);
    report.is_fixture("pv-or-pvc-unknown-finalizer", &object);

    // The volume itself shows that the provisioner worked a minute ago.
    let report = on.audit(&[&soon[..], &["--driver-absent", "d14.csi.example"]].concat());
    report.expect_not(&object, "pv-ext-finalizer-orphaned-driver");

    let word = ["--driver-absent", "d14.csi.example", "--threshold", "driver-action=1s"];
    let report = on.audit(&[&soon[..], &word].concat());
    let orphaned = report.finding("pv-ext-finalizer-orphaned-driver", &object);
    orphaned.expect("high", "fixable").says(&["d14.csi.example", &on.handle(&name)]);
    report.is_fixture("pv-ext-finalizer-orphaned-driver", &object);
    report.is_fixture("provisioner-absent", "csidriver/d14.csi.example");
    assert!(driver.has(&on.handle(&name)));
    assert_eq!(driver.delete_calls(&on.handle(&name)), 0);
}

/// A provisioner that is scaled to zero will come back: it is not absent, whatever anybody says.
#[test]
fn d_16_finalizer_of_a_driver_scaled_to_zero() {
    let on = Scenario::on(shared());
    let driver = shared().start_driver("d16.csi.example", &DriverOptions::default());
    on.create(&claim("data", &driver.class_delete));
    let name = on.bound("data");
    let (object, handle) = (format!("pv/{name}"), on.handle(&name));
    on.wait_finalizer(&object, PROTECTION, true);
    driver.stop("scale-to-zero");
    on.delete("pvc/data");
    on.wait_phase(&object, "Released");
    sleep(Duration::from_secs(2));

    let soon = [
        "--threshold",
        "driver-action=1s",
        "--threshold",
        "stuck=1s",
        "--driver-absent",
        "d16.csi.example",
    ];
    let report = on.audit(&soon);
    report.is_near_miss("pv-ext-finalizer-orphaned-driver", &object);
    report.is_near_miss("provisioner-absent", "csidriver/d16.csi.example");
    report.finding("pv-released-delete-stuck", &object).severe("high").says(&["d16.csi.example"]);
    assert!(driver.has(&handle));

    driver.resume();
    on.wait_gone(&object);
    assert!(!driver.has(&handle));
}

/// The backend refuses, and the report quotes it.
#[test]
fn a_backend_that_cannot_delete() {
    let on = Scenario::on(shared());
    let driver = shared().start_driver("broken.csi.example", &DriverOptions::default());
    on.create(&claim("data", &driver.class_delete));
    let name = on.bound("data");
    let (object, handle) = (format!("pv/{name}"), on.handle(&name));
    driver
        .fault(&json!({"DeleteVolume": {"fail": {"code": "INTERNAL", "message": "disk on fire"}}}));
    on.delete("pvc/data");
    eventually("the driver was asked", || driver.delete_calls(&handle) > 0);
    sleep(Duration::from_secs(2));

    let report = on.audit(&["--threshold", "stuck=1s"]);
    let finding = report.finding("pv-released-delete-stuck", &object);
    finding.expect("high", "fixable").says(&["disk on fire"]); // `retain` is a stop
    report.is_fixture("pv-released-delete-stuck", &object);
    report.is_near_miss("provisioner-rbac-missing-patch", "csidriver/broken.csi.example");
    assert!(driver.has(&handle));

    driver.fault(&json!({}));
    on.wait_gone(&object);
    assert!(!driver.has(&handle));
}

/// The provisioner may delete volumes, and may not take its finalizer off them.
#[test]
fn d_28_provisioner_may_not_patch_volumes() {
    let on = Scenario::on(shared());
    let driver = shared().start_driver(
        "d28.csi.example",
        &DriverOptions { rbac_without: &["patch"], ..DriverOptions::default() },
    );
    on.create(&claim("data", &driver.class_delete));
    let name = on.bound("data");
    let (object, handle) = (format!("pv/{name}"), on.handle(&name));
    assert!(on.has_finalizer(&object, PROTECTION), "a new volume has it from its creation");
    on.delete("pvc/data");
    eventually("the volume is Terminating", || {
        !on.read(&object)["metadata"]["deletionTimestamp"].is_null()
    });
    sleep(Duration::from_secs(3));
    assert!(!driver.has(&handle), "the backend volume goes nevertheless");

    let report = on.audit(&["--threshold", "stuck=1s"]);
    report
        .finding("provisioner-rbac-missing-patch", "csidriver/d28.csi.example")
        .expect("high", "report-only");
    report.is_fixture("provisioner-rbac-missing-patch", "csidriver/d28.csi.example");
    report.finding("pv-delete-in-progress-or-failing", &object).expect("high", "report-only");
    report.is_fixture("pv-delete-in-progress-or-failing", &object);

    driver.grant_all();
    on.wait_gone(&object);
}

/// Nobody will delete the backend of a volume that only the attacher's finalizer holds.
#[test]
fn d_33_only_the_attachers_finalizer_is_left() {
    let on = Scenario::on(shared());
    let name = on.named("pv");
    let object = format!("pv/{name}");
    let volume = PersistentVolume::csi(&name, "d33.csi.example", "vol-33").policy("Delete");
    let volume = volume.provisioned_by("d33.csi.example").left_by(&on.name, "gone");
    on.create(&volume.finalizers(&["external-attacher/d33-csi-example"]).0);
    on.wait_phase(&object, "Released");
    on.terminate(&name);
    on.wait_finalizer(&object, "kubernetes.io/pv-protection", false);
    sleep(Duration::from_secs(3));

    let report = on.audit(&["--threshold", "detach=1s"]);
    let finding = report.finding("pv-stuck-attacher-finalizer", &object).expect("high", "blocked");
    finding.says(&["backend", "d33.csi.example", "vol-33", "external-attacher/d33-csi-example"]);
    report.is_fixture("pv-stuck-attacher-finalizer", &object);
}

/// Somebody puts the finalizer of in-tree volumes on a CSI volume: no controller ever takes it away.
#[test]
fn the_in_tree_finalizer_stays_on_a_csi_volume() {
    let on = Scenario::on(shared());
    let name = on.named("pv");
    let object = format!("pv/{name}");
    let volume = PersistentVolume::csi(&name, "none.csi.example", &name).left_by(&on.name, "gone");
    on.create(&volume.finalizers(&["kubernetes.io/pv-controller"]).0);
    on.wait_phase(&object, "Released");
    sleep(Duration::from_secs(3));
    assert!(on.has_finalizer(&object, "kubernetes.io/pv-controller"), "a controller removed it");

    let report = on.audit(&["--threshold", "finalizer=1s"]);
    report.finding("pv-stale-intree-finalizer-migrated", &object).expect("medium", "fixable");
    report.is_fixture("pv-stale-intree-finalizer-migrated", &object);
}

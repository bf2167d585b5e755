//! Somebody is there who will do it, or may come back: the tool waits, and says for what.

use std::time::Duration;

use serde_json::json;

use super::{
    Admin, EXTERNAL, GONE, IS_GONE, STILL, because, finalizers, fix, grow_old, hang, left,
};
use crate::support::{DriverOptions, Scenario, claim, eventually, never, shared};

/// A provisioner that is scaled to zero will come back: it is not absent, whatever anybody says.
#[test]
fn d_16_a_driver_scaled_to_zero_is_not_absent() {
    let on = Scenario::on(shared());
    let driver = shared().start_driver("d16fix.csi.example", &DriverOptions::default());
    on.create(&claim("data", &driver.class_delete));
    let name = on.bound("data");
    let (object, handle) = (format!("pv/{name}"), on.handle(&name));
    on.wait_finalizer(&object, EXTERNAL, true);
    driver.stop("scale-to-zero");
    on.delete("pvc/data");
    on.wait_phase(&object, "Released");
    on.terminate(&name);
    on.wait_finalizer(&object, super::PV_PROTECTION, false);
    grow_old();

    let admin = Admin::of(&on);
    let word = ["--driver-absent", &driver.name, "--yes"];
    // Its Lease may still be its successor's.
    let told = admin.refused(5, &fix(&[&[&*object, "--accept-leak"][..], &word].concat()));
    because(&told, &name, &[&driver.name]);
    let expired = json!({"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}});
    on.cluster.patch("csi-d16fix-csi-example", "lease/d16fix-csi-example", &expired);
    eventually("its pod is gone", || {
        let pods = ["get", "pods", "-n", "csi-d16fix-csi-example", "-o", "name"];
        on.cluster.kubectl(&pods).trim().is_empty()
    });
    for more in [&[][..], &["--accept-leak"], &["--reclaim"]] {
        let told = admin.refused(5, &fix(&[&[&*object][..], &word, more].concat()));
        because(&told, &name, &[&driver.name, "unknown", "scale it up"]);
        let by_filter = fix(&[&["-n", &*on.name][..], &word, more].concat());
        assert_eq!(admin.refused(0, &by_filter).refusals(), [&*name]);
    }
    assert!(driver.has(&handle));
    driver.resume();
    on.wait_gone(&object);
    assert!(!driver.has(&handle));
}

/// The right repair is a rule of RBAC, and the tool says which.
#[test]
fn d_28_a_provisioner_that_may_not_patch_is_given_the_right() {
    let on = Scenario::on(shared());
    let options = DriverOptions { rbac_without: &["patch"], ..DriverOptions::default() };
    let driver = shared().start_driver("d28fix.csi.example", &options);
    on.create(&claim("data", &driver.class_delete));
    let name = on.bound("data");
    let (object, handle) = (format!("pv/{name}"), on.handle(&name));
    on.delete("pvc/data");
    eventually("the volume is Terminating", || {
        !on.read(&object)["metadata"]["deletionTimestamp"].is_null()
    });
    eventually("the backend volume is gone", || !driver.has(&handle));
    grow_old();

    let report = on.audit(&["--threshold", "stuck=1s"]);
    report.finding("provisioner-rbac-missing-patch", "csidriver/d28fix.csi.example");
    report.finding("pv-delete-in-progress-or-failing", &object).expect("high", "report-only");
    let admin = Admin::of(&on);
    let account = "csi-d28fix-csi-example/csi-controller";
    let word = ["--driver-absent", &driver.name, "--yes"];
    for more in [&[][..], &["--accept-leak"], &["--reclaim"]] {
        let told = admin.refused(5, &fix(&[&[&*object][..], &word, more].concat()));
        because(&told, &name, &[account, "may not patch persistentvolumes"]);
    }
    assert!(on.has_finalizer(&object, EXTERNAL));
    driver.grant_all();
    on.wait_gone(&object);
}

/// Whatever would run it, of any replica count, is a driver that is not absent.
#[test]
fn a_driver_that_two_deployments_would_run_is_never_absent() {
    const NAME: &str = "twice.csi.example";
    let on = Scenario::on(&STILL);
    let name = on.named("pv");
    let volume = crate::support::PersistentVolume::csi(&name, NAME, &name);
    let volume = volume.left_by(&on.name, "gone").provisioned_by(NAME);
    let object = hang(&on, &volume, &[EXTERNAL]);
    let deployment = |name: &str| {
        let labels = json!({"app": name});
        let container = json!({
            "name": "sidecar", "image": "registry.k8s.io/sig-storage/csi-provisioner:v6.3.0",
            "args": [format!("--drivername={NAME}")],
        });
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {
                "replicas": 0, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        })
    };
    for name in ["old", "new"] {
        on.create(&deployment(name));
    }
    let admin = Admin::of(&on);
    let args = fix(&[&object, "--yes", "--driver-absent", NAME]);
    because(&admin.refused(5, &args), &name, &[NAME]);
    on.delete("deployment/old");
    on.wait_gone("deployment/old");
    because(&admin.refused(5, &args), &name, &[NAME]);
    on.delete("deployment/new");
    on.wait_gone("deployment/new");
    assert_eq!(admin.run(&args).ends(0).outcomes("done"), [&*name]);
    on.wait_gone(&object);
}

/// One that is no CSI driver leaves no trace: that nothing of it is seen proves nothing.
#[test]
fn a_provisioner_that_is_not_csi_is_never_absent() {
    const NAME: &str = "rancher.io/local-path";
    let on = Scenario::on(&STILL);
    let name = on.named("pv");
    let volume = crate::support::PersistentVolume::host_path(&name, "/opt/any");
    let volume = volume.left_by(&on.name, "gone").provisioned_by(NAME);
    let object = hang(&on, &volume, &[EXTERNAL]);
    let admin = Admin::of(&on);
    let told = admin.refused(5, &fix(&[&object, "--yes", "--driver-absent", NAME]));
    because(&told, &name, &["unknown which controller should remove it"]);
    assert_eq!(finalizers(&on, &object), [EXTERNAL]);
}

/// Nobody's word is taken for another driver's.
#[test]
fn a_word_about_another_driver_is_no_word() {
    let on = Scenario::on(&STILL);
    let object = hang(&on, &left(&on, "pv"), &[EXTERNAL]);
    let name = on.named("pv");
    let admin = Admin::of(&on);
    for word in ["other.csi.example", "gone.csi", "kube-controller-manager"] {
        let told = admin.refused(5, &fix(&[&object, "--yes", "--driver-absent", word]));
        because(&told, &name, &[GONE, "unknown"]);
    }
    let both = ["--driver-absent", "other.csi.example"];
    let told = admin.run(&fix(&[&[&*object, "--yes"][..], &both, &IS_GONE].concat())).ends(0);
    assert_eq!(told.outcomes("done"), [&*name]);
    never("it is there", Duration::from_millis(500), || on.get(&object).is_some());
}

/// A known bug of a version is repaired by another version.
#[test]
fn a_provisioner_of_a_known_bad_version_is_to_be_upgraded() {
    let on = Scenario::on(shared());
    let image = Some("registry.k8s.io/sig-storage/csi-provisioner:v5.0.1");
    let options = DriverOptions { provisioner_image: image, ..DriverOptions::default() };
    let driver = shared().start_driver("d37fix.csi.example", &options);
    on.create(&claim("data", &driver.class_delete));
    let name = on.bound("data");
    let (object, handle) = (format!("pv/{name}"), on.handle(&name));
    on.wait_finalizer(&object, EXTERNAL, true);
    driver.fault(&json!({"DeleteVolume": {"hang": "20s"}}));
    on.terminate(&name);
    on.delete("pvc/data");
    on.wait_phase(&object, "Released");
    grow_old();
    let admin = Admin::of(&on);
    let args = fix(&[&object, "--yes", "--accept-leak", "--driver-absent", &driver.name]);
    because(&admin.refused(5, &args), &name, &["upgrade csi-provisioner from 5.0.1 to 5.0.2"]);
    driver.fault(&json!({}));
    on.wait_gone(&object);
    assert!(!driver.has(&handle));
}

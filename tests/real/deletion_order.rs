//! Which of volume and claim is deleted first, and what becomes of the backend (D-01 to D-09, D-12).

use std::time::Duration;

use serde_json::json;

use crate::support::{
    Admin, Driver, DriverOptions, PersistentVolume, Scenario, claim, eventually, never, shared,
};

const PROTECTION: &str = "external-provisioner.volume.kubernetes.io/finalizer";
const SOON: [&str; 4] = ["--threshold", "finalizer=1s", "--threshold", "protection=1s"];

/// What no volume here may be reported for before anybody deletes anything.
const MISSING: &str = "pv-missing-deletion-protection";
const STALE: &str = "pv-stale-ext-finalizer-retain";

/// A bound volume.
struct Volume {
    name: String,
    object: String,
    handle: String,
}

impl Volume {
    fn provisioned(on: &Scenario, class: &str) -> Self {
        on.create(&claim("data", class));
        Self::bound(on)
    }

    /// A hand-made volume, bound to a claim that asks for it by name.
    fn made_by_hand(on: &Scenario, driver: &Driver, policy: &str) -> Self {
        let name = on.named("pv");
        driver.make(&name);
        on.create(&PersistentVolume::csi(&name, &driver.name, &name).policy(policy).0);
        Self::claimed(on, &name)
    }

    fn claimed(on: &Scenario, name: &str) -> Self {
        let mut claim = claim("data", "");
        claim["spec"]["volumeName"] = json!(name);
        on.create(&claim);
        Self::bound(on)
    }

    fn bound(on: &Scenario) -> Self {
        let name = on.bound("data");
        Self { object: format!("pv/{name}"), handle: on.handle(&name), name }
    }

    fn wait_destroyed(&self, on: &Scenario, driver: &Driver) {
        on.wait_gone(&self.object);
        assert!(!driver.has(&self.handle), "the backend volume is still there");
        assert!(driver.delete_calls(&self.handle) > 0, "nobody asked for its deletion");
    }

    fn wait_kept(&self, on: &Scenario, driver: &Driver) {
        on.wait_gone(&self.object);
        never("the backend volume is deleted", Duration::from_secs(2), || {
            !driver.has(&self.handle)
        });
        assert_eq!(driver.delete_calls(&self.handle), 0);
    }
}

#[test]
fn d_01_dynamic_delete_claim_deleted() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let volume = Volume::provisioned(&on, &driver.class_delete);
    on.wait_finalizer(&volume.object, PROTECTION, true);
    let report = on.audit(&SOON);
    report.expect_ids(&volume.object, &[]);
    report.is_near_miss("pv-terminating-bound", &volume.object);

    on.delete("pvc/data");
    volume.wait_destroyed(&on, driver);
}

#[test]
fn d_02_dynamic_delete_volume_deleted_first() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let volume = Volume::provisioned(&on, &driver.class_delete);
    on.wait_finalizer(&volume.object, PROTECTION, true);

    on.terminate(&volume.name);
    let report = on.audit(&SOON);
    report.expect_ids(&volume.object, &["pv-terminating-bound"]);
    let finding = report.finding("pv-terminating-bound", &volume.object);
    finding.expect("high", "fixable").says(&["destroy", &volume.handle]);
    report.is_fixture("pv-terminating-bound", &volume.object);
    assert!(driver.has(&volume.handle));

    on.delete("pvc/data");
    volume.wait_destroyed(&on, driver);
}

#[test]
fn d_03_dynamic_retain_claim_deleted_first() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let volume = Volume::provisioned(&on, &driver.class_retain);
    on.wait_finalizer(&volume.object, PROTECTION, false);
    on.audit(&SOON).expect_ids(&volume.object, &[]);

    on.delete("pvc/data");
    on.wait_phase(&volume.object, "Released");
    let report = on.audit(&SOON);
    report.expect_not(&volume.object, MISSING);
    report.expect_not(&volume.object, STALE);

    on.delete(&volume.object);
    volume.wait_kept(&on, driver);
}

#[test]
fn d_04_dynamic_retain_volume_deleted_first() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let volume = Volume::provisioned(&on, &driver.class_retain);
    on.wait_finalizer(&volume.object, PROTECTION, false);

    on.terminate(&volume.name);
    let report = on.audit(&SOON);
    report.expect_ids(&volume.object, &["pv-terminating-bound"]);
    let finding = report.finding("pv-terminating-bound", &volume.object);
    finding.severe("high");
    finding.says(&["backend", "kept"]);

    on.delete("pvc/data");
    volume.wait_kept(&on, driver);
}

#[test]
fn d_05_static_delete_claim_deleted() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let name = on.named("pv");
    let object = format!("pv/{name}");
    driver.make(&name);
    on.create(&PersistentVolume::csi(&name, &driver.name, &name).policy("Delete").0);
    on.wait_phase(&object, "Available");
    assert!(!on.has_finalizer(&object, PROTECTION), "an unbound volume is not protected");
    std::thread::sleep(Duration::from_secs(2));
    let report = on.audit(&SOON);
    report.is_near_miss(MISSING, &object);

    let volume = Volume::claimed(&on, &name);
    on.wait_finalizer(&object, PROTECTION, true);
    on.delete("pvc/data");
    volume.wait_destroyed(&on, driver);
}

#[test]
fn d_06_static_delete_volume_deleted_first() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let volume = Volume::made_by_hand(&on, driver, "Delete");
    on.wait_finalizer(&volume.object, PROTECTION, true);

    on.terminate(&volume.name);
    let report = on.audit(&SOON);
    report
        .finding("pv-terminating-bound", &volume.object)
        .expect("high", "fixable")
        .says(&["destroy"]);
    report.is_near_miss("pv-leak-imminent", &volume.object);

    on.delete("pvc/data");
    volume.wait_destroyed(&on, driver);
}

#[test]
fn d_07_static_retain_claim_deleted_first() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let volume = Volume::made_by_hand(&on, driver, "Retain");
    let report = on.audit(&SOON);
    report.expect_ids(&volume.object, &[]);
    report.is_near_miss("pv-static-delete-now-effective", &volume.object);

    on.delete("pvc/data");
    on.wait_phase(&volume.object, "Released");
    on.delete(&volume.object);
    volume.wait_kept(&on, driver);
}

#[test]
fn d_07_static_retain_volume_deleted_first() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let volume = Volume::made_by_hand(&on, driver, "Retain");

    on.terminate(&volume.name);
    let report = on.audit(&SOON);
    report.finding("pv-terminating-bound", &volume.object).says(&["kept"]);

    on.delete("pvc/data");
    volume.wait_kept(&on, driver);
}

#[test]
fn d_08_retain_becomes_delete_while_bound() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let volume = Volume::provisioned(&on, &driver.class_retain);
    on.wait_finalizer(&volume.object, PROTECTION, false);
    on.set_policy(&volume.name, "Delete");
    on.wait_finalizer(&volume.object, PROTECTION, true);
    on.audit(&SOON).expect_ids(&volume.object, &[]);

    on.terminate(&volume.name);
    on.delete("pvc/data");
    volume.wait_destroyed(&on, driver);
}

#[test]
fn d_09_delete_becomes_retain_while_bound() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let volume = Volume::provisioned(&on, &driver.class_delete);
    on.wait_finalizer(&volume.object, PROTECTION, true);
    on.set_policy(&volume.name, "Retain");
    on.wait_finalizer(&volume.object, PROTECTION, false);
    let report = on.audit(&SOON);
    report.expect_ids(&volume.object, &[]);
    report.is_near_miss(STALE, &volume.object);

    on.terminate(&volume.name);
    on.delete("pvc/data");
    volume.wait_kept(&on, driver);
}

/// The provisioner is stopped and its finalizer is gone, as an old or a rolled-back one would leave it.
#[test]
fn d_12_unprotected_volume_deleted_first_leaks() {
    let on = Scenario::on(shared());
    let driver = shared().start_driver("d12.csi.example", &DriverOptions::default());
    let volume = Volume::provisioned(&on, &driver.class_delete);
    driver.stop("scale-to-zero");
    on.patch(&volume.object, &json!({"metadata": {"finalizers": ["kubernetes.io/pv-protection"]}}));

    std::thread::sleep(Duration::from_secs(2));
    let report = on.audit(&SOON);
    report.finding(MISSING, &volume.object).expect("medium", "report-only");
    report.is_fixture(MISSING, &volume.object);

    on.terminate(&volume.name);
    let report = on.audit(&SOON);
    let finding = report.finding("pv-leak-imminent", &volume.object);
    finding.severe("critical");
    finding.says(&[&driver.name, &volume.handle]);
    report.is_fixture("pv-leak-imminent", &volume.object);
    report.expect_not(&volume.object, "pv-terminating-bound");
    // No finalizer can be added any more, and none is in the way.
    let admin = Admin::of(&on);
    admin.refused(5, &["fix-finalizers", &volume.object, "--accept-leak", "--yes"]);
    let told = admin.refused(0, &["fix-finalizers", "-n", &on.name, "--yes"]);
    assert_eq!(told.refusals(), [&*volume.name], "{:#}", told.json);

    on.delete("pvc/data");
    volume.wait_kept(&on, &driver);
    let report = on.audit(&SOON);
    report.expect_ids(&volume.object, &[]);
    eventually("the claim is gone", || on.get("pvc/data").is_none());
}

//! A provisioner that is not at work: how soon that is known, and what the user's word for it is worth.

use super::{Admin, policy, release};
use crate::support::{DriverOptions, PersistentVolume, Scenario, claim, eventually, shared};

#[test]
#[ignore = "extended suite: further cases"]
fn d_86_a_provisioner_that_was_scaled_to_zero_a_moment_ago_is_not_called_alive() {
    let on = Scenario::on(shared());
    let driver = shared().start_driver("stopped.csi.example", &DriverOptions::default());
    let admin = Admin::of(&on);
    on.create(&claim("data", &driver.class_retain));
    let name = on.bound("data");
    let handle = on.handle(&name);
    on.delete("pvc/data");
    super::wait_released(&on, &[&format!("pv/{name}")]);
    let gc = ["gc", &name, "--older-than", "1s"];
    let shown = admin.refused(0, &[&gc[..], &["--dry-run=client"]].concat());
    assert_eq!(shown.changes(), [&*name], "{:#}", shown.json);

    // It made the volume a moment ago, which counts for an hour where nothing shows its end.
    driver.stop("scale-to-zero");
    eventually("its Lease has expired, and its pod is gone", || {
        let shown = admin.run(&[&gc[..], &["--dry-run=client"]].concat());
        shown.changes().is_empty()
    });
    let word = ["--provisioner-alive", &*driver.name];
    for more in [&[][..], &word] {
        let told = admin.refused(5, &[&gc[..], &["--yes"], more].concat());
        let reason = told.reason(&name);
        assert!(
            reason.contains("csi-provisioner of stopped.csi.example is not running"),
            "{reason}"
        );
        assert!(!reason.contains("--provisioner-alive"), "{reason}");
    }
    assert_eq!((policy(&on, &name), driver.has(&handle)), ("Retain".to_owned(), true));
}

#[test]
fn d_86_on_the_word_that_its_provisioner_is_alive_a_volume_is_reclaimed_as_soon_as_that_is_true() {
    let on = Scenario::on(shared());
    let driver = shared().start_driver("unseen.csi.example", &DriverOptions::default());
    let (admin, name) = (Admin::of(&on), on.named("pv"));
    driver.make(&name);
    let volume = PersistentVolume::csi(&name, &driver.name, &name).left_by(&on.name, "gone");
    release(&on, &[&volume.provisioned_by(&driver.name)]);
    driver.stop("uninstall");
    let gc = ["gc", &name, "--older-than", "1s"];
    let flag = format!("--provisioner-alive {}", driver.name);
    eventually("nothing of it is left", || {
        let told = admin.run(&[&gc[..], &["--dry-run=client"]].concat());
        told.changes().is_empty() && told.reason(&name).contains(&flag)
    });
    let told = admin.refused(5, &[&gc[..], &["--yes"]].concat());
    assert!(told.reason(&name).contains("may not be running"), "{:#}", told.json);
    assert_eq!(policy(&on, &name), "Retain");

    let word = ["--provisioner-alive", &*driver.name];
    let shown = admin.refused(0, &[&gc[..], &word, &["--dry-run=client"]].concat());
    assert_eq!(shown.changes(), [&*name], "{:#}", shown.json);
    let change = &shown.json["changes"][0];
    assert_eq!(change["reliesOn"], serde_json::json!(["--provisioner-alive"]), "{change:#}");
    let notice = change["notices"][0].as_str().unwrap_or_default();
    assert!(notice.contains("no evidence shows that its provisioner is running"), "{change:#}");

    let told = admin.run(&[&gc[..], &word, &["--yes", "--timeout", "3s"]].concat()).ends(6);
    assert_eq!(told.outcomes("pending"), [&*name], "{:#}", told.json);
    assert_eq!((policy(&on, &name), driver.has(&name)), ("Delete".to_owned(), true));
    driver.resume();
    on.wait_gone(&format!("pv/{name}"));
    assert!(!driver.has(&name));
}

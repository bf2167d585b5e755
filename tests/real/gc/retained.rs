//! `retain`: the stop, and what is left of a volume that was stopped half way.

use serde_json::{Value, json};

use super::{Admin, policy};
use crate::support::{DriverOptions, PersistentVolume, Scenario, claim, eventually, shared};

const DOUBT: &str = "storage.kubectl.dev/backend-state";

fn doubt(on: &Scenario, name: &str) -> Value {
    on.read(&format!("pv/{name}"))["metadata"]["annotations"][DOUBT].clone()
}

fn retain<'a>(on: &'a Scenario, objects: &[&'a str]) -> Vec<&'a str> {
    [&["retain", "-n", &on.name], objects].concat()
}

#[test]
fn a_bound_volume_is_retained_by_its_name_or_that_of_its_claim() {
    let on = Scenario::on(shared());
    let (driver, admin) = (shared().driver(), Admin::of(&on));
    for name in ["one", "two"] {
        on.create(&claim(name, &driver.class_delete));
    }
    on.create(&claim("unbound", "none"));
    let (one, two) = (on.bound("one"), on.bound("two"));

    admin.refused(5, &retain(&on, &["pvc/one"])).says(&["not a terminal"]);
    let before = on.cluster.mark();
    admin.run(&retain(&on, &["pvc/one", "--dry-run=server"])).ends(0);
    assert_eq!(admin.writes(before).len(), 0);
    for missing in ["pvc/unbound", "pvc/none", "pv/none"] {
        let told = admin.refused(5, &retain(&on, &[missing, "--yes"]));
        assert_eq!(told.refusals(), [missing.split_once('/').expect("two parts").1]);
    }
    let before = on.cluster.mark();
    // Named twice, it is one change; what is not there does not stop what is.
    let volume = format!("pv/{one}");
    let told =
        admin.run(&retain(&on, &["pvc/one", &volume, "pvc/two", "pv/none", "--yes"])).ends(6);
    let mut done = vec![&*one, &*two];
    done.sort_unstable();
    assert_eq!((told.outcomes("done"), told.refusals()), (done, vec!["none"]), "{:#}", told.json);
    for name in [&one, &two] {
        assert_eq!((policy(&on, name), doubt(&on, name)), ("Retain".to_owned(), Value::Null));
        let writes = admin.writes(before);
        let writes: Vec<_> = writes.iter().filter(|it| it["objectRef"]["name"] == **name).collect();
        assert_eq!(writes.len(), 1, "{writes:#?}");
    }
    let told = admin.refused(5, &retain(&on, &["pvc/one", &volume, "--yes"]));
    assert!(told.reason(&one).contains("already Retain"), "{:#}", told.json);
    assert_eq!(told.refusals(), [&*one]);

    // Its data outlives its claim now.
    let handle = on.handle(&one);
    on.delete("pvc/one");
    on.wait_phase(&format!("pv/{one}"), "Released");
    assert!(driver.has(&handle));
}

/// A provisioner that was told to delete may be half way through: the stop says so, and whoever comes after asks.
#[test]
fn a_stop_that_may_come_too_late_leaves_its_mark() {
    let on = Scenario::on(shared());
    let driver = shared().start_driver("stop.csi.example", &DriverOptions::default());
    let (admin, name) = (Admin::of(&on), on.named("pv"));
    let object = format!("pv/{name}");
    driver.make(&name);
    driver
        .fault(&json!({"DeleteVolume": {"fail": {"code": "INTERNAL", "message": "disk on fire"}}}));
    let volume = PersistentVolume::csi(&name, &driver.name, &name).left_by(&on.name, "gone");
    super::release(&on, &[&volume.provisioned_by(&driver.name)]);

    // It is told to delete, and cannot: that is pending, and what was last heard is told.
    let gc = ["gc", &name, "--older-than", "1s", "--yes"];
    let told = admin.run(&[&gc[..], &["--timeout", "5s"]].concat()).ends(6);
    assert_eq!(told.outcomes("pending"), [&*name], "{:#}", told.json);
    assert_eq!((policy(&on, &name), driver.has(&name)), ("Delete".to_owned(), true));
    assert!(driver.delete_calls(&name) > 0);
    admin.refused(5, &gc); // it is not told again

    driver.stop("kill");
    let told = admin.run(&["retain", &object, "--yes"]).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    assert!(told.json["changes"][0]["undo"].to_string().contains("\"no: "), "{:#}", told.json);
    assert_eq!((policy(&on, &name), doubt(&on, &name)), ("Retain".to_owned(), json!("unknown")));
    driver.fault(&json!({}));
    driver.resume();
    eventually("its provisioner is seen at work, and only the doubt is left", || {
        let told = admin.run(&[&gc[..], &["--backend-verified", "--dry-run=client"]].concat());
        told.changes() == [&*name]
    });
    assert!(driver.has(&name), "nobody deletes what is retained");

    let told = admin.refused(5, &gc);
    assert!(told.reason(&name).contains(DOUBT), "{:#}", told.json);
    let told = admin.run(&[&gc[..], &["--backend-verified"]].concat()).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    assert!(!driver.has(&name));
}

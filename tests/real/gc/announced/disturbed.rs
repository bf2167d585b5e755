//! Announcing while requests fail, and while others change what is announced.

use serde_json::{Value, json};

use super::{MARK, annotate, announce, mark, records, written};
use crate::gc::{Admin, left, release};
use crate::support::{Fault, PersistentVolume, Scenario, Told, shared};

/// A veto as a run records it, found at this time.
fn veto(name: &str, uid: &str, found: &str) -> String {
    json!({"version": 1, "volume": name, "uid": uid, "announcedIn": "earlier", "foundAt": found})
        .to_string()
}

#[test]
fn what_befalls_one_volume_keeps_no_other_from_being_announced() {
    let on = Scenario::on(shared());
    let (admin, proxy) = (Admin::of(&on), shared().proxy());
    let names = ["fails", "plain", "touched", "vetoed"];
    let [fails, plain, touched, vetoed] = names.map(|it| on.named(it));
    let volumes = names.map(|it| left(&on, it));
    release(&on, &volumes.iter().collect::<Vec<&PersistentVolume>>());
    let through = |args: &[&str]| {
        let begun = admin.by(proxy.kubeconfig(), &[&announce(&on, &["1h"]), args].concat());
        begun.start()
    };

    // One may not be annotated, of another the annotation changes, and the creation is not answered.
    annotate(&on, &touched, &format!("{MARK}=2020-01-01T00:00:00Z mine"));
    let patch = format!("/persistentvolumes/{fails}$");
    proxy.fault(Fault::status(403).message("not today").real().on("PATCH", &patch));
    proxy.fault(Fault::reset_after().real().times(1).on("POST", "/configmaps$"));
    let held = proxy.hold(Fault::hold().on("GET", &format!("/persistentvolumes/{touched}$")));
    let before = on.cluster.mark();
    let running = through(&[&fails, &plain, &touched]);
    held.wait();
    annotate(&on, &touched, &format!("{MARK}=2021-01-01T00:00:00Z mine"));
    held.release();
    let told = Told::of(running.finish());
    assert_eq!(told.outcomes("done"), [&*plain], "{:#}", told.json);
    assert_eq!(told.outcomes("failed"), [&*fails], "{:#}", told.json);
    assert_eq!(told.outcomes("stale"), [&*touched], "{:#}", told.json);
    assert!(told.reason(&fails).contains("not today"), "{:#}", told.json);
    assert!(told.reason(&touched).contains("another client has changed annotation"));
    let all = records(&on, "announcement");
    let data = |it: &Value| it["data"].as_object().map(serde_json::Map::len);
    assert_eq!(all.iter().map(data).collect::<Vec<_>>(), [Some(2)], "{all:#?}");
    assert!(all[0]["data"].to_string().contains(&*plain), "{all:#?}");
    assert_eq!(mark(&on, &fails), None);
    assert!(mark(&on, &touched).is_some_and(|it| it.starts_with("2021")));
    assert_eq!(written(&admin.sent(before)).len(), 2, "not one annotation and one record");

    // It is not there, although it may have been created.
    proxy.clear();
    proxy.fault(Fault::reset_before().real().on("POST", "/configmaps$"));
    let told = Told::of(through(&[&fails]).finish()).ends(6);
    assert_eq!(told.outcomes("unanswered"), [&*fails], "{:#}", told.json);
    assert!(told.reason(&fails).contains("it was not there afterwards"), "{:#}", told.json);
    assert_eq!(records(&on, "announcement").len(), 1);
    proxy.clear();

    // Another veto than the one that was read is left, and then nothing is announced.
    let uid = on.read(&format!("pv/{vetoed}"))["metadata"]["uid"].as_str().map(str::to_owned);
    let uid = uid.expect("it has one");
    on.create(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "kubectl-storage-vetoes", "labels": {"storage.kubectl.dev/record": "veto"},
        },
        "data": {&*uid: veto(&vetoed, &uid, "2026-01-01T00:00:00Z")},
    }));
    let patch = format!("/persistentvolumes/{vetoed}$");
    let held = proxy.hold(Fault::hold_after().real().on("PATCH", &patch));
    let running = through(&[&vetoed, "--include-vetoed"]);
    held.wait();
    let again = json!({"data": {&*uid: veto(&vetoed, &uid, "2026-02-02T00:00:00Z")}}).to_string();
    let patch = ["patch", "cm", "kubectl-storage-vetoes", "-n", &on.name, "--type=merge", "-p"];
    on.cluster.kubectl(&[&patch[..], &[&*again]].concat());
    held.release();
    let told = Told::of(running.finish());
    assert_eq!(told.outcomes("failed"), [&*vetoed], "{:#}", told.json);
    assert!(told.reason(&vetoed).contains("it was vetoed again meanwhile"), "{:#}", told.json);
    assert!(records(&on, "veto")[0]["data"].to_string().contains("2026-02-02"));
    let told = admin.refused(5, &announce(&on, &["1h", &vetoed]));
    assert!(told.reason(&vetoed).contains("a veto is recorded, found 2026-02-02"));
}

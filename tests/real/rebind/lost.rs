//! Lost claims: a claimRef without a uid, one of an earlier claim, a volume that is recreated (D-35, D-36).

use std::fs;

use serde_json::{Value, json};

use super::{bound_to_each_other, driver, here, intact, rebind, words, write_ledger, written};
use crate::support::{Admin, Scenario, claim};

/// A claim whose volume was taken away by force, with the volume as it was, and its handle.
fn lost(on: &Scenario) -> (String, Value, String) {
    on.create(&claim("data", &driver().class_delete));
    let name = on.bound("data");
    let handle = on.handle(&name);
    write_ledger(driver(), &handle);
    let saved = on.read(&format!("pv/{name}"));
    on.terminate(&name);
    on.patch(&format!("pv/{name}"), &json!({"metadata": {"finalizers": null}}));
    on.wait_gone(&format!("pv/{name}"));
    on.wait_phase("pvc/data", "Lost");
    (name, saved, handle)
}

/// A manifest of the volume as a backup has it, with this uid in its claimRef.
fn manifest(saved: &Value, uid: Option<&str>) -> Value {
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": saved["metadata"]["name"], "annotations": saved["metadata"]["annotations"]},
        "spec": saved["spec"],
    });
    let claim_ref = volume["spec"]["claimRef"].as_object_mut().expect("because it was bound");
    claim_ref.remove("resourceVersion");
    match uid {
        Some(uid) => claim_ref.insert("uid".to_owned(), json!(uid)),
        None => claim_ref.remove("uid"),
    };
    volume
}

fn save(admin: &Admin, name: &str, manifest: &Value) -> String {
    let path = admin.home.path().join(name);
    fs::write(&path, manifest.to_string()).expect("because the folder is ours");
    path.display().to_string()
}

#[test]
fn d_35_a_lost_claim_gets_its_volume_recreated_from_a_manifest() {
    let on = Scenario::on(here());
    let admin = Admin::of(&on);
    let (name, saved, handle) = lost(&on);
    // Without a manifest nobody knows which backend volume it was.
    let told = admin.refused(5, &words(&rebind(&[&name])));
    assert!(told.reason(&name).contains("--from FILE"), "{:#}", told.json);

    // D-36: a wrong uid would make it Released, and with the old policy destroyed.
    let wrong = manifest(&saved, Some("00000000-dead-4000-8000-000000000000"));
    let wrong = save(&admin, "wrong.json", &wrong);
    let told = admin.refused(5, &words(&rebind(&[&name, "--from", &wrong])));
    let uid = on.read("pvc/data")["metadata"]["uid"].as_str().expect("it has one").to_owned();
    let reason = told.reason(&name);
    assert!(reason.contains("00000000-dead") && reason.contains(&uid), "{reason}");
    let other = save(&admin, "other.json", &json!({"kind": "List", "items": []}));
    let told = admin.refused(5, &words(&rebind(&[&name, "--from", &other])));
    assert!(told.reason(&name).contains("no manifest of pv/"), "{:#}", told.json);
    admin.refused(1, &words(&rebind(&[&name, "--from", "/none"])));

    // A backup tool left the uid out, and kept it in a list.
    let list = json!({"kind": "List", "items": [manifest(&saved, None)]});
    let backup = save(&admin, "backup.json", &list);
    let mark = on.cluster.mark();
    let told = admin.run(&words(&rebind(&[&name, "--from", &backup]))).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    assert_eq!(written(&admin, mark), [format!("create persistentvolumes {name}")]);
    bound_to_each_other(&on, &name, "data");
    intact(driver(), &handle);

    let told = admin.refused(5, &words(&rebind(&[&name, "--from", &backup])));
    assert!(told.reason(&name).contains("omit --from"), "{:#}", told.json);
}

#[test]
fn a_claim_ref_without_a_uid_gets_that_of_the_lost_claim() {
    let on = Scenario::on(here());
    let admin = Admin::of(&on);
    let (name, saved, handle) = lost(&on);
    let object = format!("pv/{name}");
    on.create(&manifest(&saved, None));
    on.wait_phase(&object, "Available");
    // With the policy Delete a later mistake would destroy the data: retain comes first.
    let told = admin.refused(5, &words(&rebind(&[&name])));
    assert!(told.reason(&name).contains("kubectl storage retain"), "{:#}", told.json);
    admin.run(&["retain", &object, "--yes"]).ends(0);

    let (before, mark) = (on.read(&object), on.cluster.mark());
    let told = admin.run(&words(&rebind(&[&name]))).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    let sent: Vec<_> = admin.sent(mark).into_iter().filter(|it| !it.dry).collect();
    let [patch] = &sent[..] else { panic!("{sent:#?}") };
    let uid = &on.read("pvc/data")["metadata"]["uid"];
    let (at, metadata) = ("/spec/claimRef", &before["metadata"]);
    assert_eq!(
        patch.body,
        json!([
            {"op": "test", "path": "/metadata/uid", "value": metadata["uid"]},
            {"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
            {"op": "test", "path": format!("{at}/namespace"), "value": on.name},
            {"op": "test", "path": format!("{at}/name"), "value": "data"},
            {"op": "test", "path": "/spec/persistentVolumeReclaimPolicy", "value": "Retain"},
            {"op": "add", "path": format!("{at}/uid"), "value": uid},
        ])
    );
    bound_to_each_other(&on, &name, "data");
    intact(driver(), &handle);
}

#[test]
fn a_claim_ref_of_an_earlier_claim_is_rewritten_for_the_lost_one() {
    let on = Scenario::on(here());
    let admin = Admin::of(&on);
    let (name, saved, handle) = lost(&on);
    let mut earlier = manifest(&saved, Some("00000000-dead-4000-8000-000000000000"));
    earlier["spec"]["persistentVolumeReclaimPolicy"] = json!("Retain");
    on.create(&earlier);
    on.wait_phase(&format!("pv/{name}"), "Released");
    let mark = on.cluster.mark();
    let told = admin.run(&words(&rebind(&[&name]))).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    assert_eq!(written(&admin, mark), [format!("patch persistentvolumes {name}")]);
    bound_to_each_other(&on, &name, "data");
    intact(driver(), &handle);
}

#[test]
fn the_own_volume_of_a_lost_claim_is_given_back_only_by_name_where_it_names_another_one() {
    let on = Scenario::on(here());
    let admin = Admin::of(&on);
    let (name, saved, _) = lost(&on);
    let mut others = manifest(&saved, Some("00000000-dead-4000-8000-000000000000"));
    others["spec"]["persistentVolumeReclaimPolicy"] = json!("Retain");
    others["spec"]["claimRef"]["name"] = json!("other");
    on.create(&others);
    on.wait_phase(&format!("pv/{name}"), "Released");
    // Its name holds the uid of that claim, whatever somebody has written into it.
    let told = admin.refused(5, &words(&rebind(&[&name])));
    assert!(told.reason(&name).contains("--to"), "{:#}", told.json);
    admin.run(&words(&rebind(&[&name, "--to", "data", "-n", &on.name]))).ends(0);
    on.wait_phase("pvc/data", "Bound");
}

#[test]
fn d_35_the_journal_has_the_volume_of_a_lost_claim() {
    let on = Scenario::on(here());
    let admin = Admin::of(&on);
    on.create(&claim("data", &driver().class_delete));
    let name = on.bound("data");
    let handle = on.handle(&name);
    write_ledger(driver(), &handle);
    // The journal has the volume from before whatever was done to it.
    admin.run(&["retain", &name_of(&name), "--yes"]).ends(0);
    on.terminate(&name);
    on.patch(&name_of(&name), &json!({"metadata": {"finalizers": null}}));
    on.wait_gone(&name_of(&name));
    on.wait_phase("pvc/data", "Lost");
    let mark = on.cluster.mark();
    let told = admin.run(&words(&rebind(&[&name]))).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    assert_eq!(written(&admin, mark), [format!("create persistentvolumes {name}")]);
    bound_to_each_other(&on, &name, "data");
    intact(driver(), &handle);
}

fn name_of(volume: &str) -> String {
    format!("pv/{volume}")
}

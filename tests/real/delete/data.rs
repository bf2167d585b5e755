//! D-44: what becomes of the data is decided before anything is sent.

use super::{Admin, Scenario, because, delete, is_untouched, state, written};
use crate::support::{Write, claim, eventually, shared};

const EXTERNAL: &str = "external-provisioner.volume.kubernetes.io/finalizer";

/// A claim of a class with policy Delete, bound, with its volume and its handle.
fn bound(on: &Scenario, name: &str, class: &str) -> (String, String) {
    on.create(&claim(name, class));
    let volume = on.bound(name);
    let handle = on.handle(&volume);
    if class == shared().driver().class_delete {
        // Its provisioner writes it without preconditions, from what it has in its cache.
        on.wait_finalizer(&format!("pv/{volume}"), EXTERNAL, true);
    }
    (volume, handle)
}

/// The preconditions of a deletion.
#[track_caller]
fn is_guarded_deletion(write: &Write, before: &serde_json::Value) {
    let (body, metadata) = (&write.body, &before["metadata"]);
    assert_eq!(body["preconditions"]["uid"], metadata["uid"], "{body:#}");
    assert_eq!(body["preconditions"]["resourceVersion"], metadata["resourceVersion"]);
    assert_eq!(body["propagationPolicy"], "Background");
}

#[test]
fn d_44_without_a_word_about_the_data_both_options_are_printed() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let (volume, handle) = bound(&on, "data", &driver.class_delete);
    let admin = Admin::of(&on);
    let told = admin.refused(5, &delete(&on, &["data"], &[]));
    let kept = format!("--keep-data (pv/{volume} is set to Retain first");
    let destroyed = format!("--destroy-data (csi-provisioner of {} deletes", driver.name);
    because(&told, "data", &[&format!("pv/{volume} has policy Delete"), &kept, &destroyed]);
    admin.refused(2, &delete(&on, &["data"], &["--keep-data", "--destroy-data"]));
    is_untouched(&on, "data");
    assert_eq!(state(&on, &volume), ("Delete".to_owned(), "Bound".to_owned()));
    assert!(driver.has(&handle));
}

#[test]
fn d_44_with_keep_data_the_volume_is_retained_first_and_ends_released_with_its_files() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let (volume, handle) = bound(&on, "data", &driver.class_delete);
    let file = driver.folder(&handle).join("precious");
    std::fs::write(&file, "data").expect("because the backend is a folder");
    let admin = Admin::of(&on);
    let (before, mark) = (on.read("pvc/data"), on.cluster.mark());
    let told = admin.run(&delete(&on, &["data"], &["--keep-data"])).ends(0);
    assert_eq!(told.outcomes("done"), ["data"], "{:#}", told.json);
    because(
        &told,
        "data",
        &[
            "its policy is Retain; then: the claim is deleted",
            &format!("pv/{volume} is Released with policy Retain, and keeps the data"),
            &format!("`kubectl storage rebind pv/{volume}"),
        ],
    );
    let sent: Vec<_> = admin.sent(mark);
    let lines: Vec<_> = sent.iter().map(Write::line).collect();
    assert_eq!(
        lines,
        [
            format!("dry patch persistentvolumes {volume}"),
            "dry delete persistentvolumeclaims data".to_owned(),
            format!("patch persistentvolumes {volume}"),
            "dry delete persistentvolumeclaims data".to_owned(),
            "delete persistentvolumeclaims data".to_owned(),
        ]
    );
    is_guarded_deletion(&sent[4], &before);
    assert!(on.get("pvc/data").is_none());
    assert_eq!(state(&on, &volume), ("Retain".to_owned(), "Released".to_owned()));
    assert!(file.exists(), "its files are gone");
    assert_eq!(driver.delete_calls(&handle), 0);

    // The journal has both steps, and the claim as it was.
    let lines = admin.journal(&told);
    let intents: Vec<_> = lines.iter().filter(|it| it["action"].is_string()).collect();
    let of: Vec<_> = intents.iter().map(|it| (&it["action"], &it["because"])).collect();
    assert_eq!(of.len(), 2, "{lines:#?}");
    assert_eq!((of[1].0, of[1].1), (&"delete-claim".into(), &"delete-claim".into()));
    assert_eq!(intents[1]["preImage"]["metadata"]["uid"], before["metadata"]["uid"]);

    // Once more changes nothing.
    let again = admin.refused(5, &delete(&on, &["data"], &["--keep-data"]));
    because(&again, "data", &["there is no such claim"]);
    assert_eq!(written(&admin, mark).len(), 2);
}

#[test]
fn d_44_with_destroy_data_the_driver_deletes_the_backend_volume() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let (volume, handle) = bound(&on, "data", &driver.class_delete);
    let admin = Admin::of(&on);
    let (before, mark) = (on.read("pvc/data"), on.cluster.mark());
    let told = admin.run(&delete(&on, &["data"], &["--destroy-data"])).ends(0);
    assert_eq!(told.outcomes("done"), ["data"], "{:#}", told.json);
    // A late patch of csi-provisioner, from what it had in its cache, may take off the finalizer that
    // would have proved the driver's answer.
    let steps = "its policy is Retain; then: the claim is deleted";
    because(&told, "data", &[steps, "the object is deleted"]);
    let sent = admin.sent(mark);
    let lines: Vec<_> = sent.iter().map(Write::line).collect();
    let expected = [
        format!("dry patch persistentvolumes {volume}"),
        "dry delete persistentvolumeclaims data".to_owned(),
        format!("patch persistentvolumes {volume}"),
        "dry delete persistentvolumeclaims data".to_owned(),
        "delete persistentvolumeclaims data".to_owned(),
        format!("dry patch persistentvolumes {volume}"),
        format!("patch persistentvolumes {volume}"),
    ];
    assert_eq!(lines, expected);
    is_guarded_deletion(&sent[4], &before);
    let policy = |write: &Write| {
        let all = write.body.as_array().cloned().unwrap_or_default();
        let replaces = all.into_iter().find(|it| it["op"] == "replace").unwrap_or_default();
        replaces["value"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!((&*policy(&sent[2]), &*policy(&sent[6])), ("Retain", "Delete"));
    let added = sent[6].body.to_string();
    assert!(added.contains(EXTERNAL), "{added}");
    assert!(on.get("pvc/data").is_none());
    assert!(on.get(&format!("pv/{volume}")).is_none());
    eventually("its data is destroyed", || !driver.has(&handle));
    assert!(driver.delete_calls(&handle) >= 1);
}

#[test]
fn d_44_a_volume_that_is_retained_needs_no_word_about_the_data() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let (volume, handle) = bound(&on, "data", &driver.class_retain);
    let admin = Admin::of(&on);
    // It would destroy nothing.
    let told = admin.refused(5, &delete(&on, &["data"], &["--destroy-data"]));
    because(&told, "data", &["has policy Retain", "--keep-data", "kubectl storage gc"]);
    let mark = on.cluster.mark();
    let told = admin.run(&delete(&on, &["data"], &[])).ends(0);
    assert_eq!(told.outcomes("done"), ["data"], "{:#}", told.json);
    assert_eq!(written(&admin, mark), ["delete persistentvolumeclaims data"]);
    assert_eq!(state(&on, &volume), ("Retain".to_owned(), "Released".to_owned()));
    assert!(driver.has(&handle));
}

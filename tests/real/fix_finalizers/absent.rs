//! The driver was uninstalled: what of its volumes is let go, and by whose word.

use serde_json::json;

use super::{
    Admin, EXTERNAL, PV_PROTECTION, because, finalizers, fix, grow_old, lines, one_removal,
    set_finalizers, tested, wait_uninstalled,
};
use crate::support::{Cluster, Driver, DriverOptions, Options, Scenario, claim};

const BACKUP: &str = "example.com/backup";
const NAME: &str = "d14.csi.example";
const WORD: [&str; 2] = ["--driver-absent", NAME];

/// In a cluster of its own: a provisioner that does not say for whom it works might work for this driver.
#[test]
fn d_14_the_finalizer_of_an_uninstalled_driver_goes_and_no_other() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let driver = cluster.start_driver(NAME, &DriverOptions::default());
    on.create(&claim("kept", &driver.class_retain));
    for name in ["lost", "resumed"] {
        on.create(&claim(name, &driver.class_delete));
    }
    let (kept, lost, resumed) = (on.bound("kept"), on.bound("lost"), on.bound("resumed"));
    on.wait_finalizer(&format!("pv/{kept}"), EXTERNAL, false);
    for volume in [&lost, &resumed] {
        on.wait_finalizer(&format!("pv/{volume}"), EXTERNAL, true);
    }
    driver.stop("uninstall");
    set_finalizers(&on, &format!("pv/{kept}"), &[PV_PROTECTION, BACKUP, EXTERNAL]);
    for (claimed, volume) in [("kept", &kept), ("lost", &lost), ("resumed", &resumed)] {
        on.delete(&format!("pvc/{claimed}"));
        on.wait_phase(&format!("pv/{volume}"), "Released");
        on.terminate(volume);
        on.wait_finalizer(&format!("pv/{volume}"), PV_PROTECTION, false);
    }
    wait_uninstalled(&on, "csi-d14-csi-example");
    grow_old();

    let admin = Admin::of(&on);
    retained(&admin, &driver, &kept);
    deleted(&admin, &driver, &lost);
    reinstalled(&admin, &driver, &resumed);
}

/// What the policy keeps: the finalizer has nothing to guard any more.
fn retained(admin: &Admin, driver: &Driver, name: &str) {
    let (on, object) = (admin.on, format!("pv/{name}"));
    let (handle, before) = (on.handle(name), on.read(&object));
    // Nobody can know so soon whether it is half of a reinstall.
    let told = admin.refused(5, &fix(&[&object, "--yes"]));
    because(&told, name, &["csi-provisioner", NAME, "unknown"]);
    let told = admin.refused(0, &fix(&["-n", &on.name, "--yes"]));
    assert!(told.refusals().contains(&name), "{:#}", told.json);
    // It has no Lease any more, and what it did a minute ago contradicts the word.
    let hour = ["fix-finalizers", &object, "--threshold", "stuck=1s", "--yes"];
    let told = admin.refused(5, &[&hour[..], &WORD].concat());
    because(
        &told,
        name,
        &["it wrote to one of its volumes at", "although --driver-absent is given"],
    );
    admin.refused(5, &fix(&[&[&*object][..], &WORD].concat())).says(&["not a terminal"]);
    let shown = admin.refused(0, &fix(&[&[&*object, "--dry-run=client"][..], &WORD].concat()));
    assert_eq!(shown.changes(), [name], "{:#}", shown.json);
    assert_eq!(shown.json["changes"][0]["backend"]["handle"], handle, "{:#}", shown.json);

    let mark = on.cluster.mark();
    let told = admin.run(&fix(&[&[&*object, "--yes"][..], &WORD].concat())).ends(0);
    assert_eq!(told.outcomes("done"), [name], "{:#}", told.json);
    let patch = one_removal(admin, mark, "persistentvolumes", &before, EXTERNAL);
    assert_eq!(tested(&patch, "/spec/persistentVolumeReclaimPolicy"), Some(&json!("Retain")));
    assert_eq!(tested(&patch, "/status/phase"), Some(&json!("Released")));
    assert_eq!(finalizers(on, &object), [BACKUP]);
    let journal = admin.journal(&told);
    let intent = journal.iter().find(|it| it["type"] == "intent").expect("because it was sent");
    assert_eq!(intent["backend"]["driver"], NAME);
    assert_eq!(intent["backend"]["handle"], handle);
    assert_eq!(intent["preImage"]["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(intent["request"]["body"], patch);

    // The rest is somebody else's: it goes by its name alone.
    let told = admin.refused(5, &fix(&[&[&*object, "--yes"][..], &WORD].concat()));
    because(&told, name, &[BACKUP]);
    let args = fix(&[&[&*object, "--yes", "--remove-finalizer", BACKUP][..], &WORD].concat());
    let told = admin.run(&args).ends(0);
    assert_eq!(told.outcomes("done"), [name], "{:#}", told.json);
    on.wait_gone(&object);
    // What names it can be made again from what was written down.
    admin.run(&["undo", "--yes"]).ends(0);
    on.wait_phase(&object, "Released");
    assert_eq!(on.handle(name), handle);
    assert_eq!(on.read(&object)["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    assert!(driver.has(&handle));
    assert_eq!(driver.delete_calls(&handle), 0);
}

/// What the policy has deleted: somebody says what becomes of the backend volume.
fn deleted(admin: &Admin, driver: &Driver, name: &str) {
    let (on, object) = (admin.on, format!("pv/{name}"));
    let (handle, before) = (on.handle(name), on.read(&object));
    let with = |more: &[&'static str]| {
        let words = [&[&*object, "--yes"][..], &WORD, more].concat();
        fix(&words).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let refused = |more: &[&'static str], words: &[&str]| {
        let args = with(more);
        let told = admin.refused(5, &args.iter().map(String::as_str).collect::<Vec<_>>());
        because(&told, name, words);
    };
    refused(&[], &["--accept-leak", "--reclaim"]);
    // Nobody is there to delete it, and that is said before the first step.
    refused(&["--reclaim"], &["csi-provisioner", NAME]);

    let mark = on.cluster.mark();
    let args = with(&["--accept-leak"]);
    let told = admin.run(&args.iter().map(String::as_str).collect::<Vec<_>>()).ends(0);
    assert_eq!(told.outcomes("done"), [name], "{:#}", told.json);
    one_removal(admin, mark, "persistentvolumes", &before, EXTERNAL);
    // Written down before it was lost.
    let lines = lines(&admin.sent(mark));
    let place = |text: &str| {
        let found = lines.iter().position(|it| it.starts_with(text));
        found.unwrap_or_else(|| panic!("no {text:?}: {lines:#?}"))
    };
    let record = ["create configmaps", "patch configmaps"];
    let written = lines.iter().position(|it| record.iter().any(|start| it.starts_with(start)));
    assert!(written.is_some_and(|it| it < place("patch persistentvolumes")), "{lines:#?}");
    on.wait_gone(&object);
    assert!(driver.has(&handle) && driver.delete_calls(&handle) == 0);
    let report = admin.audit(&[]);
    let kept = report
        .findings()
        .find(|it| it.id() == "journal-kept-backend" && it.0.to_string().contains(&handle));
    assert!(kept.is_some(), "{report}");
}

/// T14: the uninstall was half of a reinstall, and the plan was made in between.
fn reinstalled(admin: &Admin, driver: &Driver, name: &str) {
    let (on, object) = (admin.on, format!("pv/{name}"));
    let handle = on.handle(name);
    let file = admin.home.path().join("plan.yaml").display().to_string();
    let words = [&[&*object, "--accept-leak", "--plan-out", &*file][..], &WORD].concat();
    assert_eq!(admin.refused(0, &fix(&words)).changes(), [name]);
    // Nobody may act before the tool has looked.
    driver.fault(&json!({"DeleteVolume": {"fail": {"code": "UNAVAILABLE", "message": "later"}}}));
    driver.resume();
    let told = admin.refused(5, &["apply", &file, "--yes"]);
    because(&told, name, &["csi-provisioner"]);
    driver.fault(&json!({}));
    on.wait_gone(&object);
    assert!(!driver.has(&handle), "it is deleted, as its policy says");
}

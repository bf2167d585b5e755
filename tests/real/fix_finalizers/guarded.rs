//! Finalizers of volumes that were migrated, or never were the controller manager's; and protection that is missing.
//! No controller runs.

use serde_json::json;

use super::{
    Admin, CLAIM_PROTECTION, EXTERNAL, IN_TREE, IS_GONE, PV_PROTECTION, STILL, finalizers, fix,
    grow_old, hang, left, lines, make, one_removal, set_finalizers, tested,
};
use crate::support::{PersistentVolume, Scenario, claim};

/// A volume of the in-tree plugin that a CSI driver took over.
fn migrated(on: &Scenario, name: &str) -> PersistentVolume {
    let mut volume = PersistentVolume::host_path(&on.named(name), "/").policy("Delete").0;
    volume["spec"].as_object_mut().expect("because it is one").remove("hostPath");
    volume["spec"]["awsElasticBlockStore"] = json!({"volumeID": "aws://zone-a/vol-21"});
    PersistentVolume(volume).provisioned_by("kubernetes.io/aws-ebs")
}

#[test]
fn d_21_the_in_tree_finalizer_of_a_migrated_volume_goes() {
    let on = Scenario::on(&STILL);
    let name = on.named("pv");
    let mut data = claim("data", "");
    data["spec"]["volumeName"] = json!(name);
    let data = on.create(&data);
    on.patch_status("pvc/data", &json!({"status": {"phase": "Bound"}}));
    let mut volume = migrated(&on, "pv").reserved_for(&on.name, "data");
    volume.0["spec"]["claimRef"]["uid"] = data["metadata"]["uid"].clone();
    let object = make(&on, &volume, "Bound", &[PV_PROTECTION, IN_TREE, EXTERNAL]);
    grow_old();
    let report = on.audit(&super::SOON);
    report.finding("pv-stale-intree-finalizer-migrated", &object).severe("medium");

    let (admin, before, mark) = (Admin::of(&on), on.read(&object), on.cluster.mark());
    let told = admin.run(&fix(&[&object, "--yes"])).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    let patch = one_removal(&admin, mark, "persistentvolumes", &before, IN_TREE);
    assert_eq!(tested(&patch, "/metadata/deletionTimestamp"), Some(&json!(null)));
    assert_eq!(finalizers(&on, &object), [PV_PROTECTION, EXTERNAL]);
    // What is left there protects a volume that is in use.
    admin.refused(5, &fix(&[&object, "--yes"]));
}

/// T12: it is the last guard of a backend volume that nobody has deleted.
#[test]
fn d_40_the_last_guard_of_a_migrated_volume_stays() {
    let on = Scenario::on(&STILL);
    let name = on.named("pv");
    let object = hang(&on, &migrated(&on, "pv").left_by(&on.name, "gone"), &[IN_TREE]);
    let admin = Admin::of(&on);
    admin.refused(5, &fix(&[&object, "--yes"]));
    admin.refused(5, &fix(&[&object, "--yes", "--rolled-back"]));
    admin.refused(5, &fix(&[&object, "--yes", "--reclaim"]));
    let told = admin.refused(0, &fix(&["-n", &on.name, "--yes", "--rolled-back"]));
    assert_eq!(told.refusals(), [&*name], "{:#}", told.json);
    assert_eq!(finalizers(&on, &object), [IN_TREE]);

    // With the other one beside it, it is stale, and the other one stays.
    let guarded = hang(&on, &migrated(&on, "two").left_by(&on.name, "gone"), &[IN_TREE, EXTERNAL]);
    let (before, mark) = (on.read(&guarded), on.cluster.mark());
    admin.run(&fix(&[&guarded, "--yes"])).ends(0);
    let patch = one_removal(&admin, mark, "persistentvolumes", &before, IN_TREE);
    assert_eq!(tested(&patch, "/metadata/finalizers/1"), Some(&json!(EXTERNAL)));
    assert_eq!(finalizers(&on, &guarded), [EXTERNAL]);
}

/// A list may be long, and one of it goes.
#[test]
fn one_of_forty_finalizers_goes() {
    let on = Scenario::on(&STILL);
    let mut all: Vec<_> = (0..39).map(|number| format!("example.com/of-{number}")).collect();
    all.insert(23, EXTERNAL.to_owned());
    let names: Vec<_> = all.iter().map(String::as_str).collect();
    let object = hang(&on, &left(&on, "pv"), &names);
    let (admin, before, mark) = (Admin::of(&on), on.read(&object), on.cluster.mark());
    admin.run(&fix(&[&[&*object, "--yes"][..], &IS_GONE].concat())).ends(0);
    one_removal(&admin, mark, "persistentvolumes", &before, EXTERNAL);
    all.remove(23);
    assert_eq!(finalizers(&on, &object), all);
}

/// What should protect an object is put back where somebody asks for it, and only while it may be.
#[test]
fn a_missing_protection_is_added_to_what_is_not_terminating() {
    let on = Scenario::on(&STILL);
    let (admin, name) = (Admin::of(&on), on.named("pv"));
    on.create(&claim("bare", ""));
    set_finalizers(&on, "pvc/bare", &[]);
    let object = make(&on, &left(&on, "pv"), "Released", &[]);
    grow_old();
    let mark = on.cluster.mark();
    let told = admin.run(&fix(&["pvc/bare", "-n", &on.name, "--yes"])).ends(0);
    assert_eq!(told.outcomes("done"), ["bare"], "{:#}", told.json);
    assert_eq!(finalizers(&on, "pvc/bare"), [CLAIM_PROTECTION]);
    let told = admin.run(&fix(&[&object, "--yes"])).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    assert_eq!(finalizers(&on, &object), [PV_PROTECTION]);
    let sent = admin.sent(mark);
    let expected = [
        "dry patch persistentvolumeclaims bare".to_owned(),
        "patch persistentvolumeclaims bare".to_owned(),
        format!("dry patch persistentvolumes {name}"),
        format!("patch persistentvolumes {name}"),
    ];
    assert_eq!(lines(&sent), expected);
    let added = json!({"op": "add", "path": "/metadata/finalizers", "value": [CLAIM_PROTECTION]});
    assert!(sent[1].body.as_array().is_some_and(|all| all.contains(&added)), "{:#}", sent[1].body);

    // A filter chooses no volume for it, and what is Terminating gets none.
    let bare = make(&on, &left(&on, "bare"), "Released", &[]);
    grow_old();
    let told = admin.refused(0, &fix(&["-n", &on.name, "--yes"]));
    assert!(!told.changes().contains(&&*on.named("bare")), "{:#}", told.json);
    set_finalizers(&on, &bare, &["example.com/backup"]);
    on.terminate(&on.named("bare"));
    admin.refused(5, &fix(&[&bare, "--yes"]));
    assert_eq!(finalizers(&on, &bare), ["example.com/backup"]);
}

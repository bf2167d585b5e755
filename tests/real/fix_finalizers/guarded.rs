//! Finalizers of volumes that were migrated, or never were the controller manager's; and protection that is missing.
//! No controller runs.

use serde_json::{Value, json};

use super::{
    Admin, CLAIM_PROTECTION, EXTERNAL, IN_TREE, IS_GONE, PV_PROTECTION, STILL, because, finalizers,
    fix, grow_old, hang, left, lines, make, one_removal, set_finalizers, tested,
};
use crate::support::{Fault, PersistentVolume, Scenario, claim};

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

/// Where the feature cannot be off, nobody's word makes it so.
#[test]
fn a_rollback_that_cannot_have_happened_is_not_believed() {
    let on = Scenario::on(&STILL);
    let (admin, name) = (Admin::of(&on), on.named("pv"));
    let volume = PersistentVolume::host_path(&name, "/tmp/none-of-ours").policy("Delete");
    let volume = volume.provisioned_by("kubernetes.io/host-path").left_by(&on.name, "gone");
    let object = hang(&on, &volume, &[IN_TREE]);
    for more in [&["--accept-leak"][..], &["--reclaim"], &[]] {
        let words = [&[&*object, "--yes", "--rolled-back"][..], more].concat();
        let told = admin.refused(5, &fix(&words));
        because(&told, &name, &["kube-controller-manager"]);
    }
    assert_eq!(finalizers(&on, &object), [IN_TREE]);
}

/// All three kinds of a volume whose driver is gone, one after the other, each by a request of its own.
#[test]
fn several_finalizers_go_one_by_one() {
    const ATTACHER: &str = "external-attacher/ebs-csi-aws-com";
    const WORD: [&str; 3] = ["--driver-absent", "ebs.csi.aws.com", "--yes"];
    let on = Scenario::on(&STILL);
    let (admin, name) = (Admin::of(&on), on.named("pv"));
    let all = [EXTERNAL, ATTACHER, IN_TREE];
    let volume = |name: &str| migrated(&on, name).policy("Retain").left_by(&on.name, "gone");
    let object = hang(&on, &volume("pv"), &all);
    let mark = on.cluster.mark();
    let told = admin.run(&fix(&[&[&*object][..], &WORD].concat())).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    assert!(on.get(&object).is_none());
    let mut sent = admin.sent(mark);
    sent.retain(|it| it.resource == "persistentvolumes" && !it.dry);
    assert_eq!(lines(&sent), [&*format!("patch persistentvolumes {name}"); 3]);
    let removed: Vec<_> = sent.iter().map(|it| removal(&it.body)).collect();
    for finalizer in all {
        assert!(removed.iter().any(|it| *it == finalizer), "{removed:?}");
    }

    // What changes in between ends it there.
    let (object, name) = (hang(&on, &volume("raced"), &all), on.named("raced"));
    let proxy = STILL.proxy();
    let path = format!("^/api/v1/persistentvolumes/{name}$");
    let held = proxy.hold(Fault::hold().on("PATCH", &path).real().after(1));
    let args = fix(&[&[&*object][..], &WORD].concat());
    let running = admin.by(proxy.kubeconfig(), &args).start();
    held.wait();
    on.set_policy(&name, "Delete");
    held.release();
    let told = super::Told::of(running.finish()).ends(6);
    assert!(told.outcomes("done").is_empty(), "{:#}", told.json);
    assert_eq!(told.outcomes("stale"), [&*name], "{:#}", told.json);
    assert_eq!(finalizers(&on, &object).len(), 2);
}

/// The one finalizer that a patch removes.
fn removal(patch: &Value) -> String {
    let all = patch.as_array().expect("because it is a JSON patch");
    let writes: Vec<_> = all.iter().filter(|it| it["op"] != "test").collect();
    let [write] = writes[..] else { panic!("{patch:#}") };
    assert_eq!(write["op"], "remove");
    let place = write["path"].as_str().expect("because it has one");
    let value = tested(patch, place).unwrap_or_else(|| panic!("{place} is not tested: {patch:#}"));
    value.as_str().expect("because finalizers are text").to_owned()
}

/// What somebody wants left alone, and more than anybody wanted to change.
#[test]
#[ignore = "extended suite: further cases"]
fn exemptions_and_bounds_hold_here_too() {
    let on = Scenario::on(&STILL);
    let admin = Admin::of(&on);
    let kept = left(&on, "kept").annotated("storage.kubectl.dev/keep-until", "2199-01-01");
    let ignored = left(&on, "ignored").annotated("storage.kubectl.dev/ignore", "all legal hold");
    for (name, volume) in [("kept", kept), ("ignored", ignored)] {
        let object = hang(&on, &volume, &[EXTERNAL]);
        let told = admin.refused(5, &fix(&[&[&*object, "--yes"][..], &IS_GONE].concat()));
        because(&told, &on.named(name), &["storage.kubectl.dev/"]);
    }
    for name in ["one", "two"] {
        hang(&on, &left(&on, name), &[EXTERNAL]);
    }
    let chosen = fix(&[&["-n", &*on.name, "--yes"][..], &IS_GONE].concat());
    admin
        .refused(5, &[&chosen[..], &["--max", "1"]].concat())
        .says(&["2 objects", "--max allows 1"]);
    let told = admin.run(&chosen).ends(0);
    assert_eq!(told.outcomes("done"), [on.named("one"), on.named("two")], "{:#}", told.json);
}

/// The API server takes a name twice: one of the two goes with each step.
#[test]
fn a_finalizer_that_is_there_twice_takes_two_steps() {
    const BACKUP: &str = "example.com/backup";
    let on = Scenario::on(&STILL);
    let (admin, name) = (Admin::of(&on), on.named("pv"));
    let object = hang(&on, &left(&on, "pv"), &[EXTERNAL, BACKUP, EXTERNAL]);
    let args = fix(&[&[&*object, "--yes"][..], &IS_GONE].concat());
    assert_eq!(admin.run(&args).ends(0).outcomes("done"), [&*name]);
    assert_eq!(finalizers(&on, &object), [BACKUP]);
}

/// Beside each other, each by one request, and all of them are written down where others look.
#[test]
#[ignore = "extended suite: further cases"]
fn many_volumes_go_at_once() {
    let on = Scenario::on(&STILL);
    let admin = Admin::of(&on);
    let names: Vec<_> = (0..8).map(|number| on.named(&format!("of-{number}"))).collect();
    let volumes: Vec<_> = (0..8).map(|number| left(&on, &format!("of-{number}"))).collect();
    for volume in &volumes {
        make(&on, volume, "Released", &[EXTERNAL]);
    }
    for name in &names {
        on.terminate(name);
    }
    grow_old();
    let mark = on.cluster.mark();
    let words = ["-n", &*on.name, "--yes", "--parallel", "4"];
    let told = admin.run(&fix(&[&words[..], &IS_GONE].concat())).ends(0);
    assert_eq!(told.outcomes("done"), names, "{:#}", told.json);
    let sent = admin.sent(mark);
    for name in &names {
        let of_it = sent.iter().filter(|it| it.name == *name && !it.dry).count();
        assert_eq!((of_it, on.get(&format!("pv/{name}"))), (1, None), "{name}");
    }
    let record = on.cluster.get("kube-system", "cm/kubectl-storage-kept-backends");
    let record = record.expect("because their backend volumes are left")["data"].to_string();
    assert!(names.iter().all(|name| record.contains(name)), "{record}");
}

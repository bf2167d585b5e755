//! What cannot be seen or may not be done, and what is no question at all. No controller runs.

use super::{Admin, EXTERNAL, GONE, IS_GONE, STILL, Told, because, finalizers, fix, hang, left};
use crate::support::{Fault, Run, Scenario, eventually};

/// Whoever may not see a Lease cannot know that nobody holds it.
#[test]
fn what_would_show_a_driver_must_be_seen() {
    let on = Scenario::on(&STILL);
    let name = on.named("pv");
    let object = hang(&on, &left(&on, "pv"), &[EXTERNAL]);
    let named = fix(&[&[&*object, "--yes"][..], &IS_GONE].concat());
    let chosen = fix(&[&["-n", &*on.name, "--yes"][..], &IS_GONE].concat());
    for resource in ["leases", "deployments", "csinodes", "volumeattachments"] {
        let blind = Admin::limited(&on, resource, &[resource], &["patch"]);
        eventually("the authorizer knows the new role", || {
            let who = ["auth", "can-i", "patch", "persistentvolumes", "--as", &blind.name];
            on.cluster.try_kubectl(&who, "").is_ok()
        });
        let before = on.cluster.mark();
        let told = blind.refused(5, &named);
        assert_eq!(told.json["refusals"][0]["unseen"], true, "{resource}: {:#}", told.json);
        because(&told, &name, &[resource]);
        // Chosen by a filter it is refused as well: that is not nothing.
        let told = blind.refused(5, &chosen);
        assert_eq!(told.refusals(), [&*name], "{resource}: {:#}", told.json);
        assert!(told.changes().is_empty() && blind.sent(before).is_empty(), "{resource}");
    }
    // What a filter might have chosen is not known where none is seen.
    let blind = Admin::limited(&on, "volumes", &["persistentvolumes"], &["patch"]);
    let asks = || blind.run(&[&chosen[..], &["--dry-run=client"]].concat()).code;
    eventually("the authorizer knows the new role", || asks() == Some(4));
    blind.refused(4, &chosen);
    blind.refused(5, &named);
    assert_eq!(finalizers(&on, &object), [EXTERNAL]);
}

/// Who may not patch learns it from the dry run, and nothing is written down as begun.
#[test]
fn who_may_not_patch_is_told_by_the_dry_run() {
    let on = Scenario::on(&STILL);
    let name = on.named("pv");
    let object = hang(&on, &left(&on, "pv"), &[EXTERNAL, "example.com/backup"]);
    let reader = Admin::limited(&on, "reader", &[], &["get"]);
    let args = fix(&[&[&*object, "--yes"][..], &IS_GONE].concat());
    eventually("the authorizer knows the new role", || {
        let who = ["auth", "can-i", "list", "persistentvolumes", "--as", &reader.name];
        on.cluster.try_kubectl(&who, "").is_ok()
    });
    let told = reader.refused(5, &args);
    assert_eq!(told.outcomes("refused"), [&*name], "{:#}", told.json);
    because(&told, &name, &["403"]);
    assert!(reader.journal(&told).is_empty());
    assert_eq!(finalizers(&on, &object), [EXTERNAL, "example.com/backup"]);
}

#[test]
fn a_server_that_does_not_answer_is_no_empty_cluster() {
    let on = Scenario::on(&STILL);
    let (admin, proxy) = (Admin::of(&on), STILL.proxy());
    let (name, object) = (on.named("pv"), hang(&on, &left(&on, "pv"), &[EXTERNAL]));
    let args = fix(&[&[&*object, "--yes"][..], &IS_GONE].concat());
    let mark = on.cluster.mark();
    // One list is not answered.
    proxy.fault(Fault::status(403).on("GET", "/leases$"));
    let told = admin.run_through(&proxy, &args).ends(5);
    assert_eq!(told.json["refusals"][0]["unseen"], true, "{:#}", told.json);
    proxy.clear();
    // The volume cannot be read again.
    let path = format!("^/api/v1/persistentvolumes/{name}$");
    proxy.fault(Fault::status(500).on("GET", &path));
    let told = admin.run_through(&proxy, &args).ends(1);
    assert!(told.outcomes("done").is_empty());
    proxy.clear();
    // Nobody is there.
    drop(proxy);
    let nowhere = ["--server", "https://127.0.0.1:9"];
    let told = admin.run(&[&args[..], &nowhere].concat()).ends(1);
    told.says(&["127.0.0.1:9"]);
    assert!(admin.sent(mark).is_empty());
    assert_eq!(finalizers(&on, &object), [EXTERNAL]);
}

#[test]
fn names_and_flags_that_mean_nothing_are_usage_errors() {
    let on = Scenario::on(&STILL);
    let admin = Admin::of(&on);
    for words in [
        &["pv/a/b"][..],
        &["sts/a"],
        &["pv/"],
        &["/a"],
        &["pv/a", "pv/a"],
        &["pv/UPPER"],
        &["pv/a", "--keep-data", "--destroy-data"],
        &["pv/a", "--accept-leak", "--reclaim"],
        &["pv/a", "--secret", "a/b", "--no-secret", "--reclaim"],
        &["--remove-finalizer", "example.com/a"],
        &["pv/a", "pv/b", "--remove-finalizer", "example.com/a"],
        &["pv/a", "--threshold", "nonsense=1s"],
        &["pv/a", "-l", "a=b"],
    ] {
        let mark = on.cluster.mark();
        let told = admin.run(&[&["fix-finalizers"], words].concat());
        assert_eq!(told.code, Some(2), "{words:?}: {}", told.stderr);
        assert!(admin.sent(mark).is_empty(), "{words:?}");
    }
    // What is not there is refused, not passed over.
    for missing in ["pv/none", "pvc/none", "volumeattachment/none"] {
        let told = admin.refused(5, &["fix-finalizers", missing, "-n", &on.name, "--yes"]);
        assert_eq!(told.refusals(), ["none"], "{missing}");
    }
    // Nothing hangs: nothing is done, and that is fine.
    let told = admin.refused(0, &fix(&["-n", &on.name, "--yes"]));
    assert_eq!((told.changes().len(), told.refusals().len()), (0, 0));
}

/// A dump is planned for, and nothing else.
#[test]
fn a_dump_is_planned_for_and_nothing_is_sent() {
    let on = Scenario::on(&STILL);
    let (name, object) = (on.named("pv"), hang(&on, &left(&on, "pv"), &[EXTERNAL]));
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let file = folder.path().join("dump.json").display().to_string();
    let dumped = Run::of(&["dump", &file]).kubeconfig(STILL.kubeconfig()).go();
    assert_eq!(dumped.code, Some(0), "{}", dumped.stderr);
    let words = [&[&*object, "-f", &*file, "-o", "json", "--yes"][..], &IS_GONE].concat();
    let mark = on.cluster.mark();
    let told = Told::of(Run::of(&fix(&words)).go()).ends(0);
    assert_eq!((told.json["kind"].as_str(), told.changes()), (Some("Plan"), vec![&*name]));
    let step = &told.json["changes"][0]["steps"][0];
    assert!(step.to_string().contains(EXTERNAL) && told.json.to_string().contains(GONE));
    on.cluster.assert_no_write(mark);
    assert_eq!(finalizers(&on, &object), [EXTERNAL]);
}

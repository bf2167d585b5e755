//! Claims that hang on their protection because nobody is left to remove it.

use serde_json::{Value, json};

use super::{Admin, CLAIM_PROTECTION, because, finalizers, fix, grow_old, is_one_removal, lines};
use crate::support::{Cluster, Driver, Mark, Options, Scenario, claim, eventually, pod};

const MANAGER: &str = "kube-controller-manager";
const BACKUP: &str = "example.com/backup";
const WORD: [&str; 2] = ["--driver-absent", MANAGER];
/// Claims that somebody uses or wants, and who.
const USED: [(&str, &str); 4] =
    [("runs", "pod"), ("waits", "pod"), ("finished", "pod"), ("rests", "deploy")];

/// The whole in one cluster, whose controller manager is stopped and comes back in the end.
#[test]
fn a_claim_is_let_go_when_its_controller_is_gone_and_nobody_uses_it() {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::COMPLETE });
    let on = Scenario::on(&cluster);
    let driver = cluster.driver();
    let free = ["kept", "destroyed", "backed-up"];
    let used = USED.map(|(name, _)| name);
    for name in free.iter().chain(&used) {
        on.create(&claim(name, &driver.class_delete));
    }
    let volumes = free.map(|name| on.bound(name));
    for name in used {
        on.bound(name);
    }
    users(&on);
    super::set_finalizers(&on, "pvc/backed-up", &[CLAIM_PROTECTION, BACKUP]);
    cluster.stop_component("kcm");
    for name in free.iter().chain(&used) {
        on.delete(&format!("pvc/{name}"));
    }
    grow_old();

    let admin = Admin::of(&on);
    // It was there a second ago, whatever anybody says.
    let args = fix(&[&["pvc/kept", "-n", &*on.name, "--yes", "--keep-data"][..], &WORD].concat());
    because(&admin.refused(5, &args), "kept", &[MANAGER]);
    let old = json!({"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}});
    cluster.patch("kube-system", "lease/kube-controller-manager", &old);
    let unsaid = fix(&["pvc/kept", "-n", &on.name, "--yes", "--keep-data"]);
    because(&admin.refused(5, &unsaid), "kept", &[MANAGER]);

    in_use(&admin);
    kept(&admin, &volumes[0]);
    destroyed(&admin, &volumes[1]);
    foreign(&admin, &volumes[2]);
    let handles = volumes.each_ref().map(|name| on.handle(name));
    cluster.start_component("kcm");
    on.wait_phase(&format!("pv/{}", volumes[0]), "Released");
    on.wait_phase(&format!("pv/{}", volumes[2]), "Released");
    on.wait_gone(&format!("pv/{}", volumes[1]));
    ended(&on, driver, &handles);
}

/// Pods of every kind, and a workload at rest.
fn users(on: &Scenario) {
    on.create(&pod("runs", "runs"));
    let mut waits = pod("waits", "waits");
    waits["spec"]["nodeSelector"] = json!({"example.com/none": "yes"});
    on.create(&waits);
    on.create(&pod("finished", "finished"));
    for name in ["runs", "finished"] {
        on.wait_phase(&format!("pod/{name}"), "Running");
    }
    on.patch_status("pod/finished", &json!({"status": {"phase": "Succeeded"}}));
    let labels = json!({"app": "rests"});
    on.create(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "rests"},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod("rests", "rests")["spec"]},
        },
    }));
}

/// Whoever uses it, running or not, is in the way, and no flag is a way around.
fn in_use(admin: &Admin) {
    let on = admin.on;
    for (name, _) in USED {
        let object = format!("pvc/{name}");
        for more in [&["--keep-data"][..], &["--destroy-data"]] {
            let named = [&*object, "-n", &*on.name, "--yes"];
            let told = admin.refused(5, &fix(&[&named[..], &WORD, more].concat()));
            because(&told, name, &[name]);
        }
        assert_eq!(finalizers(on, &object), [CLAIM_PROTECTION]);
    }
}

/// The words about one claim, with the controller manager declared absent.
fn about<'a>(on: &'a Scenario, object: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    fix(&[&[object, "-n", &*on.name, "--yes"][..], &WORD, more].concat())
}

/// The places, in the order of the log, of the requests of some sort.
fn places(log: &[Value], so: impl Fn(&Value) -> bool) -> Vec<usize> {
    log.iter().enumerate().filter(|(_, it)| so(it)).map(|(place, _)| place).collect()
}

/// Panics unless the pods of the namespace were listed live between everything else and a claim's patch, and once more
/// after it. Returns the place of the patch in the log.
fn listed_around(admin: &Admin, since: Mark, claim: &str) -> usize {
    let log = admin.requests(since);
    let is = |it: &Value, verb: &str, resource: &str, name: &str| {
        let object = &it["objectRef"];
        let named = name.is_empty() || object["name"] == *name;
        it["verb"] == *verb && object["resource"] == *resource && named
    };
    let real = |it: &Value| !it["requestURI"].to_string().contains("dryRun");
    let patches = places(&log, |it| is(it, "patch", "persistentvolumeclaims", claim) && real(it));
    let [patch] = patches[..] else { panic!("{claim} was patched {} times", patches.len()) };
    let lists = places(&log, |it| {
        let uri = it["requestURI"].as_str().unwrap_or_default();
        let live = !uri.contains("resourceVersion=") && !uri.contains("labelSelector");
        is(it, "list", "pods", "") && it["objectRef"]["namespace"] == *admin.on.name && live
    });
    let before = places(&log, |it| is(it, "patch", "persistentvolumes", "") && real(it));
    let last = before.last().copied().unwrap_or_default();
    assert!(lists.iter().any(|it| last < *it && *it < patch), "no pods were listed right before");
    assert!(lists.iter().any(|it| *it > patch), "no pods were listed afterwards");
    patch
}

fn kept(admin: &Admin, volume: &str) {
    let (on, object) = (admin.on, "pvc/kept");
    let told = admin.refused(5, &about(on, object, &[]));
    because(&told, "kept", &["--keep-data", "--destroy-data"]);
    admin.refused(2, &about(on, object, &["--keep-data", "--destroy-data"]));
    let (before, mark) = (on.read(object), on.cluster.mark());
    let told = admin.run(&about(on, object, &["--keep-data"])).ends(0);
    assert_eq!(told.outcomes("done"), ["kept"], "{:#}", told.json);
    let sent: Vec<_> = admin.sent(mark).into_iter().filter(|it| !it.dry).collect();
    let expected = [
        format!("patch persistentvolumes {volume}"),
        "patch persistentvolumeclaims kept".to_owned(),
    ];
    assert_eq!(lines(&sent), expected);
    let flip =
        json!({"op": "replace", "path": "/spec/persistentVolumeReclaimPolicy", "value": "Retain"});
    assert!(sent[0].body.as_array().is_some_and(|all| all.contains(&flip)), "{:#}", sent[0].body);
    is_one_removal(&sent[1].body, &before, CLAIM_PROTECTION);
    listed_around(admin, mark, "kept");
    assert!(on.get(object).is_none());
}

fn destroyed(admin: &Admin, volume: &str) {
    let (on, object) = (admin.on, "pvc/destroyed");
    because(&admin.refused(5, &about(on, object, &[])), "destroyed", &["--destroy-data"]);
    let (before, mark) = (on.read(object), on.cluster.mark());
    let told = admin.run(&about(on, object, &["--destroy-data"])).ends(0);
    assert_eq!(told.outcomes("done"), ["destroyed"], "{:#}", told.json);
    super::one_removal(admin, mark, "persistentvolumeclaims", &before, CLAIM_PROTECTION);
    listed_around(admin, mark, "destroyed");
    let live = on.read(&format!("pv/{volume}"));
    assert_eq!(live["spec"]["persistentVolumeReclaimPolicy"], "Delete");
    assert!(on.get(object).is_none());
}

/// Somebody's finalizer beside it: whichever is the last asks what becomes of the data.
fn foreign(admin: &Admin, volume: &str) {
    let (on, object) = (admin.on, "pvc/backed-up");
    let (before, mark) = (on.read(object), on.cluster.mark());
    let told = admin.run(&about(on, object, &[])).ends(0);
    assert_eq!(told.outcomes("done"), ["backed-up"], "{:#}", told.json);
    let patch =
        super::one_removal(admin, mark, "persistentvolumeclaims", &before, CLAIM_PROTECTION);
    // It is known that it does not go with it.
    assert_eq!(super::tested(&patch, "/metadata/finalizers/1"), Some(&json!(BACKUP)));
    assert_eq!(finalizers(on, object), [BACKUP]);

    because(&admin.refused(5, &about(on, object, &[])), "backed-up", &[BACKUP]);
    let remove = ["--remove-finalizer", BACKUP];
    let words = ["--keep-data", "--destroy-data"];
    because(&admin.refused(5, &about(on, object, &remove)), "backed-up", &words);
    let told = admin.run(&about(on, object, &[&remove[..], &["--keep-data"]].concat())).ends(0);
    assert_eq!(told.outcomes("done"), ["backed-up"], "{:#}", told.json);
    let live = on.read(&format!("pv/{volume}"));
    assert_eq!(live["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    assert!(on.get(object).is_none());
}

/// What the controller manager makes of it.
fn ended(on: &Scenario, driver: &Driver, handles: &[String; 3]) {
    let [kept, destroyed, backed_up] = handles;
    eventually("the data that was given up is gone", || !driver.has(destroyed));
    for kept in [kept, backed_up] {
        assert!(driver.has(kept) && driver.delete_calls(kept) == 0);
    }
    assert!(on.get("pvc/runs").is_some(), "it is in use");
}

/// Whoever may do the first step and not the second does neither. No controller runs.
#[test]
fn a_claim_that_may_not_be_patched_leaves_its_volume_as_it_was() {
    let on = Scenario::on(&super::STILL);
    let name = on.named("pv");
    let mut data = claim("data", "");
    data["spec"]["volumeName"] = json!(name);
    let data = on.create(&data);
    on.patch_status("pvc/data", &json!({"status": {"phase": "Bound"}}));
    let mut volume = super::left(&on, "pv").policy("Delete").reserved_for(&on.name, "data");
    volume.0["spec"]["claimRef"]["uid"] = data["metadata"]["uid"].clone();
    super::make(&on, &volume, "Bound", &[super::PV_PROTECTION]);
    on.delete("pvc/data");
    grow_old();
    let patcher = Admin::limited(&on, "patcher", &[], &["patch"]);
    eventually("the authorizer knows the new role", || {
        let who = ["auth", "can-i", "patch", "persistentvolumes", "--as", &patcher.name];
        on.cluster.try_kubectl(&who, "").is_ok()
    });
    let told = patcher.run(&about(&on, "pvc/data", &["--keep-data"]));
    assert_eq!(told.code, Some(5), "{:#}", told.json);
    assert_eq!(told.outcomes("refused"), ["data"], "{:#}", told.json);
    because(&told, "data", &["403"]);
    let live = on.read(&format!("pv/{name}"));
    assert_eq!(live["spec"]["persistentVolumeReclaimPolicy"], "Delete");
    assert_eq!(finalizers(&on, "pvc/data"), [CLAIM_PROTECTION]);
}

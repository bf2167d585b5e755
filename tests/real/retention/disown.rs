//! `disown`: what it removes, what it refuses, and what becomes of the claim, with the tool and without it.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Admin, Cluster, Options, Run, Scenario, claim, eventually, shared};

const DEAD: &str = "00000000-dead-4000-8000-000000000000";
/// What the API server of a cluster without the garbage collector leaves alone.
const NO_COLLECTOR: Options = Options {
    controller_args: &["--controllers=-garbage-collector-controller"],
    ..Options::COMPLETE
};

/// A reference to an object of the core group.
fn reference(kind: &str, name: &str, uid: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid})
}

fn own(on: &Scenario, name: &str, owners: &[Value]) {
    let mut object = claim(name, "");
    object["metadata"]["ownerReferences"] = json!(owners);
    on.create(&object);
}

/// The names of the owners of a claim.
fn owners(on: &Scenario, name: &str) -> Vec<String> {
    let live = on.read(&format!("pvc/{name}"));
    let all = live["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    all.iter().map(|it| it["name"].as_str().unwrap_or_default().to_owned()).collect()
}

fn is_going(on: &Scenario, name: &str) -> bool {
    on.get(&format!("pvc/{name}")).is_none_or(|it| !it["metadata"]["deletionTimestamp"].is_null())
}

/// A claim that was restored from a backup: without the tool it is deleted, with it it stays.
#[test]
fn d_72_a_restored_claim_survives_the_garbage_collector() {
    let cluster = Cluster::start(NO_COLLECTOR);
    let on = Scenario::on(&cluster);
    for name in ["left", "kept"] {
        own(&on, name, &[reference("ConfigMap", "gone", DEAD)]);
    }
    let uid = on.read("pvc/kept")["metadata"]["uid"].clone();
    let report = on.audit(&[]);
    let found = report.finding("pvc-doomed-by-gc", &format!("pvc/{}/kept", on.name));
    let command = format!("kubectl storage disown pvc/kept -n {}", on.name);
    assert_eq!(found.0["remedy"]["command"], command);

    let (admin, mark) = (Admin::of(&on), cluster.mark());
    let version = on.read("pvc/kept")["metadata"]["resourceVersion"].clone();
    let told = admin.run(&["disown", "pvc/kept", "-n", &on.name, "--yes"]).ends(0);
    assert_eq!(told.outcomes("done"), ["kept"], "{:#}", told.json);
    assert!(told.reason("kept").ends_with("the claim has no owner"), "{:#}", told.json);
    let sent = admin.sent(mark);
    let lines: Vec<_> = sent.iter().map(crate::support::Write::line).collect();
    let patch = "patch persistentvolumeclaims kept";
    assert_eq!(lines, [format!("dry {patch}"), patch.to_owned()]);
    assert_eq!(
        sent[1].body,
        json!([
            {"op": "test", "path": "/metadata/uid", "value": uid},
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "test", "path": "/metadata/deletionTimestamp", "value": null},
            {"op": "test", "path": "/metadata/ownerReferences/0/uid", "value": DEAD},
            {"op": "remove", "path": "/metadata/ownerReferences/0"},
        ])
    );
    let journal = admin.journal(&told);
    assert_eq!(journal[0]["action"], "remove-owner-references");
    let before = &journal[0]["preImage"]["metadata"]["ownerReferences"][0];
    assert_eq!(before["uid"], DEAD, "{journal:#?}");
    let undone = admin.refused(5, &["undo", "1", "--yes"]);
    assert!(undone.json.to_string().contains("would delete the claim"), "{:#}", undone.json);

    cluster.restart_controllers(&[]);
    eventually("the garbage collector has deleted the other", || is_going(&on, "left"));
    sleep(Duration::from_secs(5));
    assert!(!is_going(&on, "kept"));
    assert_eq!(on.read("pvc/kept")["metadata"]["uid"], uid);
}

#[test]
fn only_what_is_proven_not_to_exist_is_removed() {
    let on = Scenario::on(shared());
    let map = on.create(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "here"},
    }));
    let uid = map["metadata"]["uid"].as_str().expect("it was created").to_owned();
    let here = reference("ConfigMap", "here", &uid);
    let unknown = json!({
        "apiVersion": "db.example.com/v1", "kind": "Database", "name": "d", "uid": DEAD,
    });
    // Two owners that exist or may exist keep each of them from the garbage collector.
    own(&on, "solid", std::slice::from_ref(&here));
    own(&on, "unserved", std::slice::from_ref(&unknown));
    own(&on, "mixed", &[unknown, reference("ConfigMap", "gone", DEAD), here]);
    let admin = Admin::of(&on);
    let refused = |name: &str| {
        let named = format!("pvc/{name}");
        admin.refused(5, &["disown", &named, "-n", &on.name, "--yes"]).reason(name).to_owned()
    };
    assert_eq!(refused("solid"), "its owner exists: ConfigMap here");
    assert!(refused("unserved").contains("--owner-kind-gone"));
    assert!(refused("none").contains("there is no such claim"));
    eventually("the garbage collector has removed the reference that dangles, or left it", || {
        ["mixed", "solid"].iter().all(|it| !is_going(&on, it))
    });
}

/// A claim that the garbage collector was faster with.
#[test]
fn a_claim_that_is_terminating_already_is_refused_with_what_helps() {
    let on = Scenario::on(shared());
    let mut object = claim("late", "");
    object["metadata"]["finalizers"] = json!(["example.com/held"]);
    object["metadata"]["ownerReferences"] = json!([reference("ConfigMap", "gone", DEAD)]);
    on.create(&object);
    eventually("the garbage collector has it", || is_going(&on, "late"));
    let admin = Admin::of(&on);
    let told = admin.refused(5, &["disown", "pvc/late", "-n", &on.name, "--yes"]);
    let retain = format!("kubectl storage retain pvc/late -n {}", on.name);
    assert!(told.reason("late").contains(&retain), "{:#}", told.json);
    on.patch("pvc/late", &json!({"metadata": {"finalizers": null}}));
}

#[test]
fn the_role_that_rbac_prints_is_enough_and_needs_no_right_to_delete() {
    let cluster = Cluster::start(NO_COLLECTOR);
    let on = Scenario::on(&cluster);
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": DEAD,
    });
    own(&on, "data", &[set, reference("ConfigMap", "unreadable", DEAD)]);
    let printed = Run::of(&["rbac", "disown"]).go();
    assert!(printed.stdout.contains("OwnerReferencesPermissionEnforcement"), "{}", printed.stdout);
    let role: Value = serde_yaml::from_str(&printed.stdout).expect("because it is YAML");
    let rules = role["rules"].to_string();
    assert!(!rules.contains("delete") && !rules.contains("list"), "{rules}");
    let admin = Admin::named(&on, "least", &[]);
    cluster.grant(&admin.name, &role["rules"]);
    eventually("the authorizer knows the new role", || {
        let who = ["auth", "can-i", "patch", "persistentvolumeclaims", "--as", &admin.name];
        cluster.try_kubectl(&who, "").is_ok()
    });
    let check = Run::of(&["rbac", "disown", "--check", "--as", &admin.name]);
    let checked = check.kubeconfig(cluster.kubeconfig()).go();
    assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
    assert!(
        checked.stderr.contains("you may not delete persistentvolumeclaims"),
        "{}",
        checked.stderr
    );
    let told = admin.run(&["disown", "pvc/data", "-n", &on.name, "--yes"]).ends(0);
    assert_eq!(told.outcomes("done"), ["data"], "{:#}", told.json);
    // What may not be read is unknown, and stays.
    assert_eq!(owners(&on, "data"), ["unreadable"]);
    let told = admin.refused(5, &["disown", "pvc/data", "-n", &on.name, "--yes"]);
    assert!(told.reason("data").contains("asking is forbidden"), "{:#}", told.json);
}

/// The admission plugin lets only those change owner references who may delete the object.
#[test]
fn what_the_admission_plugin_refuses_is_told_and_nothing_is_written() {
    let cluster = Cluster::start(Options {
        server_args: &["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"],
        ..NO_COLLECTOR
    });
    let on = Scenario::on(&cluster);
    own(&on, "data", &[reference("Pod", "gone", DEAD)]);
    let printed = Run::of(&["rbac", "disown"]).go();
    let role: Value = serde_yaml::from_str(&printed.stdout).expect("because it is YAML");
    let admin = Admin::named(&on, "least", &[]);
    cluster.grant(&admin.name, &role["rules"]);
    eventually("the authorizer knows the new role", || {
        let who = ["auth", "can-i", "patch", "persistentvolumeclaims", "--as", &admin.name];
        cluster.try_kubectl(&who, "").is_ok()
    });
    let told = admin.refused(5, &["disown", "pvc/data", "-n", &on.name, "--yes"]);
    assert!(told.reason("data").contains("can't delete"), "{:#}", told.json);
    let of = on.named("deleter");
    let (verb, on_claims) = ("--verb=delete", "--resource=persistentvolumeclaims");
    cluster.kubectl(&["create", "clusterrole", &of, verb, on_claims]);
    let (role, user) = (format!("--clusterrole={of}"), format!("--user={}", admin.name));
    cluster.kubectl(&["create", "clusterrolebinding", &of, &role, &user]);
    eventually("with the right to delete it is done", || {
        admin.run(&["disown", "pvc/data", "-n", &on.name, "--yes"]).code == Some(0)
    });
    assert!(owners(&on, "data").is_empty());
}

/// An operator that does not know that its object is gone adds the reference again.
#[test]
fn who_adds_the_reference_again_is_named() {
    let cluster = Cluster::start(NO_COLLECTOR);
    let on = Scenario::on(&cluster);
    own(&on, "data", &[reference("ConfigMap", "gone", DEAD)]);
    let admin = Admin::of(&on);
    let run =
        admin.by(cluster.kubeconfig(), &["disown", "pvc/data", "-n", &on.name, "--yes"]).start();
    eventually("the reference is removed", || owners(&on, "data").is_empty());
    let again = json!({"metadata": {"ownerReferences": [reference("ConfigMap", "gone", DEAD)]}});
    let patch = again.to_string();
    cluster.kubectl(&[
        "patch",
        "pvc",
        "data",
        "-n",
        &on.name,
        "--type=merge",
        "--field-manager=stubborn-operator",
        "-p",
        &patch,
    ]);
    let told = crate::support::Told::of(run.finish()).ends(6);
    assert!(told.reason("data").contains("\"stubborn-operator\" added"), "{:#}", told.json);
}

/// The kind of the owner is not served any more, and comes back (I.6).
#[test]
#[ignore = "extended suite: further cases"]
fn an_owner_whose_kind_was_uninstalled() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let install = |served: bool| {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "databases.db.example.com"},
            "spec": {
                "group": "db.example.com", "scope": "Namespaced",
                "names": {"kind": "Database", "plural": "databases", "singular": "database"},
                "versions": [{
                    "name": "v1", "served": served, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                }],
            },
        });
        cluster.create(&crd);
        eventually("the kind is served", || {
            cluster.try_kubectl(&["get", "databases", "-n", &on.name], "").is_ok()
        });
    };
    install(true);
    let database = json!({
        "apiVersion": "db.example.com/v1", "kind": "Database", "metadata": {"name": "d"},
    });
    let made = on.create(&database);
    let owner = json!({
        "apiVersion": "db.example.com/v1", "kind": "Database", "name": "d",
        "uid": made["metadata"]["uid"],
    });
    for name in ["left", "kept"] {
        own(&on, name, std::slice::from_ref(&owner));
    }
    own(&on, "both", &[owner.clone(), reference("ConfigMap", "gone", DEAD)]);
    let admin = Admin::of(&on);
    let args = ["disown", "pvc/kept", "-n", &on.name, "--yes"];
    assert!(admin.refused(5, &args).reason("kept").contains("its owner exists"));
    cluster.kubectl(&["delete", "crd", "databases.db.example.com"]);
    let (report, left) = (on.audit(&[]), format!("pvc/{}/left", on.name));
    let found = report.finding("pvc-owner-kind-not-served", &left).expect("medium", "report-only");
    found.says(&["disown pvc/left", "--owner-kind-gone"]);
    report.is_second_fixture("pvc-owner-kind-not-served", &left);
    let told = admin.refused(5, &args);
    assert!(told.reason("kept").contains("--owner-kind-gone"), "{:#}", told.json);
    // What remains is told with what it means.
    let told = admin.run(&["disown", "pvc/both", "-n", &on.name, "--yes"]).ends(0);
    assert_eq!(owners(&on, "both"), ["d"]);
    let remains = "its owner is Database d; no version of the kind of Database d is served";
    assert!(told.reason("both").contains(remains), "{:#}", told.json);
    assert!(told.reason("both").contains("--owner-kind-gone"), "{:#}", told.json);
    let flag = [&args[..], &["--owner-kind-gone"]].concat();
    let told = admin.run(&flag).ends(0);
    assert_eq!(told.outcomes("done"), ["kept"], "{:#}", told.json);
    assert!(!is_going(&on, "left"), "nothing can be asked of its owner");
    install(true);
    eventually("the garbage collector has deleted the other", || is_going(&on, "left"));
    assert!(!is_going(&on, "kept"));
}

//! A user who may read and patch in one namespace, and nothing that belongs to the cluster.

use serde_json::{Value, json};

use super::set::{BY_SET, DELETE_SCALED, DELETE_WITH_SET, RETAIN, Set};
use crate::support::{Admin, Cluster, Options, Run, Scenario, eventually, host_path_class, shared};

const DEAD: &str = "00000000-dead-4000-8000-000000000000";

/// Lets a user do these things to claims, and read the other objects of the namespace.
fn grant(on: &Scenario, user: &str, claims: &[&str]) {
    let read = ["get", "list", "watch"];
    on.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "local"},
        "rules": [
            {"apiGroups": ["", "apps", "batch", "autoscaling"], "resources": ["*"], "verbs": read},
            {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": claims},
        ],
    }));
    on.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "local"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "local"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }));
    eventually("the authorizer knows the role", || {
        let who = ["auth", "can-i", "list", "statefulsets", "-n", &on.name, "--as", user];
        on.cluster.try_kubectl(&who, "").is_ok()
    });
}

/// Runs a reading command in the user's name.
fn read(on: &Scenario, user: &str, args: &[&str]) -> (Value, String, Option<i32>) {
    let run = Run::of(args).more(&["-n", &on.name, "-o", "json", "--as", user]);
    let outcome = run.kubeconfig(on.cluster.kubeconfig()).go();
    let json = serde_json::from_str(&outcome.stdout).unwrap_or_default();
    (json, outcome.stderr, outcome.code)
}

fn of_claims(said: &Value, field: &str) -> Vec<String> {
    let claims = said["sets"][0]["claims"].as_array().cloned().unwrap_or_default();
    let pointer = format!("/{field}");
    let word = |it: &Value| it.pointer(&pointer).and_then(Value::as_str).map(str::to_owned);
    claims.iter().map(|it| word(it).unwrap_or_default()).collect()
}

/// What can be known is said; that the data may be destroyed is not known, and not denied.
#[test]
fn retention_and_simulate_say_what_they_can() {
    let set = Set::start(shared(), DELETE_WITH_SET, 3);
    set.wait_owners("data-web-2", &[BY_SET]);
    set.scale(1);
    set.set_policy(RETAIN);
    set.wait_owners("data-web-0", &[]);
    let user = set.on.named("local");
    grant(&set.on, &user, &["get"]);

    let (shown, stderr, code) = read(&set.on, &user, &["retention"]);
    assert_eq!(code, Some(4), "{stderr}");
    assert_eq!(
        of_claims(&shown, "agreement"),
        ["matches", "contradicts", "contradicts"],
        "{shown:#}"
    );
    assert_eq!(of_claims(&shown, "ifSetDeleted/claim"), ["kept", "deleted", "deleted"]);
    let volumes = |it: &Value| it["resource"] == "persistentvolumes" && it["reason"] != "";
    let gaps = shown["gaps"].as_array().cloned().unwrap_or_default();
    assert!(gaps.iter().any(volumes), "{shown:#}");
    assert!(stderr.contains("not read: persistentvolumes: forbidden"), "{stderr}");
    for data in of_claims(&shown, "ifSetDeleted/data").iter().skip(1) {
        assert!(!["released", "kept", ""].contains(&&**data), "the policy was not read: {data}");
    }

    let simulate = ["retention", "simulate", "web", "--delete", "--fail-if-destroyed"];
    let (said, stderr, code) = read(&set.on, &user, &simulate);
    // What may be destroyed weighs more than what was not read.
    assert_eq!(code, Some(3), "{stderr}");
    assert_eq!(of_claims(&said, "effect/claim"), ["kept", "deleted", "deleted"], "{said:#}");
    assert_eq!(said["summary"]["destroyed"]["count"], 0, "{said:#}");
    assert_eq!(said["summary"]["mayBeDestroyed"]["count"], 2, "{said:#}");

    // Nothing of another namespace is shown, and it is said that nothing could be read.
    let (shown, stderr, code) = read(&set.on, &user, &["retention", "show", "web"]);
    assert_eq!(
        (code, shown["sets"][0]["object"]["name"].as_str()),
        (Some(4), Some("web")),
        "{stderr}"
    );
    let elsewhere = Run::of(&["retention", "-n", "default", "-o", "json", "--as", &user]);
    let elsewhere = elsewhere.kubeconfig(set.on.cluster.kubeconfig()).go();
    assert_eq!(elsewhere.code, Some(4), "{}", elsewhere.stderr);
    assert!(elsewhere.stderr.contains("not read: statefulsets"), "{}", elsewhere.stderr);
}

/// What is done rests on claims, sets and pods; that the volumes were not read is told, and the exit code says so.
#[test]
fn apply_keeps_what_the_policy_retains() {
    let set = Set::start(shared(), DELETE_WITH_SET, 3);
    set.wait_owners("data-web-2", &[BY_SET]);
    set.scale(1);
    set.set_policy(RETAIN);
    set.wait_owners("data-web-0", &[]);
    let before = set.claims();
    let admin = Admin::named(&set.on, "local", &[]);
    grant(&set.on, &admin.name, &["patch"]);
    let who = ["auth", "can-i", "patch", "persistentvolumeclaims", "-n", &set.on.name];
    eventually("the authorizer knows the right to patch", || {
        set.on.cluster.try_kubectl(&[&who[..], &["--as", &admin.name]].concat(), "").is_ok()
    });
    let args = ["retention", "reconcile", "-n", &set.on.name, "--yes", "-v"];
    let elsewhere = admin.run(&["retention", "reconcile", "-n", "default", "--yes", "-v"]).ends(4);
    assert!(elsewhere.changes().is_empty(), "{:#}", elsewhere.json);
    let mut unread = elsewhere.stderr.lines().filter(|it| it.starts_with("not read: "));
    assert!(unread.any(|it| it.contains("statefulsets")), "{}", elsewhere.stderr);
    let told = admin.run(&args).ends(4);
    assert_eq!(told.outcomes("done"), ["data-web-1", "data-web-2"], "{:#}", told.json);
    assert!(told.stderr.contains("not read: persistentvolumes"), "{}", told.stderr);
    set.delete();
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(set.claims(), before);
}

#[test]
fn a_scale_down_is_foretold_without_the_volumes() {
    let set = Set::start(shared(), DELETE_SCALED, 2);
    let user = set.on.named("local");
    grant(&set.on, &user, &["get"]);
    let simulate = ["retention", "simulate", "web", "--replicas", "1"];
    let (said, stderr, code) = read(&set.on, &user, &simulate);
    assert_eq!(code, Some(4), "{stderr}");
    assert_eq!(of_claims(&said, "effect/claim"), ["kept", "deleted"], "{said:#}");
    let before = set.claims();
    set.scale(1);
    set.wait_ordinals(&["0"]);
    assert_eq!(set.claims()["data-web-0"], before["data-web-0"]);
}

/// Which volume a claim has does not matter for its owners.
#[test]
fn disown_needs_no_right_to_read_volumes() {
    let cluster = Cluster::start(Options {
        controller_args: &["--controllers=*,-garbage-collector-controller"],
        ..Options::COMPLETE
    });
    let on = Scenario::on(&cluster);
    let class = on.named("class");
    on.create(&host_path_class(&class, "Delete"));
    for name in ["data", "other"] {
        on.create(&crate::support::claim(name, &class));
        on.bound(name);
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "gone", "uid": DEAD});
        let patch = json!({"metadata": {"ownerReferences": [owner]}});
        on.patch(&format!("pvc/{name}"), &patch);
    }
    let admin = Admin::named(&on, "local", &[]);
    grant(&on, &admin.name, &["get"]);
    let args = ["disown", "pvc/data", "pvc/other", "-n", &on.name, "--yes"];
    let told = admin.refused(5, &args);
    assert!(told.reason("data").contains("cannot patch"), "{:#}", told.json);
    on.cluster.kubectl(&["delete", "role,rolebinding", "local", "-n", &on.name]);
    grant(&on, &admin.name, &["patch"]);
    let who = ["auth", "can-i", "patch", "persistentvolumeclaims", "-n", &on.name];
    eventually("the authorizer knows the right to patch", || {
        cluster.try_kubectl(&[&who[..], &["--as", &admin.name]].concat(), "").is_ok()
    });
    let told = admin.run(&args);
    assert_eq!(told.outcomes("done"), ["data", "other"], "{:#} {}", told.json, told.stderr);
    assert_eq!(told.code, Some(0), "nothing rests on the volumes: {}", told.stderr);
    for name in ["data", "other"] {
        assert!(on.read(&format!("pvc/{name}"))["metadata"]["ownerReferences"].is_null());
    }
    // In another namespace nothing is allowed.
    let told = admin.refused(5, &["disown", "pvc/data", "-n", "default", "--yes"]);
    assert!(!told.reason("data").contains("there is no such claim"), "{:#}", told.json);
}

//! What is removed without a flag: references that contradict the policy, and stale ones.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::set::{BY_SET, DELETE_SCALED, DELETE_WITH_SET, RETAIN, Set};
use super::{DEAD, lines, patched, removals};
use crate::support::{Admin, Cluster, Options, eventually, shared};

const CONTRADICTS: &str = "sts-ownerref-contradicts-retain";
const STALE: &str = "sts-stale-ownerref";
const A_WHILE: Duration = Duration::from_secs(5);
/// What the API server of a cluster without the garbage collector leaves alone.
const NO_COLLECTOR: Options = Options {
    controller_args: &["--controllers=-garbage-collector-controller"],
    ..Options::COMPLETE
};

/// A reference to a set of that name and this uid, as the controller writes it.
fn by_set(uid: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": uid,
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// A set of three that was scaled to one with whenDeleted Delete, and retains since.
fn switched_too_late() -> Set<'static> {
    let set = Set::start(shared(), DELETE_WITH_SET, 3);
    set.wait_owners("data-web-2", &[BY_SET]);
    set.scale(1);
    set.set_policy(RETAIN);
    set.wait_owners("data-web-0", &[]);
    set
}

/// F60: without the tool, `delete sts` destroys claims 1 and 2 (`claims_without_a_pod_still_go_with_a_set_that_retains`).
#[test]
fn claims_without_a_pod_stay_when_the_set_is_deleted() {
    let set = switched_too_late();
    let (before, folders) = (set.claims(), set.folders());
    let report = set.on.audit(&[]);
    for claim in ["data-web-1", "data-web-2"] {
        let found = report.finding(CONTRADICTS, &set.claim(claim));
        found.expect("critical", "fixable");
        assert_eq!(found.0["remedy"]["command"], set.command());
    }
    let admin = Admin::of(&set.on);
    let mark = set.on.cluster.mark();
    let version = set.on.read("pvc/data-web-1")["metadata"]["resourceVersion"].clone();
    let told = set.apply(&admin, &[]).ends(0);
    assert_eq!(told.outcomes("done"), ["data-web-1", "data-web-2"], "{:#}", told.json);
    assert!(told.reason("data-web-1").ends_with("the claim has no owner"), "{:#}", told.json);
    let requests = removals(&admin, mark);
    let patch = |claim| format!("patch persistentvolumeclaims {claim}");
    assert_eq!(lines(&requests), ["data-web-1", "data-web-2"].map(patch));
    assert_eq!(
        requests[0].body,
        json!([
            {"op": "test", "path": "/metadata/uid", "value": before["data-web-1"]},
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "test", "path": "/metadata/deletionTimestamp", "value": null},
            {"op": "test", "path": "/metadata/ownerReferences/0/uid", "value": set.uid()},
            {"op": "remove", "path": "/metadata/ownerReferences/0"},
        ])
    );
    let journal = admin.journal(&told);
    assert_eq!(journal[0]["action"], "remove-owner-references");
    assert_eq!(journal[0]["because"], "retention-remove-owners");
    assert_eq!(
        journal[0]["preImage"]["metadata"]["ownerReferences"][0]["uid"],
        set.uid(),
        "{journal:#?}"
    );

    // Nothing is left to do, and nothing adds the references again.
    let again = set.apply(&admin, &[]).ends(0);
    assert!(again.changes().is_empty() && again.refusals().is_empty(), "{:#}", again.json);
    let undone = admin.refused(5, &["undo", "1", "--yes"]);
    assert!(undone.json.to_string().contains("makes the claim deletable"), "{:#}", undone.json);

    set.delete();
    sleep(A_WHILE);
    assert_eq!(set.claims(), before);
    assert!(folders.values().all(|it| it.exists()), "{folders:?}");
}

/// I.6: the policy becomes Retain while pod 0 is never ready. Without the tool `delete sts` destroys all claims
/// (`claims_behind_a_pod_that_is_never_ready_still_go_with_the_set`).
#[test]
#[ignore = "extended suite: further cases"]
fn claims_behind_a_pod_that_is_never_ready_stay() {
    let set = Set::start(shared(), DELETE_WITH_SET, 3);
    set.wait_owners("data-web-2", &[BY_SET]);
    set.unready("pod/web-0");
    set.set_policy(RETAIN);
    let all = ["data-web-0", "data-web-1", "data-web-2"];
    sleep(Duration::from_secs(3));
    for claim in all {
        assert_eq!(set.owners(claim), [BY_SET], "{claim}");
    }
    let (before, folders) = (set.claims(), set.folders());
    let admin = Admin::of(&set.on);
    let mark = set.on.cluster.mark();
    let plan = set.apply(&admin, &["--dry-run"]).ends(0);
    let notices = plan.listed("changes")[0]["notices"].to_string();
    assert!(notices.contains("unless it waits for a pod"), "{notices}");
    let told = set.apply(&admin, &[]).ends(0);
    assert_eq!(told.outcomes("done"), all, "{:#}", told.json);
    let patch = |claim| format!("patch persistentvolumeclaims {claim}");
    assert_eq!(lines(&removals(&admin, mark)), all.map(patch));
    set.delete();
    sleep(A_WHILE);
    assert_eq!(set.claims(), before);
    assert!(folders.values().all(|it| it.exists()), "{folders:?}");
}

/// F65, of a set that was recreated: the garbage collector would delete the claim as soon as it runs.
#[test]
fn a_reference_to_an_earlier_set_is_removed_and_never_pointed_at_the_new_one() {
    let cluster = Cluster::start(NO_COLLECTOR);
    let set = Set::start(&cluster, DELETE_WITH_SET, 2);
    set.wait_owners("data-web-1", &[BY_SET]);
    set.scale(1);
    set.set_owners("data-web-1", &[by_set(DEAD)]);
    let before = set.claims();
    let report = set.on.audit(&[]);
    let found = report.finding(STALE, &set.claim("data-web-1"));
    let then = format!("`{}` keeps the claim", set.command());
    assert!(found.0["verdict"]["reason"].to_string().contains(&then), "{:#}", found.0);

    let admin = Admin::of(&set.on);
    let mark = cluster.mark();
    let told = set.apply(&admin, &[]).ends(0);
    assert_eq!(told.outcomes("done"), ["data-web-1"], "{:#}", told.json);
    let requests = admin.sent(mark);
    assert_eq!(lines(&requests), patched(["data-web-1"]));
    let body = requests[1].body.to_string();
    assert!(body.contains(DEAD) && !body.contains(&set.uid()), "{body}");
    assert!(!body.contains(r#""op":"add""#), "{body}");
    assert!(set.owners("data-web-1").is_empty());
    cluster.restart_controllers(&[]);
    sleep(A_WHILE);
    assert_eq!(set.claims(), before);
}

/// A scale flap (R-1847-12): the claim would be deleted with its old pod.
#[test]
#[ignore = "extended suite: further cases"]
fn a_claim_that_a_scale_flap_would_erase_stays() {
    let set = Set::start(shared(), DELETE_SCALED, 2);
    let before = set.claims();
    set.on.patch("pod/web-1", &json!({"metadata": {"finalizers": ["example.com/held"]}}));
    set.on.patch("sts/web", &json!({"spec": {"replicas": 1}}));
    set.wait_owners("data-web-1", &["Pod/web-1, controller, blocks"]);
    eventually("the pod is going", || {
        !set.on.read("pod/web-1")["metadata"]["deletionTimestamp"].is_null()
    });
    let admin = Admin::of(&set.on);
    // As long as the ordinal is out of range, the policy wants the claim deleted with its pod.
    let told = set.apply(&admin, &[]).ends(0);
    assert!(told.changes().is_empty(), "{:#}", told.json);
    set.on.patch("sts/web", &json!({"spec": {"replicas": 2}}));
    let mark = set.on.cluster.mark();
    let told = set.apply(&admin, &[]).ends(0);
    assert_eq!(told.outcomes("done"), ["data-web-1"], "{:#}", told.json);
    assert_eq!(lines(&admin.sent(mark)), patched(["data-web-1"]));
    set.on.patch("pod/web-1", &json!({"metadata": {"finalizers": null}}));
    set.rolled_out(2);
    assert_eq!(set.claims(), before);
}

//! What Kubernetes' own tests of StatefulSets do, and what the tool says before it happens: `ordinals.start`, the owners
//! of all policies, controllers of others beside each other, sets that come back.

use std::thread::sleep;
use std::time::Duration;

use kubectl_storage::facts::retention::{Operation, Propagation};
use serde_json::{Value, json};

use super::set::{BY_SET, DELETE, DELETE_SCALED, DELETE_WITH_SET, Policy, RETAIN, Set};
use crate::support::{eventually, shared};

const DELETE_SET: Operation = Operation::DeleteSet(Propagation::Background);
const HELD: &str = "example.com/held";
/// How long a controller gets to do what it must not do.
const A_WHILE: Duration = Duration::from_secs(3);

impl Set<'_> {
    /// Changes the first ordinal, and waits until pods of the new range run.
    fn start_at(&self, start: u32, replicas: u32) {
        let spec = json!({"ordinals": {"start": start}, "replicas": replicas});
        self.on.patch("sts/web", &json!({"spec": spec}));
        self.rolled_out(replicas);
        let wanted: Vec<_> =
            (start..start + replicas).map(|ordinal| format!("web-{ordinal}")).collect();
        eventually(&format!("{wanted:?} run"), || {
            let mut pods = self.pods();
            pods.sort();
            pods == wanted
        });
    }

    /// The values of what is said of the claims, in the order of their names.
    fn show(&self, field: &str) -> Vec<String> {
        self.shown(field).into_values().collect()
    }
}

/// 0 -> 2 -> 4 -> 3 -> 0 with three replicas: where whenScaled is Retain, every claim is kept, and what lies below the
/// range is a leftover too.
#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_150_a_start_ordinal_that_moves_leaves_claims_behind() {
    let set = Set::start(shared(), RETAIN, 3);
    let before = set.claims();
    let foretold = set.simulate_manifest(&json!({"ordinals": {"start": 2}}));
    assert_eq!(foretold.values().collect::<Vec<_>>(), ["kept"; 3]);
    set.start_at(2, 3);
    set.assert_happens(&foretold, &before);
    assert_eq!(set.show("place"), ["leftover", "leftover", "in-range", "in-range", "in-range"]);
    let report = set.on.audit(&[]);
    for (claim, ids) in [("data-web-1", &["sts-scaled-down-leftover"][..]), ("data-web-2", &[])] {
        assert_eq!(set.ids(&report, claim), ids, "{report}");
    }
    set.start_at(4, 3);
    assert_eq!(set.ordinals(), ["0", "1", "2", "3", "4", "5", "6"]);
    let claims = set.claims();
    set.start_at(3, 3);
    set.on.patch("sts/web", &json!({"spec": {"ordinals": null}}));
    eventually("the range begins at 0 again", || {
        let mut pods = set.pods();
        pods.sort();
        pods == ["web-0", "web-1", "web-2"]
    });
    assert_eq!(set.claims(), claims, "the same claims are used again");
}

/// The same with whenScaled Delete: what lies below the range is deleted like what lies above it.
#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_151_a_start_ordinal_that_moves_deletes_claims() {
    let set = Set::start(shared(), DELETE_SCALED, 3);
    let before = set.claims();
    let foretold = set.simulate_manifest(&json!({"ordinals": {"start": 2}}));
    assert_eq!(foretold.values().collect::<Vec<_>>(), ["deleted", "deleted", "kept"]);
    set.start_at(2, 3);
    set.assert_happens(&foretold, &before);
    set.wait_ordinals(&["2", "3", "4"]);

    let before = set.claims();
    let foretold = set.simulate_manifest(&json!({"ordinals": {"start": 1}}));
    assert_eq!(foretold.values().collect::<Vec<_>>(), ["kept", "kept", "deleted"]);
    set.start_at(1, 3);
    set.assert_happens(&foretold, &before);
    set.wait_ordinals(&["1", "2", "3"]);
}

/// Four from 4 on: scaled to 1, the first ordinal is the one that stays.
#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_152_a_scale_down_keeps_the_first_ordinal() {
    let set = Set::start(shared(), DELETE_SCALED, 1);
    set.start_at(4, 4);
    set.wait_ordinals(&["4", "5", "6", "7"]);
    let before = set.claims();
    let foretold = set.simulate(&["--replicas", "1"]);
    assert_eq!(foretold.values().collect::<Vec<_>>(), ["kept", "deleted", "deleted", "deleted"]);
    set.scale(1);
    set.assert_happens(&foretold, &before);
    set.wait_ordinals(&["4"]);
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_153_the_owners_where_everything_is_retained() {
    owners_of(RETAIN, &[], [&[], &[]]);
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_153_the_owners_where_claims_go_with_the_set() {
    owners_of(DELETE_WITH_SET, &[BY_SET], [&[BY_SET], &[BY_SET]]);
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_153_the_owners_where_claims_go_with_a_scale_down() {
    owners_of(DELETE_SCALED, &[], BY_POD);
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_153_the_owners_where_claims_go_with_either() {
    owners_of(DELETE, &[BY_SET], BY_POD);
}

const BY_POD: [&[&str]; 2] =
    [&["Pod/web-1, controller, blocks"], &["Pod/web-2, controller, blocks"]];

/// The owners under a policy: of all claims with their pods, and of two while their pods are condemned.
fn owners_of(policy: Policy, all: &[&str], condemned: [&[&str]; 2]) {
    let set = Set::start_parallel(shared(), policy, 3);
    for claim in ["data-web-0", "data-web-1", "data-web-2"] {
        set.wait_owners(claim, all);
    }
    assert_eq!(set.show("agreement"), ["matches"; 3]);
    for pod in ["pod/web-1", "pod/web-2"] {
        set.on.patch(pod, &json!({"metadata": {"finalizers": [HELD]}}));
    }
    let deleted = if policy.1 == "Delete" { "deleted" } else { "kept" };
    let foretold = set.simulate(&["--replicas", "1"]);
    assert_eq!(foretold.values().collect::<Vec<_>>(), ["kept", deleted, deleted]);
    set.on.patch("sts/web", &json!({"spec": {"replicas": 1}}));
    set.wait_owners("data-web-0", all);
    for (claim, owners) in ["data-web-1", "data-web-2"].iter().zip(condemned) {
        set.wait_owners(claim, owners);
    }
    assert_eq!(set.show("agreement"), ["matches"; 3]);
    let before = set.claims();
    for pod in ["pod/web-1", "pod/web-2"] {
        set.on.patch(pod, &json!({"metadata": {"finalizers": null}}));
    }
    set.assert_happens(&foretold, &before);
}

/// Beside each other: an owner that is no controller on claim 1, an earlier set's reference on claim 3, and a set's
/// reference without its flag on claim 0; the policy changes, then the set is deleted.
#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_154_other_owners_beside_the_set() {
    let set = Set::start(shared(), RETAIN, 4);
    let map = set.config_map(false);
    set.set_owners("data-web-1", &[map]);
    let earlier = reference("00000000-dead-4000-8000-000000000000", true);
    let stale = json!({"metadata": {"ownerReferences": [earlier], "finalizers": [HELD]}});
    set.on.patch("pvc/data-web-3", &stale);
    eventually("the garbage collector wants claim 3", || is_going(&set, "data-web-3"));
    set.set_policy(DELETE_WITH_SET);
    for (claim, owners) in [
        ("data-web-0", &[BY_SET][..]),
        ("data-web-1", &["ConfigMap/other", BY_SET]),
        ("data-web-2", &[BY_SET]),
        ("data-web-3", &[BY_SET]),
    ] {
        // The earlier set's reference has the same name; only its uid is another one.
        set.wait_owners(claim, owners);
    }
    set.set_owners("data-web-0", &[reference(&set.uid(), false)]);
    set.on.patch("sts/web", &json!({"metadata": {"labels": {"touched": "yes"}}}));
    set.wait_owners("data-web-0", &[BY_SET]);
    let place = set.shown("place");
    assert_eq!(place["data-web-3"], "terminating", "{place:?}");
    assert_eq!(set.foretell(&DELETE_SET)[..3], ["deleted", "reowned", "deleted"]);
    let foretold = set.simulate(&["--delete"]);
    assert_eq!(foretold["data-web-1"], "kept", "{foretold:?}");
    set.delete();
    set.wait_ordinals(&["1", "3"]);
    set.wait_owners("data-web-1", &["ConfigMap/other"]);
    set.on.patch("pvc/data-web-3", &json!({"metadata": {"finalizers": null}}));
    set.wait_ordinals(&["1"]);
}

/// Deleted with `--cascade=orphan` and created again: claims with a pod belong to the new set, and are deleted with it;
/// those without one are not.
#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_155_a_recreated_set_takes_over_claims_that_have_pods() {
    let set = Set::start(shared(), DELETE_WITH_SET, 3);
    set.wait_owners("data-web-2", &[BY_SET]);
    set.scale(1);
    assert_eq!(set.owners("data-web-2"), [BY_SET], "whenScaled is Retain");
    let (before, uid) = (set.claims(), set.uid());
    let foretold = set.simulate(&["--delete", "--cascade=orphan"]);
    assert_eq!(foretold.values().collect::<Vec<_>>(), ["kept"; 3]);
    orphan(&set);
    set.assert_happens(&foretold, &before);
    set.create(DELETE_WITH_SET, 1);
    assert_ne!(set.uid(), uid);
    set.wait_owners("data-web-0", &[BY_SET]);
    let owner = set.on.read("pvc/data-web-0")["metadata"]["ownerReferences"][0]["uid"].take();
    assert_eq!(owner, set.uid(), "it is the new one's");
    assert_eq!(set.show("agreement"), ["matches", "missing", "missing"]);
    sleep(A_WHILE); // the controller is given a second to add a reference
    let report = set.on.audit(&["--threshold", "protection=1s"]);
    assert!(set.ids(&report, "data-web-0").is_empty(), "{report}");
    for claim in ["data-web-1", "data-web-2"] {
        for id in ["sts-missing-set-ownerref", "sts-scaled-down-leftover"] {
            assert!(set.ids(&report, claim).contains(&id), "{id}: {report}");
        }
    }
    let foretold = set.simulate(&["--delete"]);
    assert_eq!(foretold.values().collect::<Vec<_>>(), ["deleted", "kept", "kept"]);
    set.delete();
    set.assert_happens(&foretold, &before);
}

/// I.6: a reference that is added after the set was deleted destroys the claim.
#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_156_a_reference_that_is_added_too_late_destroys() {
    let set = Set::start(shared(), DELETE_WITH_SET, 2);
    set.wait_owners("data-web-1", &[BY_SET]);
    let uid = set.uid();
    orphan(&set);
    let report = set.on.audit(&["--threshold", "protection=1s"]);
    for claim in ["data-web-0", "data-web-1"] {
        assert!(!set.ids(&report, claim).contains(&"sts-stale-ownerref"), "{report}");
    }
    sleep(A_WHILE);
    assert_eq!(set.ordinals(), ["0", "1"], "without owners they stay");
    set.on.cluster.kubectl(&["delete", "pods", "--all", "-n", &set.on.name]);
    set.set_owners("data-web-1", &[reference(&uid, true)]);
    set.wait_ordinals(&["0"]);
    sleep(A_WHILE);
    assert_eq!(set.ordinals(), ["0"]);
}

/// whenDeleted Retain, whenScaled Delete: scaled to nothing and brought back is not deleted and brought back.
#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_157_what_comes_back_after_a_deletion_and_not_after_a_pause() {
    let set = Set::start(shared(), DELETE_SCALED, 2);
    let before = set.claims();
    let deleted = set.simulate(&["--delete"]);
    assert_eq!(deleted.values().collect::<Vec<_>>(), ["kept"; 2]);
    set.delete();
    set.assert_happens(&deleted, &before);
    set.create(DELETE_SCALED, 2);
    assert_eq!(set.claims(), before);
    assert_eq!(set.show("place"), ["in-range"; 2]);

    let paused = set.simulate(&["--replicas", "0"]);
    assert_eq!(paused.values().collect::<Vec<_>>(), ["deleted"; 2]);
    set.retention(&["simulate", "web", "--replicas", "0", "--fail-if-destroyed"], 3);
    set.scale(0);
    set.assert_happens(&paused, &before);
    set.scale(2);
    let after = set.claims();
    assert!(before.iter().all(|(name, uid)| after[name] != *uid), "{before:?} {after:?}");
}

fn orphan(set: &Set) {
    set.on.cluster.kubectl(&["delete", "sts/web", "-n", &set.on.name, "--cascade=orphan"]);
    set.on.wait_gone("sts/web");
    for claim in set.claims().keys() {
        set.wait_owners(claim, &[]);
    }
}

fn is_going(set: &Set, claim: &str) -> bool {
    !set.on.read(&format!("pvc/{claim}"))["metadata"]["deletionTimestamp"].is_null()
}

fn reference(uid: &str, controller: bool) -> Value {
    let mut reference =
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": uid});
    if controller {
        reference["controller"] = json!(true);
        reference["blockOwnerDeletion"] = json!(true);
    }
    reference
}

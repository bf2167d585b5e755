//! Claims with other owners than the policy wants: D-60 to D-63, and the policy that came too late.

use std::thread::sleep;
use std::time::Duration;

use kubectl_storage::facts::retention::{Operation, Propagation};
use serde_json::{Value, json};

use super::set::{BY_SET, DELETE_SCALED, DELETE_WITH_SET, RETAIN, Set};
use crate::support::{Cluster, Options, eventually, shared};

const DELETE_SET: Operation = Operation::DeleteSet(Propagation::Background);

const CONTRADICTS: &str = "sts-ownerref-contradicts-retain";
const FOREIGN: &str = "sts-foreign-controller";
const STALE: &str = "sts-stale-ownerref";
const NO_CONTROLLER: &str = "sts-noncontroller-ref";

/// The policy was Delete, the set was scaled down, and the policy became Retain: too late for the claims without a pod.
#[test]
fn claims_without_a_pod_still_go_with_a_set_that_retains() {
    let set = Set::start(shared(), DELETE_WITH_SET, 3);
    set.wait_owners("data-web-2", &[BY_SET]);
    set.scale(1);
    let change = Operation::SetPolicy(RETAIN.retention());
    assert_eq!(set.foretell(&change), ["reowned", "kept", "kept"]);
    set.set_policy(RETAIN);
    set.wait_owners("data-web-0", &[]);
    for claim in ["data-web-1", "data-web-2"] {
        assert_eq!(set.owners(claim), [BY_SET]);
    }
    let report = set.on.audit(&[]);
    assert!(set.ids(&report, "data-web-0").is_empty(), "{report}");
    for claim in ["data-web-1", "data-web-2"] {
        report.finding(CONTRADICTS, &set.claim(claim)).severe("critical");
    }
    report.is_second_fixture(CONTRADICTS, &set.claim("data-web-1"));
    assert_eq!(set.foretell(&DELETE_SET), ["kept", "deleted", "deleted"]);
    let (kept, dies) = (set.on.explain("pvc/data-web-0"), set.on.explain("pvc/data-web-1"));
    assert_eq!(kept.outcomes("its set is deleted"), ["kept"], "{kept:?}");
    assert_eq!(dies.outcomes("its set is deleted"), ["destroyed"], "{dies:?}");
    let of_the_set = set.on.explain("sts/web");
    assert_eq!(of_the_set.outcomes("it is deleted"), ["kept", "destroyed", "destroyed"]);
    set.delete();
    set.wait_ordinals(&["0"]);
}

#[test]
fn d_60_a_claim_of_another_controller_stays() {
    let set = Set::start(shared(), RETAIN, 2);
    let map = set.config_map(true);
    set.set_owners("data-web-1", &[map]);
    set.set_policy(DELETE_SCALED);
    // The controller looks at the owners of a claim whose references it does not write only when it makes the pod.
    set.on.cluster.kubectl(&["delete", "pod/web-1", "-n", &set.on.name]);
    eventually("the set says so", || conflicts(&set));
    set.rolled_out(2);
    let report = set.on.audit(&[]);
    assert_eq!(set.ids(&report, "data-web-1"), [FOREIGN], "{report}");
    report.finding(FOREIGN, &set.claim("data-web-1")).expect("high", "report-only");
    report.is_second_fixture(FOREIGN, &set.claim("data-web-1"));

    assert_eq!(set.foretell(&Operation::Scale(0)), ["deleted", "kept"]);
    set.scale(0);
    set.wait_ordinals(&["1"]);
    assert_eq!(set.owners("data-web-1"), ["ConfigMap/other, controller"]);
    let report = set.on.audit(&[]);
    report.finding(FOREIGN, &set.claim("data-web-1")).severe("high");

    set.set_owners("data-web-1", &[]);
    set.scale(2);
    set.scale(1);
    set.wait_ordinals(&["0"]);
}

fn conflicts(set: &Set) -> bool {
    let args = ["get", "events", "-n", &set.on.name, "-o", "jsonpath={.items[*].reason}"];
    set.on.cluster.kubectl(&args).contains("ConflictingController")
}

#[test]
fn d_61_another_owner_keeps_the_claim() {
    let set = Set::start(shared(), DELETE_WITH_SET, 2);
    set.wait_owners("data-web-1", &[BY_SET]);
    let map = set.config_map(false);
    set.set_owners("data-web-1", &[map, reference(&set.uid(), true)]);
    sleep(Duration::from_secs(2));
    assert_eq!(set.owners("data-web-1"), ["ConfigMap/other", BY_SET]);
    let report = set.on.audit(&["--threshold", "protection=1s"]);
    assert!(set.ids(&report, "data-web-1").is_empty(), "{report}");
    assert_eq!(set.foretell(&DELETE_SET), ["deleted", "reowned"]);
    set.delete();
    set.wait_ordinals(&["1"]);
    set.wait_owners("data-web-1", &["ConfigMap/other"]);
}

/// The garbage collector deletes such a claim at once: the finding is for the time in which it does not run.
#[test]
fn d_62_a_reference_to_an_earlier_set_is_left_alone() {
    let cluster = Cluster::start(Options {
        controller_args: &["--controllers=-garbage-collector-controller"],
        ..Options::COMPLETE
    });
    let set = Set::start(&cluster, RETAIN, 2);
    let earlier = reference("00000000-dead-4000-8000-000000000000", true);
    let patch =
        json!({"metadata": {"ownerReferences": [earlier], "finalizers": ["example.com/held"]}});
    set.on.patch("pvc/data-web-1", &patch);
    set.set_policy(DELETE_WITH_SET);
    set.wait_owners("data-web-0", &[BY_SET]);
    sleep(Duration::from_secs(2));
    let uid = || set.on.read("pvc/data-web-1")["metadata"]["ownerReferences"][0]["uid"].take();
    assert_eq!(uid(), earlier["uid"]);
    let report = set.on.audit(&["--threshold", "protection=1s"]);
    assert_eq!(set.ids(&report, "data-web-1"), [STALE], "{report}");
    report.finding(STALE, &set.claim("data-web-1")).severe("critical");
    report.is_second_fixture(STALE, &set.claim("data-web-1"));
    assert_eq!(set.foretell(&Operation::Wait), ["kept", "recreated"]);

    cluster.restart_controllers(&[]);
    eventually("the garbage collector wants it", || {
        !set.on.read("pvc/data-web-1")["metadata"]["deletionTimestamp"].is_null()
    });
    set.delete();
    set.wait_ordinals(&["1"]);
    assert_eq!(uid(), earlier["uid"]);
    set.on.patch("pvc/data-web-1", &json!({"metadata": {"finalizers": null}}));
    set.wait_ordinals(&[]);
}

#[test]
fn d_63_a_reference_without_controller_is_rewritten_where_there_is_a_pod() {
    let set = Set::start(shared(), DELETE_WITH_SET, 2);
    set.wait_owners("data-web-1", &[BY_SET]);
    set.scale(1);
    for claim in ["data-web-0", "data-web-1"] {
        set.set_owners(claim, &[reference(&set.uid(), false)]);
    }
    // Claims are not watched: the controller looks when the set or a pod changes.
    set.on.patch("sts/web", &json!({"metadata": {"labels": {"touched": "yes"}}}));
    set.wait_owners("data-web-0", &[BY_SET]);
    sleep(Duration::from_secs(1));
    assert_eq!(set.owners("data-web-1"), ["StatefulSet/web"]);
    let report = set.on.audit(&[]);
    assert!(set.ids(&report, "data-web-0").is_empty(), "{report}");
    report.finding(NO_CONTROLLER, &set.claim("data-web-1")).expect("low", "report-only");
    report.is_second_fixture(NO_CONTROLLER, &set.claim("data-web-1"));
    assert_eq!(set.foretell(&DELETE_SET), ["deleted", "deleted"]);
    set.delete();
    set.wait_ordinals(&[]); // as an owner it is as good as another
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

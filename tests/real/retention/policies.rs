//! What the policies do: D-54, D-55, D-57, D-64 to D-66, D-68, D-69, D-71, D-74, D-75.

use std::thread::sleep;
use std::time::Duration;

use kubectl_storage::facts::retention::{Operation, Propagation};
use serde_json::json;

use super::set::{BY_SET, DELETE, DELETE_SCALED, DELETE_WITH_SET, Policy, RETAIN, Set};
use crate::support::{Cluster, Options, eventually, never, shared};

const LEFTOVER: &str = "sts-scaled-down-leftover";

const DELETE_SET: Operation = Operation::DeleteSet(Propagation::Background);

/// How long a controller gets to do what it must not do.
const A_WHILE: Duration = Duration::from_secs(3);

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_54_claims_go_with_the_set() {
    let set = Set::start(shared(), DELETE_WITH_SET, 3);
    for claim in ["data-web-0", "data-web-1", "data-web-2"] {
        set.wait_owners(claim, &[BY_SET]);
    }
    let report = set.on.audit(&[]);
    for claim in ["data-web-0", "data-web-1", "data-web-2"] {
        assert!(set.ids(&report, claim).is_empty(), "{report}");
    }
    assert_eq!(set.foretell(&DELETE_SET), ["deleted"; 3]);
    set.delete();
    set.wait_ordinals(&[]);
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_55_claims_go_with_a_scale_down() {
    let set = Set::start(shared(), DELETE_SCALED, 3);
    for claim in ["data-web-0", "data-web-1", "data-web-2"] {
        set.wait_owners(claim, &[]);
    }
    let before = set.claims();
    assert_eq!(set.foretell(&Operation::Scale(1)), ["kept", "deleted", "deleted"]);
    set.scale(1);
    set.wait_ordinals(&["0"]);
    let report = set.on.audit(&[]);
    assert!(set.ids(&report, "data-web-0").is_empty(), "{report}");
    set.scale(3);
    let after = set.claims();
    assert_eq!(after["data-web-0"], before["data-web-0"]);
    assert_ne!(after["data-web-1"], before["data-web-1"]);
    assert_ne!(after["data-web-2"], before["data-web-2"]);
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_57_leftovers_of_an_earlier_scale_down_stay() {
    let set = Set::start(shared(), RETAIN, 3);
    set.scale(1);
    let report = set.on.audit(&[]);
    assert!(set.ids(&report, "data-web-0").is_empty(), "{report}");
    for claim in ["data-web-1", "data-web-2"] {
        assert_eq!(set.ids(&report, claim), [LEFTOVER], "{report}");
        report.finding(LEFTOVER, &set.claim(claim)).expect("low", "report-only");
    }
    report.is_second_fixture(LEFTOVER, &set.claim("data-web-1"));
    let change = Operation::SetPolicy(DELETE_SCALED.retention());
    assert_eq!(set.foretell(&change), ["kept"; 3]);
    set.set_policy(DELETE_SCALED);
    sleep(A_WHILE);
    assert_eq!(set.ordinals(), ["0", "1", "2"]);
    let report = set.on.audit(&[]);
    for claim in ["data-web-1", "data-web-2"] {
        assert!(set.owners(claim).is_empty());
        assert_eq!(set.ids(&report, claim), [LEFTOVER], "{report}");
        report.finding(LEFTOVER, &set.claim(claim)).expect("medium", "blocked");
    }
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_64_the_claim_of_an_adopted_pod_goes_with_the_set() {
    let set = Set::start(shared(), DELETE_WITH_SET, 3);
    orphan(&set, "pod/web-2");
    assert_eq!(set.foretell(&DELETE_SET), ["deleted"; 3]);
    set.delete();
    set.wait_ordinals(&[]);
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_64_the_claim_of_an_adopted_pod_is_scaled_away() {
    let set = Set::start(shared(), DELETE_SCALED, 3);
    orphan(&set, "pod/web-2");
    assert_eq!(set.foretell(&Operation::Scale(1)), ["kept", "deleted", "deleted"]);
    set.scale(1);
    set.wait_ordinals(&["0"]);
}

/// Takes a pod away from its set; the controller takes it back.
fn orphan(set: &Set, pod: &str) {
    let uid = set.on.read(pod)["metadata"]["uid"].take();
    set.on.patch(pod, &json!({"metadata": {"ownerReferences": null}}));
    eventually("the set has adopted its pod again", || {
        !set.on.read(pod)["metadata"]["ownerReferences"].is_null()
    });
    assert_eq!(set.on.read(pod)["metadata"]["uid"], uid);
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_65_orphans_lose_their_owner_and_stay() {
    let set = Set::start(shared(), DELETE, 2);
    set.wait_owners("data-web-1", &[BY_SET]);
    let orphan = Operation::DeleteSet(Propagation::Orphan);
    assert_eq!(set.foretell(&orphan), ["reowned"; 2]);
    let args = ["delete", "sts/web", "-n", &set.on.name, "--cascade=orphan"];
    set.on.cluster.kubectl(&args);
    for claim in ["data-web-0", "data-web-1"] {
        set.wait_owners(claim, &[]);
    }
    set.on.cluster.kubectl(&["delete", "pods", "--all", "-n", &set.on.name]);
    sleep(A_WHILE);
    assert_eq!(set.ordinals(), ["0", "1"]);
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_66_no_pod_is_needed_to_keep_a_claim() {
    let set = Set::start(shared(), DELETE, 2);
    let before = set.claims();
    let same = || {
        set.rolled_out(2);
        assert_eq!(set.claims(), before);
        for claim in ["data-web-0", "data-web-1"] {
            assert_eq!(set.owners(claim), [BY_SET]);
        }
    };
    set.wait_owners("data-web-1", &[BY_SET]);
    assert_eq!(set.foretell(&Operation::DeletePod(1)), ["kept"; 2]);
    set.on.cluster.kubectl(&["delete", "pod/web-1", "-n", &set.on.name]);
    same();
    set.on.cluster.kubectl(&["delete", "pods", "--all", "-n", &set.on.name]);
    same();
    let label = json!({"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}});
    set.on.patch("sts/web", &label);
    same();
    let report = set.on.audit(&[]);
    assert!(set.ids(&report, "data-web-1").is_empty(), "{report}");
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_68_a_condemned_pod_is_the_only_owner() {
    let set = Set::start(shared(), DELETE, 2);
    set.wait_owners("data-web-1", &[BY_SET]);
    assert_eq!(set.foretell(&Operation::Scale(1)), ["kept", "deleted"]);
    set.on.patch("pod/web-1", &json!({"metadata": {"finalizers": ["example.com/held"]}}));
    set.on.patch("sts/web", &json!({"spec": {"replicas": 1}}));
    set.wait_owners("data-web-1", &["Pod/web-1, controller, blocks"]);
    let report = set.on.audit(&["--threshold", "protection=1s"]);
    assert!(set.ids(&report, "data-web-1").is_empty(), "{report}");
    assert_eq!(set.foretell(&Operation::Wait), ["kept", "deleted"]);
    set.on.patch("pod/web-1", &json!({"metadata": {"finalizers": null}}));
    set.wait_ordinals(&["0"]);
}

/// R-1847-12: scaled down and up again while the pod is still going.
#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn a_scale_flap_erases_the_claim() {
    const FLAP: &str = "sts-claim-owned-by-pod-in-range";
    let set = Set::start(shared(), DELETE_SCALED, 2);
    let before = set.claims();
    set.on.patch("pod/web-1", &json!({"metadata": {"finalizers": ["example.com/held"]}}));
    set.on.patch("sts/web", &json!({"spec": {"replicas": 1}}));
    eventually("the pod is going", || {
        !set.on.read("pod/web-1")["metadata"]["deletionTimestamp"].is_null()
    });
    set.on.patch("sts/web", &json!({"spec": {"replicas": 2}}));
    never("the claim is freed", A_WHILE, || set.owners("data-web-1").is_empty());
    let report = set.on.audit(&[]);
    assert_eq!(set.ids(&report, "data-web-1"), [FLAP], "{report}");
    report.finding(FLAP, &set.claim("data-web-1")).severe("critical");
    report.is_second_fixture(FLAP, &set.claim("data-web-1"));
    assert_eq!(set.foretell(&Operation::Wait), ["kept", "recreated"]);
    set.on.patch("pod/web-1", &json!({"metadata": {"finalizers": null}}));
    set.wait_ordinals(&["0"]);
    // The controller waited for the claim to go, but nothing tells it: any change of the set or its pods does.
    set.on.patch("sts/web", &json!({"metadata": {"labels": {"touched": "yes"}}}));
    set.rolled_out(2);
    assert_ne!(set.claims()["data-web-1"], before["data-web-1"]);
}

/// The controller of such a set does not wait for the pod, and takes the claim back.
#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn a_scale_flap_of_a_parallel_set_keeps_the_claim() {
    let set = Set::start_parallel(shared(), DELETE_SCALED, 2);
    let before = set.claims();
    set.on.patch("pod/web-1", &json!({"metadata": {"finalizers": ["example.com/held"]}}));
    set.on.patch("sts/web", &json!({"spec": {"replicas": 1}}));
    eventually("the pod is going", || {
        !set.on.read("pod/web-1")["metadata"]["deletionTimestamp"].is_null()
    });
    assert_eq!(set.owners("data-web-1"), ["Pod/web-1, controller, blocks"]);
    // It cannot be known how long the pod will hang.
    assert_eq!(set.foretell(&Operation::Scale(2)), ["kept", "unknown"]);
    set.on.patch("sts/web", &json!({"spec": {"replicas": 2}}));
    set.wait_owners("data-web-1", &[]);
    set.on.patch("pod/web-1", &json!({"metadata": {"finalizers": null}}));
    set.rolled_out(2);
    assert_eq!(set.claims(), before);
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_69_a_set_that_comes_back_finds_its_claims() {
    const LEFT: &str = "sts-deleted-leftover";
    let set = Set::start(shared(), DELETE_SCALED, 2);
    let before = set.claims();
    assert_eq!(set.foretell(&DELETE_SET), ["kept"; 2]);
    set.delete();
    sleep(A_WHILE);
    assert_eq!(set.claims(), before, "the name of the policy is scaled, not deleted");
    let report = set.on.audit(&[]);
    for claim in ["data-web-0", "data-web-1"] {
        assert_eq!(set.ids(&report, claim), [LEFT], "{report}");
        report.finding(LEFT, &set.claim(claim)).expect("low", "report-only");
    }
    report.is_second_fixture(LEFT, &set.claim("data-web-0"));
    set.create(DELETE_SCALED, 2);
    assert_eq!(set.claims(), before);
    let report = set.on.audit(&[]);
    assert!(set.ids(&report, "data-web-0").is_empty(), "{report}");
}

/// `whenDeleted` is Retain; but the claim of a condemned pod belongs to that pod.
#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn a_set_that_retains_takes_the_claim_of_a_condemned_pod_along() {
    let set = Set::start(shared(), DELETE_SCALED, 2);
    set.on.patch("pod/web-1", &json!({"metadata": {"finalizers": ["example.com/held"]}}));
    set.on.patch("sts/web", &json!({"spec": {"replicas": 1}}));
    set.wait_owners("data-web-1", &["Pod/web-1, controller, blocks"]);
    assert_eq!(set.foretell(&DELETE_SET), ["kept", "deleted"]);
    set.on.delete("sts/web");
    set.on.wait_gone("sts/web");
    set.on.patch("pod/web-1", &json!({"metadata": {"finalizers": null}}));
    set.wait_ordinals(&["0"]);
}

#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn d_71_a_server_without_the_gate_drops_the_policy() {
    const UNENFORCED: &str = "sts-retention-not-enforced";
    // The gate is gone from 1.36, which does not know it under any emulated version.
    let cluster = Cluster::start(Options {
        version: "1.32.2",
        scheduler: false,
        server_args: &[
            "--emulated-version=kube=1.31",
            "--feature-gates=StatefulSetAutoDeletePVC=false",
        ],
        ..Options::COMPLETE
    });
    let set = Set::start(&cluster, DELETE, 2);
    let served = set.on.read("sts/web");
    assert!(served["spec"]["persistentVolumeClaimRetentionPolicy"].is_null(), "{served:#}");
    let report = set.on.audit(&["--threshold", "protection=1s"]);
    let object = format!("sts/{}/web", set.on.name);
    report.finding(UNENFORCED, &object).expect("medium", "report-only");
    report.is_second_fixture(UNENFORCED, &object);
    set.delete();
    sleep(A_WHILE);
    assert_eq!(set.ordinals(), ["0", "1"]);
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_74_retain_writes_no_reference() {
    let mark = shared().mark();
    let set = Set::start(shared(), RETAIN, 2);
    let before = set.claims();
    for all in [Operation::Scale(1), Operation::Scale(0), DELETE_SET] {
        assert_eq!(set.foretell(&all), ["kept"; 2]);
    }
    set.scale(1);
    set.on.audit(&[]);
    set.scale(2);
    set.delete();
    set.on.audit(&[]);
    set.create(RETAIN, 2);
    assert_eq!(set.claims(), before);
    let writes = shared().events_since(mark, &set.on.name);
    let of_the_controller = writes.iter().filter(|event| {
        event["objectRef"]["resource"] == "persistentvolumeclaims"
            && event["user"]["username"]
                == "system:serviceaccount:kube-system:statefulset-controller"
            && event["verb"] != "create"
    });
    assert_eq!(of_the_controller.count(), 0);
    assert!(before.keys().all(|claim| set.owners(claim).is_empty()));
    shared().assert_no_write(mark);
}

#[test]
#[ignore = "extended suite: what Kubernetes does by itself"]
fn d_75_references_follow_the_policy() {
    let set = Set::start(shared(), RETAIN, 2);
    let wait = |owners: &[&str]| {
        for claim in ["data-web-0", "data-web-1"] {
            set.wait_owners(claim, owners);
        }
    };
    let policies: [(Policy, &[&str]); 5] = [
        (DELETE_WITH_SET, &[BY_SET]),
        (RETAIN, &[]),
        (DELETE, &[BY_SET]),
        (DELETE_SCALED, &[]),
        (DELETE_WITH_SET, &[BY_SET]),
    ];
    for (policy, owners) in policies {
        let change = Operation::SetPolicy(policy.retention());
        assert_eq!(set.foretell(&change), ["reowned"; 2]);
        set.set_policy(policy);
        wait(owners);
    }
    let report = set.on.audit(&["--threshold", "protection=1s"]);
    assert!(set.ids(&report, "data-web-0").is_empty(), "{report}");
}

//! Servers that drop the field, or set it back (F71, D-71).

use serde_json::json;

use super::Set;
use crate::retention::set::{DELETE_WITH_SET, RETAIN};
use crate::support::{Admin, Cluster, Options, eventually};

#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn d_71_a_server_without_the_gate_is_sent_nothing() {
    let cluster = Cluster::start(Options {
        version: "1.32.2",
        scheduler: false,
        server_args: &[
            "--emulated-version=kube=1.31",
            "--feature-gates=StatefulSetAutoDeletePVC=false",
        ],
        ..Options::COMPLETE
    });
    let set = Set::start(&cluster, RETAIN, 1);
    let admin = Admin::of(&set.on);
    for policy in ["Retain", "Delete"] {
        let told = set.refused(&admin, 5, &["--when-deleted", policy]);
        assert!(told.reason("web").contains("the API server drops the field"), "{:#}", told.json);
    }
}

/// An admission policy of the cluster keeps what it wants: the dry run shows that, and nothing is changed.
#[test]
fn what_admission_sets_back_is_not_sent() {
    let cluster = Cluster::start(Options::COMPLETE);
    let set = Set::start(&cluster, DELETE_WITH_SET, 2);
    set.owned(&[0, 1]);
    set.scale(1);
    cluster.create(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "keep-delete"},
        "spec": {
            "failurePolicy": "Fail", "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["statefulsets"],
            }]},
            "mutations": [{
                "patchType": "JSONPatch",
                "jsonPatch": {"expression": "[JSONPatch{op: \"replace\", path: \
                    \"/spec/persistentVolumeClaimRetentionPolicy/whenDeleted\", value: \"Delete\"}]"},
            }],
        },
    }));
    cluster.create(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": "keep-delete"}, "spec": {"policyName": "keep-delete"},
    }));
    eventually("the policy is in force", || {
        set.on.patch(
            "sts/web",
            &json!({"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain"}}}),
        );
        set.policy().0 == "Delete"
    });
    set.owned(&[1]);
    let admin = Admin::of(&set.on);
    let told = admin.refused(5, &set.call(&["--when-deleted", "Retain"]));
    assert!(told.reason("web").contains("the API server drops the change"), "{:#}", told.json);
    set.owned(&[1]);
}

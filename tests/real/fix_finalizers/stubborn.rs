//! Somebody puts the finalizer back: the tool stops, and says who. No controller of Kubernetes runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;

use super::{
    Admin, EXTERNAL, IS_GONE, STILL, because, finalizers, fix, grow_old, left, make, set_finalizers,
};
use crate::support::{Fault, Scenario, eventually};

/// Puts the finalizer on a volume, in the name of a field manager.
fn put_back(object: &str) {
    let patch = json!({"metadata": {"finalizers": [super::PV_PROTECTION, EXTERNAL]}}).to_string();
    let manager = "--field-manager=stubborn-operator";
    STILL.kubectl(&["patch", object, manager, "--type=merge", "-p", &patch]);
}

#[test]
fn a_finalizer_that_comes_back_is_not_removed_again() {
    let on = Scenario::on(&STILL);
    let (admin, proxy) = (Admin::of(&on), STILL.proxy());
    let (name, next) = (on.named("a"), on.named("b"));
    let [object, other] = ["a", "b"]
        .map(|it| make(&on, &left(&on, it), "Released", &[super::PV_PROTECTION, EXTERNAL]));
    grow_old();
    let path = format!("^/api/v1/persistentvolumes/{name}$");
    let held = proxy.hold(Fault::hold_after().on("PATCH", &path).real());
    let mark = on.cluster.mark();
    let args = fix(&[&[&*object, &*other, "--yes"][..], &IS_GONE].concat());
    let running = admin.by(proxy.kubeconfig(), &args).start();
    held.wait();
    put_back(&object);
    held.release();
    let told = super::Told::of(running.finish());
    assert_eq!(told.code, Some(6), "{}\n{:#}", told.stderr, told.json);
    assert_eq!(told.outcomes("failed"), [&*name], "{:#}", told.json);
    because(&told, &name, &["stubborn-operator"]);
    let of_it = |it: &crate::support::Write| it.name == name && !it.dry;
    assert_eq!(admin.sent(mark).iter().filter(|it| of_it(it)).count(), 1);
    assert!(finalizers(&on, &object).contains(&EXTERNAL.to_owned()));
    assert!(!told.outcomes("failed").contains(&&*next));
}

/// The same by somebody who never stops.
#[test]
fn a_controller_that_fights_back_wins() {
    let on = Scenario::on(&STILL);
    let (admin, name) = (Admin::of(&on), on.named("pv"));
    let both = [super::PV_PROTECTION, EXTERNAL];
    let object = make(&on, &left(&on, "pv"), "Released", &both);
    put_back(&object);
    grow_old();
    let over = AtomicBool::new(false);
    let mark = on.cluster.mark();
    let told = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let live = STILL.get("", &object).unwrap_or_default();
                if !live["metadata"]["finalizers"].to_string().contains(EXTERNAL) {
                    put_back(&object);
                }
            }
        });
        let told = admin.run(&fix(&[&[&*object, "--yes"][..], &IS_GONE].concat()));
        over.store(true, Ordering::Relaxed);
        told
    });
    assert_eq!(told.code, Some(6), "{}\n{:#}", told.stderr, told.json);
    assert_eq!(told.outcomes("failed"), [&*name], "{:#}", told.json);
    because(&told, &name, &["stubborn-operator"]);
    assert_eq!(admin.sent(mark).iter().filter(|it| !it.dry).count(), 1, "it was removed once");
}

/// Admission drops the finalizer of one volume, and says so in no dry run: the other one gets its own.
#[test]
fn what_befalls_one_volume_does_not_keep_others_from_being_repaired() {
    let on = Scenario::on(&STILL);
    let (admin, name, next) = (Admin::of(&on), on.named("a"), on.named("b"));
    let [object, other] =
        ["a", "b"].map(|it| make(&on, &left(&on, it), "Released", &[super::PV_PROTECTION]));
    let dropped = format!("object.metadata.name == '{name}' && has(object.metadata.finalizers)");
    STILL.create(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail", "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"],
                "resources": ["persistentvolumes"],
            }]},
            "matchConditions": [
                {"name": "it", "expression": dropped},
                {"name": "real", "expression": "!request.dryRun"},
            ],
            "mutations": [{
                "patchType": "JSONPatch",
                "jsonPatch": {"expression": "[JSONPatch{op: \"remove\", path: \"/metadata/finalizers\"}]"},
            }],
        },
    }));
    STILL.create(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name}, "spec": {"policyName": name},
    }));
    eventually("the policy is in force", || {
        set_finalizers(&on, &object, &[super::PV_PROTECTION]);
        finalizers(&on, &object).is_empty()
    });
    set_finalizers(&on, &other, &[]);
    grow_old();
    let told = admin.run(&fix(&[&object, &other, "--yes"]));
    STILL.kubectl(&["delete", "mutatingadmissionpolicybinding", &name]);
    STILL.kubectl(&["delete", "mutatingadmissionpolicy", &name]);
    assert_eq!(told.code, Some(6), "{}\n{:#}", told.stderr, told.json);
    assert_eq!(told.outcomes("failed"), [&*name], "{:#}", told.json);
    because(&told, &name, &["does not show finalizer"]);
    assert_eq!(told.outcomes("done"), [&*next], "{:#}", told.json);
    assert!(finalizers(&on, &object).is_empty());
    assert_eq!(finalizers(&on, &other), [super::PV_PROTECTION]);
}

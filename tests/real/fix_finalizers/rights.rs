//! The role that `rbac` prints is enough for what it is printed for.

use serde::Deserialize as _;
use serde_json::{Value, json};

use super::{Admin, CLAIM_PROTECTION, EXTERNAL, GONE, IS_GONE, STILL, finalizers, fix, hang, left};
use crate::support::{Run, Scenario, claim, eventually};

/// Somebody who has what `rbac` prints for a command, in the namespace of the scenario where it is about records, and
/// nothing else; of it only the kinds of roles that are named.
fn granted<'a>(on: &'a Scenario<'a>, command: &str, who: &str, kinds: &[&str]) -> Admin<'a> {
    let printed = Run::of(&["rbac", command, "--record-namespace", &on.name]).go().stdout;
    let admin = Admin::named(on, who, &[]);
    let roles = serde_yaml::Deserializer::from_str(&printed);
    let roles = roles.map(|role| Value::deserialize(role).expect("because it is YAML"));
    for role in roles.filter(|role| kinds.iter().any(|kind| role["kind"] == *kind)) {
        if role["kind"] == "ClusterRole" {
            on.cluster.grant(&admin.name, &role["rules"]);
            continue;
        }
        assert_eq!(role["metadata"]["namespace"], on.name.as_str());
        on.create(&role);
        let (user, role) = (format!("--user={}", admin.name), &role["metadata"]["name"]);
        let role = format!("--role={}", role.as_str().unwrap_or_default());
        on.cluster.kubectl(&["create", "rolebinding", who, "-n", &on.name, &role, &user]);
    }
    eventually("the authorizer knows the new role", || {
        let who = ["auth", "can-i", "patch", "persistentvolumes", "--as", &admin.name];
        on.cluster.try_kubectl(&who, "").is_ok()
    });
    admin
}

#[test]
fn the_printed_role_is_enough_to_repair_volumes_claims_and_attachments() {
    let on = Scenario::on(&STILL);
    let volume = hang(&on, &left(&on, "pv"), &[EXTERNAL]);
    on.create(&claim("bare", ""));
    super::set_finalizers(&on, "pvc/bare", &[]);
    let attachment = on.named("va");
    on.create(&json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": attachment},
        "spec": {
            "attacher": GONE, "nodeName": on.named("node"),
            "source": {"persistentVolumeName": on.named("other")},
        },
    }));
    let admin = granted(&on, "fix-finalizers", "least", &["ClusterRole", "Role"]);
    let there = ["--record-namespace", &*on.name];
    let check = Run::of(&["rbac", "fix-finalizers", "--check", "--as", &admin.name]).more(&there);
    let checked = check.kubeconfig(on.cluster.kubeconfig()).go();
    assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);

    // Whoever could create any ConfigMap could also resume `watch`, or announce.
    let elsewhere = ["auth", "can-i", "create", "configmaps", "-n", "default", "--as", &admin.name];
    assert!(on.cluster.try_kubectl(&elsewhere, "").is_err());
    let args = fix(&[&[&*volume, "--yes"][..], &IS_GONE, &there].concat());
    let told = admin.run(&args).ends(0);
    assert_eq!(told.outcomes("done"), [on.named("pv")], "{:#}", told.json);
    assert!(on.get(&volume).is_none());
    let told = admin.run(&fix(&["pvc/bare", "-n", &on.name, "--yes"])).ends(0);
    assert_eq!(told.outcomes("done"), ["bare"], "{:#}", told.json);
    assert_eq!(finalizers(&on, "pvc/bare"), [CLAIM_PROTECTION]);
    // Its volume is gone, too: what is needed is a manifest, and no right is lacking to look.
    let named = format!("volumeattachment/{attachment}");
    let told = admin.run(&fix(&[&named, "--yes"])).ends(5);
    assert!(!told.json.to_string().contains("forbidden"), "{:#}", told.json);
}

#[test]
fn without_the_role_in_the_namespace_of_the_record_nothing_is_removed() {
    let on = Scenario::on(&STILL);
    let volume = hang(&on, &left(&on, "pv"), &[EXTERNAL]);
    let admin = granted(&on, "fix-finalizers", "less", &["ClusterRole"]);
    let args = [&[&*volume, "--yes", "--record-namespace", &*on.name][..], &IS_GONE].concat();
    let told = admin.run(&fix(&args)).ends(5);
    assert!(told.json.to_string().contains("the record of the backend volume"), "{:#}", told.json);
    assert_eq!(finalizers(&on, &volume), [EXTERNAL]);
}

//! The role that `rbac` prints is enough for what it is printed for.

use serde_json::{Value, json};

use super::{Admin, CLAIM_PROTECTION, EXTERNAL, GONE, IS_GONE, STILL, finalizers, fix, hang, left};
use crate::support::{Run, Scenario, claim, eventually};

/// Somebody who has what `rbac` prints for a command, and nothing else.
fn granted<'a>(on: &'a Scenario<'a>, command: &str) -> Admin<'a> {
    let printed = Run::of(&["rbac", command]).go();
    let role: Value = serde_yaml::from_str(&printed.stdout).expect("because it is YAML");
    let admin = Admin::named(on, "least", &[]);
    on.cluster.grant(&admin.name, &role["rules"]);
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
    let admin = granted(&on, "fix-finalizers");
    let check = Run::of(&["rbac", "fix-finalizers", "--check", "--as", &admin.name]);
    let checked = check.kubeconfig(on.cluster.kubeconfig()).go();
    assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);

    let args = fix(&[&[&*volume, "--yes"][..], &IS_GONE].concat());
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

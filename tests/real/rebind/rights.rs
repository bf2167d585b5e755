//! The role that `rbac rebind` prints is enough, and allows nothing else.

use serde_json::Value;

use super::{Left, bound_to_each_other, driver, here, intact, rebind, words};
use crate::support::{Admin, Run, Scenario, eventually};

#[test]
fn the_printed_role_is_enough_and_no_more() {
    let on = Scenario::on(here());
    let left = Left::on(&on, driver());
    let printed = Run::of(&["rbac", "rebind"]).go();
    let role: Value = serde_yaml::from_str(&printed.stdout).expect("because it is YAML");
    let admin = Admin::named(&on, "least", &[]);
    on.cluster.grant(&admin.name, &role["rules"]);
    let may = |verb: &str, resource: &str| {
        let who = ["auth", "can-i", verb, resource, "-A", "--as", &admin.name];
        on.cluster.try_kubectl(&who, "").is_ok()
    };
    eventually("the authorizer knows the new role", || may("patch", "persistentvolumes"));
    for (verb, resource) in [
        ("delete", "persistentvolumes"),
        ("update", "persistentvolumes"),
        ("deletecollection", "persistentvolumes"),
        ("delete", "persistentvolumeclaims"),
        ("patch", "persistentvolumeclaims"),
        ("update", "persistentvolumeclaims"),
        ("create", "pods"),
        ("delete", "pods"),
        ("get", "secrets"),
        ("list", "secrets"),
        ("list", "configmaps"),
        ("create", "configmaps"),
        ("delete", "volumeattachments"),
        ("patch", "volumeattachments"),
        ("delete", "volumesnapshots"),
        ("patch", "statefulsets"),
        ("impersonate", "users"),
    ] {
        assert!(!may(verb, resource), "{verb} {resource}");
    }
    for resource in ["persistentvolumes", "persistentvolumeclaims"] {
        let part =
            ["auth", "can-i", "patch", resource, "--subresource=status", "--as", &admin.name];
        assert!(on.cluster.try_kubectl(&part, "").is_err(), "the status of {resource}");
    }
    let check = Run::of(&["rbac", "rebind", "--check", "--as", &admin.name]);
    let checked = check.kubeconfig(on.cluster.kubeconfig()).go();
    assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
    let told = admin.run(&words(&rebind(&[&left.object]))).ends(0);
    assert_eq!(told.outcomes("done"), [&*left.name], "{:#}", told.json);
    assert_eq!(told.listed("notes"), [Value::Null; 0], "Events and all: {:#}", told.json);
    bound_to_each_other(&on, &left.name, "data");
    intact(driver(), &left.handle);

    // Who may not create claims learns it before the volume is reserved.
    let left = Left::by(&on, driver(), "second");
    let limited = Admin::limited(&on, "no-claims", &[], &["patch"]);
    let told = limited.refused(5, &words(&rebind(&[&left.object])));
    assert!(told.reason(&left.name).contains("cannot create resource"), "{:#}", told.json);
    let live = on.read(&left.object);
    assert!(live["spec"]["claimRef"]["uid"].is_string(), "it is not reserved: {live:#}");
}

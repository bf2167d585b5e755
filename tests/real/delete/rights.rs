//! The role that `rbac delete` prints is enough for deletions, and for nothing else.

use serde_json::Value;

use super::{Admin, Scenario, because, delete, is_untouched, state};
use crate::support::{Run, claim, eventually, shared};

#[test]
fn the_printed_role_is_enough_and_allows_nothing_else() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let volumes = ["kept", "destroyed"].map(|name| {
        on.create(&claim(name, &driver.class_delete));
        on.bound(name)
    });
    let printed = Run::of(&["rbac", "delete"]).go();
    let role: Value = serde_yaml::from_str(&printed.stdout).expect("because it is YAML");
    let admin = Admin::named(&on, "least", &[]);
    on.cluster.grant(&admin.name, &role["rules"]);
    let may = |verb: &str, resource: &str| {
        let who = ["auth", "can-i", verb, resource, "--as", &admin.name, "-n", &on.name];
        on.cluster.try_kubectl(&who, "").is_ok()
    };
    eventually("the authorizer knows the new role", || may("delete", "persistentvolumeclaims"));
    let check = Run::of(&["rbac", "delete", "--check", "--as", &admin.name]);
    let checked = check.kubeconfig(on.cluster.kubeconfig()).go();
    assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
    for (verb, resource) in [
        ("delete", "persistentvolumes"),
        ("create", "persistentvolumes"),
        ("update", "persistentvolumes"),
        ("create", "persistentvolumeclaims"),
        ("patch", "persistentvolumeclaims"),
        ("update", "persistentvolumeclaims"),
        ("deletecollection", "persistentvolumeclaims"),
        ("delete", "pods"),
        ("create", "pods"),
        ("patch", "deployments.apps"),
        ("delete", "volumeattachments.storage.k8s.io"),
        ("get", "secrets"),
        ("create", "configmaps"),
        ("patch", "configmaps"),
    ] {
        assert!(!may(verb, resource), "{verb} {resource} is allowed");
    }
    let told = admin.run(&delete(&on, &["kept"], &["--keep-data"])).ends(0);
    assert_eq!(told.outcomes("done"), ["kept"], "{:#}", told.json);
    assert_eq!(state(&on, &volumes[0]), ("Retain".to_owned(), "Released".to_owned()));
    let told = admin.run(&delete(&on, &["destroyed"], &["--destroy-data"])).ends(0);
    assert_eq!(told.outcomes("done"), ["destroyed"], "{:#}", told.json);
    assert!(on.get(&format!("pv/{}", volumes[1])).is_none());
}

#[test]
fn d_52_what_may_not_be_read_is_never_deleted() {
    let on = Scenario::on(shared());
    on.create(&claim("data", &shared().driver().class_retain));
    on.bound("data");
    for (resource, unknown) in [
        ("persistentvolumes", "what happens to its data is unknown"),
        ("pods", "what uses it is unknown"),
        ("cronjobs", "what uses it is unknown"),
    ] {
        let blind = Admin::limited(&on, &format!("no-{resource}"), &[resource], &["patch"]);
        let told = blind.refused(5, &delete(&on, &["data"], &["--keep-data"]));
        because(&told, "data", &[resource, "forbidden", unknown, "`kubectl storage rbac delete"]);
    }
    is_untouched(&on, "data");
}

#[test]
fn who_may_not_delete_the_claim_changes_no_policy() {
    let on = Scenario::on(shared());
    on.create(&claim("data", &shared().driver().class_delete));
    let volume = on.bound("data");
    let admin = Admin::limited(&on, "patches", &[], &["patch"]);
    let mark = on.cluster.mark();
    let told = admin.run(&delete(&on, &["data"], &["--keep-data"])).ends(5);
    because(&told, "data", &["forbidden"]);
    let sent: Vec<_> = admin.sent(mark).iter().map(crate::support::Write::line).collect();
    let expected = [
        format!("dry patch persistentvolumes {volume}"),
        "dry delete persistentvolumeclaims data 403".to_owned(),
    ];
    assert_eq!(sent, expected);
    is_untouched(&on, "data");
    assert_eq!(state(&on, &volume).0, "Delete");
}

//! Which rights are needed, and what is said where one lacks.

use serde_json::{Value, json};

use super::super::set::{BY_SET, DELETE_SCALED, DELETE_WITH_SET, RETAIN, Set};
use crate::support::{Admin, Cluster, Options, Run, eventually, shared};

/// The rules that `rbac retention-reconcile` prints, and the text.
fn printed() -> (Value, String) {
    let printed = Run::of(&["rbac", "retention-reconcile"]).go().stdout;
    let role: Value = serde_yaml::from_str(&printed).expect("because it is YAML");
    (role["rules"].clone(), printed)
}

/// Somebody with that role, and no other.
fn least<'a>(set: &'a Set) -> Admin<'a> {
    let admin = Admin::named(&set.on, "least", &[]);
    set.on.cluster.grant(&admin.name, &printed().0);
    eventually("the authorizer knows the new role", || {
        let who = ["auth", "can-i", "delete", "persistentvolumeclaims", "--as", &admin.name];
        set.on.cluster.try_kubectl(&who, "").is_ok()
    });
    admin
}

#[test]
fn the_role_that_rbac_prints_is_enough() {
    // Of owners of other kinds in other namespaces it could not read whether they exist.
    let cluster = Cluster::start(Options::COMPLETE);
    let set = Set::start(&cluster, DELETE_WITH_SET, 3);
    set.wait_owners("data-web-2", &[BY_SET]);
    set.scale(1);
    set.set_policy(DELETE_SCALED);
    set.wait_owners("data-web-0", &[]);
    std::thread::sleep(std::time::Duration::from_secs(2));
    let admin = least(&set);
    let told = set.apply(&admin, &[]).ends(0);
    assert_eq!(told.outcomes("done"), ["data-web-1", "data-web-2"], "{:#}", told.json);
    let leftovers = ["--delete-leftovers", "--older-than", "1s", "--keep-data"];
    let told = set.apply(&admin, &leftovers).ends(0);
    assert_eq!(told.outcomes("done"), ["data-web-1", "data-web-2"], "{:#}", told.json);
    let check = Run::of(&["rbac", "retention-reconcile", "--check", "--as", &admin.name]);
    let checked = check.kubeconfig(set.on.cluster.kubeconfig()).go();
    assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
}

/// What may not be read is a refusal: whether the pod exists decides.
#[test]
fn without_the_right_to_read_pods_nothing_is_written() {
    let set = Set::start(shared(), DELETE_WITH_SET, 2);
    set.wait_owners("data-web-1", &[BY_SET]);
    set.scale(1);
    set.set_policy(RETAIN);
    set.wait_owners("data-web-0", &[]);
    let blind = Admin::limited(&set.on, "blind", &["pods"], &["patch"]);
    let args = ["retention", "reconcile", "sts/web", "-n", &set.on.name, "--yes"];
    let told = blind.refused(5, &args);
    assert!(told.json.to_string().contains("pods"), "{:#}", told.json);
    // Who may read, but not write, is refused by the API server before anything is written.
    let reader = Admin::limited(&set.on, "reader", &[], &["get"]);
    let told = reader.refused(5, &args);
    assert!(told.reason("data-web-1").contains("cannot patch"), "{:#}", told.json);
    assert_eq!(set.owners("data-web-1"), [BY_SET]);
}

/// The admission plugin asks for a right on the set, and the flag of the reference is not left out.
#[test]
fn what_the_admission_plugin_refuses_is_told() {
    let cluster = Cluster::start(Options {
        server_args: &["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"],
        ..Options::COMPLETE
    });
    let set = Set::start(&cluster, RETAIN, 2);
    set.scale(1);
    set.set_policy(DELETE_WITH_SET);
    set.wait_owners("data-web-0", &[BY_SET]);
    let admin = least(&set);
    assert!(printed().1.contains("statefulsets/finalizers"));
    let args = ["retention", "reconcile", "sts/web", "-n", &set.on.name, "--add-owners", "--yes"];
    let told = admin.refused(5, &args);
    assert!(told.reason("data-web-1").contains("blockOwnerDeletion"), "{:#}", told.json);
    let rules = json!([{"apiGroups": ["apps"], "resources": ["statefulsets/finalizers"], "verbs": ["update"]}]);
    let of = set.on.named("finalizers");
    cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": of}, "rules": rules,
    }));
    let (role, user) = (format!("--clusterrole={of}"), format!("--user={}", admin.name));
    cluster.kubectl(&["create", "clusterrolebinding", &of, &role, &user]);
    eventually("with the right on the set it is added", || admin.run(&args).code == Some(0));
    assert_eq!(set.owners("data-web-1"), [BY_SET]);
}

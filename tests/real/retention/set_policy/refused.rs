//! What is not changed, and what is said of it.

use serde_json::{Value, json};

use super::{PATCH, Set, patch_of, sent};
use crate::retention::set::{DELETE_WITH_SET, RETAIN};
use crate::support::{Admin, Cluster, Options, Run, eventually, shared};

const LINES: &str =
    "persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}";

#[test]
fn a_set_that_is_being_deleted_is_refused() {
    let set = Set::start(shared(), DELETE_WITH_SET, 2);
    set.on.patch("sts/web", &json!({"metadata": {"finalizers": ["example.com/held"]}}));
    set.on.delete("sts/web");
    let admin = Admin::of(&set.on);
    let told = set.refused(&admin, 5, &["--when-deleted", "Retain"]);
    let keeps = format!("kubectl storage retain pvc/data-web-0 pvc/data-web-1 -n {}", set.on.name);
    assert!(told.reason("web").contains(&keeps), "{:#}", told.json);
    set.on.patch("sts/web", &json!({"metadata": {"finalizers": null}}));
}

#[test]
#[ignore = "extended suite: further cases"]
fn a_set_that_others_manage_is_left_alone_and_they_are_named() {
    let set = Set::start(shared(), DELETE_WITH_SET, 1);
    let admin = Admin::of(&set.on);
    let retain = ["--when-deleted", "Retain"];
    let operator = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "operator"},
    });
    let operator = set.on.create(&operator);
    let owner = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "operator", "uid": operator["metadata"]["uid"],
        "controller": true,
    });
    for (marks, keeper) in [
        (json!({"labels": {"app.kubernetes.io/managed-by": "Helm"}}), "Helm manages it"),
        (json!({"labels": {"helm.toolkit.fluxcd.io/name": "web"}}), "Flux manages it"),
        (json!({"annotations": {"argocd.argoproj.io/tracking-id": "a:b"}}), "Argo CD manages it"),
        (json!({"ownerReferences": [owner]}), "ConfigMap operator manages it"),
    ] {
        set.on.patch("sts/web", &json!({"metadata": marks}));
        let told = set.refused(&admin, 5, &retain);
        let reason = told.reason("web");
        assert!(reason.starts_with(keeper) && reason.contains(LINES), "{reason}");
        let none = json!({"labels": {
            "app.kubernetes.io/managed-by": null, "helm.toolkit.fluxcd.io/name": null,
        }, "annotations": {"argocd.argoproj.io/tracking-id": null}, "ownerReferences": null});
        set.on.patch("sts/web", &json!({"metadata": none}));
    }
    // Argo CD marks objects with a label of everybody's; the managers of the fields tell.
    let name = &set.on.name;
    let scale = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": name}, "spec": {"replicas": 1},
    });
    let args = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=argocd-controller",
        "-f",
        "-",
    ];
    shared().try_kubectl(&args, &scale.to_string()).expect("because the object is valid");
    let told = set.refused(&admin, 5, &retain);
    assert!(told.reason("web").starts_with("Argo CD manages it"), "{:#}", told.json);
}

/// Autoscalers and scale-downs in progress: `whenScaled` Delete would destroy data without further ado.
#[test]
fn what_destroys_data_at_once_requires_a_flag() {
    let set = Set::start(shared(), RETAIN, 2);
    let admin = Admin::of(&set.on);
    set.on.create(&json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
            "minReplicas": 2, "maxReplicas": 3,
        },
    }));
    let told = set.refused(&admin, 5, &["--when-scaled", "Delete"]);
    let reason = told.reason("web");
    assert!(reason.contains("sets its number of replicas"), "{reason}");
    assert!(reason.contains("requires --destroy-data"), "{reason}");
    let mark = shared().mark();
    let told = set.run(&admin, &["--when-scaled", "Delete", "--destroy-data"]).ends(0);
    assert_eq!(told.outcomes("done"), ["web"]);
    assert_eq!(sent(&admin, mark), [PATCH]);
}

/// Pods that are going already: nobody knows whether the controller acts before they are gone, and all of it counts.
#[test]
fn what_a_scale_down_in_progress_may_destroy_is_counted() {
    let set = Set::start_parallel(shared(), RETAIN, 3);
    let admin = Admin::of(&set.on);
    let going = ["pod/web-1", "pod/web-2"];
    let held = |by: Value| {
        for pod in going {
            set.on.patch(pod, &json!({"metadata": {"finalizers": by}}));
        }
    };
    held(json!(["example.com/held"]));
    set.on.patch("sts/web", &json!({"spec": {"replicas": 1}}));
    eventually("the pods are going", || {
        going.iter().all(|it| !set.on.read(it)["metadata"]["deletionTimestamp"].is_null())
    });
    let told = set.refused(&admin, 5, &["--when-scaled", "Delete"]);
    assert!(told.reason("web").contains("a scale-down is in progress"), "{:#}", told.json);
    let destroy = ["--when-scaled", "Delete", "--destroy-data"];
    let plan = set.run(&admin, &[&destroy[..], &["--dry-run"]].concat()).ends(0);
    let (loses, change) = (&plan.json["summary"]["loses"], &plan.json["changes"][0]);
    assert_eq!(
        (&loses["volumes"], &change["data"]),
        (&json!(2), &json!("at-risk")),
        "{:#}",
        plan.json
    );
    let few = [&destroy[..], &["--max", "1"]].concat();
    set.refused(&admin, 5, &few).says(&["changes or destroys 2 objects"]);

    let mark = shared().mark();
    let folders = set.folders();
    set.run(&admin, &[&destroy[..], &["--max", "2"]].concat()).ends(0);
    assert_eq!(sent(&admin, mark), [PATCH]);
    held(json!([]));
    set.wait_ordinals(&["0"]);
    eventually("the data is destroyed", || {
        folders.iter().all(|(claim, folder)| folder.is_dir() == (claim == "data-web-0"))
    });
}

#[test]
#[ignore = "extended suite: further cases"]
fn a_saved_plan_is_for_the_set_that_it_was_made_for() {
    let set = Set::start(shared(), DELETE_WITH_SET, 2);
    set.owned(&[0, 1]);
    set.scale(1);
    let admin = Admin::of(&set.on);
    let file = admin.home.path().join("plan.yaml").display().to_string();
    let save = ["--when-deleted", "Retain", "--plan-out", &file];
    set.run(&admin, &save).ends(0);
    // Orphans keep the claims of the earlier set.
    set.on.cluster.kubectl(&["delete", "sts/web", "-n", &set.on.name, "--cascade=orphan"]);
    set.create(DELETE_WITH_SET, 1);
    let told = admin.refused(5, &["apply", &file, "--yes"]);
    assert!(told.reason("web").contains("deleted and recreated"), "{:#}", told.json);

    set.scale(2);
    set.owned(&[0, 1]);
    set.scale(1);
    set.run(&admin, &save).ends(0);
    let (mark, claims) = (shared().mark(), set.claims());
    let told = admin.run(&["apply", &file, "--yes"]).ends(0);
    assert_eq!(told.outcomes("done"), ["web"], "{:#}", told.json);
    assert_eq!(sent(&admin, mark), [patch_of(1), PATCH.to_owned()]);
    set.survives(&claims);
}

/// The role of `rbac retention-set` is enough, and nothing is begun without all of it.
#[test]
fn who_may_not_patch_the_set_releases_no_claim() {
    // What other scenarios own claims with may not be read with this role.
    let cluster = Cluster::start(Options::COMPLETE);
    let set = Set::start(&cluster, DELETE_WITH_SET, 2);
    set.owned(&[0, 1]);
    set.scale(1);
    let printed = Run::of(&["rbac", "retention-set"]).go();
    let role: Value = serde_yaml::from_str(&printed.stdout).expect("because it is YAML");
    let patches =
        |rule: &Value| rule["verbs"].as_array().is_some_and(|it| it.contains(&json!("patch")));
    let of_sets = |rule: &Value| {
        rule["resources"].as_array().is_some_and(|it| it.contains(&json!("statefulsets")))
    };
    let mut less = role["rules"].as_array().cloned().unwrap_or_default();
    assert!(less.iter().any(|it| of_sets(it) && patches(it)), "{less:#?}");
    for rule in less.iter_mut().filter(|it| of_sets(it) && patches(it)) {
        rule["verbs"] = json!(["get", "list", "watch"]);
    }
    let (some, all) = (Admin::named(&set.on, "some", &[]), Admin::named(&set.on, "all", &[]));
    set.on.cluster.grant(&some.name, &json!(less));
    set.on.cluster.grant(&all.name, &role["rules"]);
    for (admin, what) in [(&some, "persistentvolumeclaims"), (&all, "statefulsets.apps")] {
        eventually("the authorizer knows the new role", || {
            let who = ["auth", "can-i", "patch", what, "--as", &admin.name];
            cluster.try_kubectl(&who, "").is_ok()
        });
    }
    let told = some.refused(5, &set.call(&["--when-deleted", "Retain"]));
    assert!(told.reason("web").contains("403"), "{:#}", told.json);
    set.owned(&[1]);
    let (mark, claims) = (cluster.mark(), set.claims());
    set.run(&all, &["--when-deleted", "Retain"]).ends(0);
    assert_eq!(sent(&all, mark), [patch_of(1), PATCH.to_owned()]);
    let denied: Vec<_> =
        all.requests(mark).into_iter().filter(|it| it["responseStatus"]["code"] == 403).collect();
    assert!(denied.is_empty(), "{denied:#?}");
    set.survives(&claims);
}

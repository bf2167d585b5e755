//! A claim that something uses or will use is never deleted, whatever is said about its data.

use serde_json::{Value, json};

use super::{Admin, Scenario, because, delete, is_untouched, state};
use crate::support::{claim, eventually, pod, shared};

/// Workloads that have no pod now, each of a claim of its own name.
fn resting(name: &str) -> Value {
    let (labels, spec) = (json!({"app": name}), pod(name, name)["spec"].clone());
    let template = json!({"metadata": {"labels": labels}, "spec": spec});
    let of = |kind: &str, spec: Value| json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    let selector = json!({"matchLabels": labels});
    match name {
        "deploy" => {
            of("Deployment", json!({"replicas": 0, "selector": selector, "template": template}))
        }
        "sts" => of(
            "StatefulSet",
            json!({"replicas": 0, "serviceName": "none", "selector": selector, "template": template}),
        ),
        _ => {
            let mut spec = template["spec"].clone();
            spec["restartPolicy"] = json!("Never");
            json!({
                "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name},
                "spec": {
                    "suspend": true, "schedule": "0 0 1 1 *",
                    "jobTemplate": {"spec": {"template": {"spec": spec}}},
                },
            })
        }
    }
}

#[test]
fn d_46_workloads_at_rest_are_named() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let names = ["deploy", "sts", "cj"];
    let volumes = names.map(|name| {
        on.create(&claim(name, &driver.class_delete));
        on.create(&resting(name));
        on.bound(name)
    });
    let admin = Admin::of(&on);
    for flag in ["--keep-data", "--destroy-data"] {
        let told = admin.refused(5, &delete(&on, &names, &[flag]));
        for (name, object, state) in [
            ("deploy", "deploy", "(replicas: 0)"),
            ("sts", "sts", "(replicas: 0)"),
            ("cj", "cj", "(suspended)"),
        ] {
            let words =
                format!("the template of {object}/{}/{name} references it {state}", on.name);
            because(&told, name, &["no flag overrides this", &words, "remove the claim from"]);
        }
    }
    for (name, volume) in names.iter().zip(&volumes) {
        is_untouched(&on, name);
        assert_eq!(state(&on, volume), ("Delete".to_owned(), "Bound".to_owned()));
        assert_eq!(driver.delete_calls(&on.handle(volume)), 0);
    }
}

#[test]
fn d_45_a_claim_that_is_terminating_already_is_refused_with_the_way_to_keep_its_data() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    on.create(&claim("data", &driver.class_delete));
    let volume = on.bound("data");
    on.create(&pod("user", "data"));
    on.wait_phase("pod/user", "Running");
    on.delete("pvc/data");
    let admin = Admin::of(&on);
    let told = admin.refused(5, &delete(&on, &["data"], &["--keep-data"]));
    let retain = format!("`kubectl storage retain pvc/data -n {}", on.name);
    let pod = format!("po/{}/user blocks its deletion", on.name);
    because(&told, "data", &["it is Terminating already, which cannot be reverted", &pod, &retain]);
    assert_eq!(state(&on, &volume).0, "Delete");
}

#[test]
fn d_47_an_ephemeral_claim_is_its_pods_and_a_namesake_is_not() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let ephemeral = |name: &str| {
        let mut user = pod(name, "none");
        let template = json!({"spec": claim("unnamed", &driver.class_delete)["spec"]});
        user["spec"]["volumes"] =
            json!([{"name": "data", "ephemeral": {"volumeClaimTemplate": template}}]);
        on.create(&user);
    };
    on.create(&claim("other-data", &driver.class_delete));
    let namesake = on.bound("other-data");
    let handle = on.handle(&namesake);
    ephemeral("own");
    ephemeral("other");
    on.wait_phase("pod/own", "Running");
    on.bound("own-data");
    let admin = Admin::of(&on);
    let told = admin.run(&delete(&on, &["own-data", "other-data"], &["--keep-data"])).ends(6);
    because(&told, "own-data", &["has it as an ephemeral volume, Running", "delete that pod"]);
    is_untouched(&on, "own-data");
    assert_eq!(told.outcomes("done"), ["other-data"], "{:#}", told.json);
    assert_eq!(state(&on, &namesake), ("Retain".to_owned(), "Released".to_owned()));
    assert!(driver.has(&handle));
}

#[test]
fn d_48_a_pod_that_was_deleted_by_force_and_stays_uses_its_claim() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    on.create(&claim("data", &driver.class_delete));
    on.bound("data");
    let mut user = pod("user", "data");
    user["metadata"]["finalizers"] = json!(["example.com/wait"]);
    on.create(&user);
    on.wait_phase("pod/user", "Running");
    let force = ["--grace-period=0", "--force", "--wait=false"];
    on.cluster.kubectl(&[&["delete", "pod/user", "-n", &on.name][..], &force[..]].concat());
    let admin = Admin::of(&on);
    for flag in ["--keep-data", "--destroy-data"] {
        let told = admin.refused(5, &delete(&on, &["data"], &[flag]));
        because(&told, "data", &["user references it", "shut down", "wait until it is deleted"]);
    }
    is_untouched(&on, "data");
    on.patch("pod/user", &json!({"metadata": {"finalizers": null}}));
}

#[test]
fn d_50_the_sources_of_a_clone_and_of_a_snapshot_are_refused() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    for name in ["x", "y"] {
        on.create(&claim(name, &driver.class_retain));
        on.bound(name);
    }
    let mut copy = claim("copy", &on.named("later"));
    copy["spec"]["dataSource"] = json!({"kind": "PersistentVolumeClaim", "name": "x"});
    on.create(&copy);
    on.create(&json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
        "metadata": {"name": "shot"},
        "spec": {"volumeSnapshotClassName": "any", "source": {"persistentVolumeClaimName": "y"}},
    }));
    let admin = Admin::of(&on);
    let told = admin.refused(5, &delete(&on, &["x", "y"], &["--keep-data"]));
    because(&told, "x", &["copy is being cloned from it", "wait until the clone is Bound"]);
    because(&told, "y", &["shot is not ready", "VolumeSnapshot that never becomes ready"]);
    is_untouched(&on, "x");
    is_untouched(&on, "y");
}

#[test]
fn an_earlier_revision_of_a_deployment_is_no_use() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    on.create(&claim("deploy", &driver.class_retain));
    let mut deployment = resting("deploy");
    deployment["spec"]["replicas"] = json!(1);
    on.create(&deployment);
    on.bound("deploy");
    let pods = || on.cluster.list(&on.name, "pods");
    eventually("its pod runs", || pods().iter().any(|it| it["status"]["phase"] == "Running"));
    let admin = Admin::of(&on);
    let told = admin.refused(5, &delete(&on, &["deploy"], &[]));
    let words = "remove the claim from its template";
    because(&told, "deploy", &["po/", "rs/", "(delete that pod)", words]);
    // What the refusal says to do.
    let bare = json!({"spec": {"template": {"spec": {
        "volumes": null,
        "containers": [{"name": "main", "image": "none", "volumeMounts": null}],
    }}}});
    let patch = ["patch", "deployment", "deploy", "-n", &on.name, "--type=merge", "-p"];
    on.cluster.kubectl(&[&patch[..], &[&bare.to_string()]].concat());
    eventually("the old pod is gone", || {
        let all = pods();
        all.len() == 1 && all[0]["spec"]["volumes"].to_string().find("deploy").is_none()
    });
    let mut notices = String::new();
    eventually("the old revision is at rest", || {
        let plan = admin.run(&delete(&on, &["deploy"], &["--dry-run=client"]));
        notices = plan.json["changes"][0]["notices"].to_string();
        plan.code == Some(0)
    });
    let words = "a rollback of Deployment deploy to the revision of rs/";
    assert!(notices.contains(words), "{notices}");
    let told = admin.run(&delete(&on, &["deploy"], &[])).ends(0);
    assert_eq!(told.outcomes("done"), ["deploy"], "{:#}", told.json);
}

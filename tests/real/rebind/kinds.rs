//! Volumes and users of other kinds: in-tree host paths, classes that wait for a pod, StatefulSets.

use std::fs;

use serde_json::{Value, json};

use super::{LEDGER, Left, bound_to_each_other, driver, here, intact, rebind, words, write_ledger};
use crate::support::{Admin, Scenario, claim, eventually, host_path_class, pod};

#[test]
fn an_in_tree_volume_keeps_its_folder() {
    let on = Scenario::on(here());
    let class = on.named("class");
    on.create(&host_path_class(&class, "Retain"));
    on.create(&claim("data", &class));
    let name = on.bound("data");
    let folder = on.folder(&name);
    fs::write(folder.join("ledger"), LEDGER).expect("because the folder is ours");
    on.delete("pvc/data");
    on.wait_phase(&format!("pv/{name}"), "Released");
    eventually("the claim is gone", || on.get("pvc/data").is_none());
    let told = Admin::of(&on).run(&words(&rebind(&[&name]))).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    bound_to_each_other(&on, &name, "data");
    assert_eq!(fs::read_to_string(folder.join("ledger")).ok().as_deref(), Some(LEDGER));
    on.cluster.delete("", &format!("storageclass/{class}"));
}

#[test]
fn a_class_that_waits_for_a_pod_does_not_keep_its_claim_waiting() {
    let on = Scenario::on(here());
    let class = on.named("waits");
    on.create(&json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": class},
        "provisioner": driver().name, "reclaimPolicy": "Retain",
        "volumeBindingMode": "WaitForFirstConsumer",
    }));
    on.create(&claim("data", &class));
    on.create(&pod("db-0", "data"));
    let name = on.bound("data");
    let handle = on.handle(&name);
    write_ledger(driver(), &handle);
    on.delete("pod/db-0");
    on.wait_gone("pod/db-0");
    on.delete("pvc/data");
    on.wait_phase(&format!("pv/{name}"), "Released");
    eventually("the claim is gone", || on.get("pvc/data").is_none());
    // A claim without spec.volumeName, which no pod uses, waits for one.
    on.create(&claim("data", &class));
    let told = Admin::of(&on).run(&words(&rebind(&[&name]))).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    bound_to_each_other(&on, &name, "data");
    intact(driver(), &handle);
    on.cluster.delete("", &format!("storageclass/{class}"));
}

fn set(replicas: u32) -> Value {
    let template = claim("data", &driver().class_retain);
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
        "spec": {
            "replicas": replicas, "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": {
                "metadata": {"labels": {"app": "db"}},
                "spec": {"containers": [{
                    "name": "main", "image": "none",
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                }]},
            },
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": template["spec"]}],
        },
    })
}

#[test]
fn the_pod_of_a_scaled_up_set_gets_the_old_data() {
    let on = Scenario::on(here());
    on.create(&set(1));
    let runs = || on.get("pod/db-0").is_some_and(|it| it["status"]["phase"] == "Running");
    eventually("the pod runs", runs);
    let name = on.bound("data-db-0");
    let handle = on.handle(&name);
    write_ledger(driver(), &handle);
    on.patch("statefulset/db", &json!({"spec": {"replicas": 0}}));
    eventually("the pod is gone", || on.get("pod/db-0").is_none());
    on.delete("pvc/data-db-0");
    on.wait_phase(&format!("pv/{name}"), "Released");
    eventually("the claim is gone", || on.get("pvc/data-db-0").is_none());

    let told = Admin::of(&on).run(&words(&rebind(&[&name]))).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    on.patch("statefulset/db", &json!({"spec": {"replicas": 1}}));
    eventually("the pod runs again", runs);
    bound_to_each_other(&on, &name, "data-db-0");
    intact(driver(), &handle);
    on.delete("statefulset/db");
    on.remember_volumes();
}

#[test]
fn a_volume_goes_to_a_claim_of_another_namespace_and_says_so() {
    let on = Scenario::on(here());
    let left = Left::on(&on, driver());
    let tenant = on.named("tenant");
    on.cluster.create(&json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": tenant},
    }));
    let admin = Admin::of(&on);
    let to = format!("{tenant}/copy");
    let shown = admin.run(&["rebind", &left.name, "--to", &to, "--dry-run=client"]).ends(0);
    let notices = shown.json["changes"][0]["notices"].to_string();
    let said = format!(
        "pods of namespace {tenant} will read data that was written in namespace {}",
        on.name
    );
    assert!(notices.contains(&said), "{notices}");
    // A plan with another claim can be saved, and says which.
    let plan = admin.home.path().join("plan.yaml").display().to_string();
    let shown = Admin::of(&on);
    shown.run(&["rebind", &left.name, "--to", &to, "--plan-out", &plan]).ends(0);
    let told = admin.run(&["apply", &plan, "--yes"]).ends(0);
    assert_eq!(told.outcomes("done"), [&*left.name], "{:#}", told.json);
    let copy = on.cluster.get(&tenant, "pvc/copy").expect("it was created");
    assert_eq!(
        (&copy["spec"]["volumeName"], &copy["status"]["phase"]),
        (&json!(left.name), &json!("Bound"))
    );
    intact(driver(), &left.handle);
    on.cluster.delete("", &format!("namespace/{tenant}"));
}

//! Tests of what is said of agents that mount a directory of the node around a volume's.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::*;
use crate::model::Settings;
use crate::objects::whole_cluster::cluster_of;

const SET: &str = "493c02a7-f4e6-5ec4-8e0b-fc87ae581be5";

fn volume() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": "pv-1", "uid": "6a1f02a7-f4e6-5ec4-8e0b-fc87ae581be5"},
        "spec": {
            "capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": "/opt/local-path-provisioner/pvc-1"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-1"]},
            ]}]}},
        },
        "status": {"phase": "Released"},
    })
}

/// The specification of an agent that mounts this directory of its node.
fn spec(path: &str) -> Value {
    json!({
        "containers": [{"name": "agent", "image": "agent"}],
        "volumes": [{"name": "root", "hostPath": {"path": path}}],
    })
}

fn set(path: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "monitoring", "uid": SET},
        "spec": {"template": {"spec": spec(path)}},
    })
}

fn pod(name: &str, owner: &str, path: &str) -> Value {
    let mut spec = spec(path);
    spec["nodeName"] = json!("node-1");
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "monitoring",
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": owner,
                "controller": true,
            }],
        },
        "spec": spec, "status": {"phase": "Running"},
    })
}

/// What is said of a cluster with the volume and these objects.
fn told(objects: &[Value]) -> Vec<String> {
    let volume = volume();
    let cluster = cluster_of([&volume].into_iter().chain(objects), [], &[]);
    let (settings, facts) = (Settings::default(), RefCell::default());
    let cx = Cx::new(&cluster, &settings, &facts);
    let volume = cluster.volume_named("pv-1").expect("it is in there");
    let found = neighbours(&cx, volume, &volume.places(), None).expect("all was read").found;
    assert!(found.iter().all(|it| it.nearness == Nearness::Notable), "{found:?}");
    found.into_iter().map(|it| it.who).collect()
}

#[test]
fn the_workload_is_named_and_not_the_pods_that_it_makes() {
    let before = told(&[set("/"), pod("agent-a", SET, "/")]);
    assert_eq!(before.len(), 1, "{before:?}");
    // A rollout, and an agent on one more node, are nothing new to know.
    assert_eq!(told(&[set("/"), pod("agent-b", SET, "/"), pod("agent-c", SET, "/")]), before);
    // What nobody else stands for is said: of a pod without its workload, of one of an earlier
    // workload of that name, and of one that mounts something else than its template.
    let one = |objects: &[Value]| told(objects).iter().any(|it| it.contains("agent-a"));
    assert!(one(&[pod("agent-a", SET, "/")]));
    assert!(one(&[set("/"), pod("agent-a", "7b2f02a7-f4e6-5ec4-8e0b-fc87ae581be5", "/")]));
    assert!(one(&[set("/"), pod("agent-a", SET, "/opt")]));
}

#[test]
fn a_helper_of_the_provisioner_that_makes_another_volume_is_the_provisioner() {
    const ROOT: &str = "/opt/local-path-provisioner";
    let mut volume = volume();
    volume["metadata"]["name"] = json!("pvc-1a");
    volume["metadata"]["annotations"] =
        json!({"pv.kubernetes.io/provisioned-by": "rancher.io/local-path"});
    let provisioner = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "local-path-provisioner-0", "namespace": "monitoring"},
        "spec": {"containers": [{
            "name": "local-path-provisioner", "image": "rancher/local-path-provisioner:v0.0.30",
        }]},
        "status": {
            "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
        },
    });
    let named = |name: &str| {
        let mut pod = pod(name, SET, ROOT);
        pod["metadata"].as_object_mut().expect("it is one").remove("ownerReferences");
        pod
    };
    let told = |pod: &Value, provisioner: &[Value]| {
        let objects = [&volume, pod].into_iter().chain(provisioner);
        let cluster = cluster_of(objects, [], &[]);
        let (settings, facts) = (Settings::default(), RefCell::default());
        let cx = Cx::new(&cluster, &settings, &facts);
        let volume = cluster.volume_named("pvc-1a").expect("it is in there");
        neighbours(&cx, volume, &volume.places(), None).expect("all was read").found.len()
    };
    let runs = [provisioner];
    for other in ["helper-pod-create-pvc-2b", "helper-pod-delete-pvc-2b", "delete-pvc-2b"] {
        assert_eq!(told(&named(other), &runs), 0, "{other}");
        assert_eq!(told(&named(other), &[]), 1, "no provisioner runs beside {other}");
        assert_eq!(told(&pod(other, SET, ROOT), &runs), 1, "a set made {other}");
    }
    // Of this volume, of one that is called alike where the name is cut off, and of none.
    for its in [
        "helper-pod-delete-pvc-1a",
        "helper-pod-delete-pvc-",
        "helper-pod-delete-",
        "helper-pod-delete-x-delete-pvc-1a",
        "debug",
        "undelete-pvc-2b",
    ] {
        assert_eq!(told(&named(its), &runs), 1, "{its}");
    }
    let mut elsewhere = named("helper-pod-create-pvc-2b");
    elsewhere["metadata"]["namespace"] = json!("shop");
    assert_eq!(told(&elsewhere, &runs), 1);
    // It mounts the directory itself, and not that in which all are.
    let mut inside = named("helper-pod-create-pvc-2b");
    inside["spec"]["volumes"][0]["hostPath"]["path"] = json!(format!("{ROOT}/pvc-1"));
    assert_eq!(told(&inside, &runs), 1);
}

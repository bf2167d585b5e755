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
    const OTHER: &str = "pvc-9b1f02a7-f4e6-4ec4-8e0b-fc87ae581be5";
    let mut volume = volume();
    volume["metadata"]["name"] = json!("pvc-1");
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
        pod["spec"]["volumes"][0]["name"] = json!("data");
        pod
    };
    let told = |volume: &Value, objects: &[&Value]| {
        let cluster = cluster_of([volume].into_iter().chain(objects.iter().copied()), [], &[]);
        let (settings, facts) = (Settings::default(), RefCell::default());
        let cx = Cx::new(&cluster, &settings, &facts);
        let volume = cluster.volume_named("pvc-1").expect("it is in there");
        neighbours(&cx, volume, &volume.places(), None).expect("all was read").found.len()
    };
    let mut static_volume = volume.clone();
    static_volume["metadata"] = json!({"name": "by-hand", "uid": SET});
    static_volume["spec"]["local"]["path"] = json!("/opt/elsewhere");
    for other in [
        format!("helper-pod-create-{OTHER}"),
        format!("helper-pod-delete-{OTHER}"),
        format!("delete-{OTHER}"),
    ] {
        assert_eq!(told(&volume, &[&named(&other), &provisioner]), 0, "{other}");
        assert_eq!(told(&volume, &[&named(&other)]), 1, "no provisioner runs beside {other}");
        let of_set = pod(&other, SET, ROOT);
        assert_eq!(told(&volume, &[&of_set, &provisioner]), 1, "a set made {other}");
    }
    let known = named("helper-pod-delete-by-hand");
    assert_eq!(told(&volume, &[&known, &provisioner, &static_volume]), 0);
    // Of this volume, of one that is called alike where the name is cut off, and of none.
    for its in [
        "helper-pod-delete-pvc-1",
        "helper-pod-delete-pvc-",
        "helper-pod-delete-",
        "helper-pod-delete-x-delete-pvc-1",
        "helper-pod-delete-by-hand",
        "debug",
        "rescue-delete-me",
        "mysql-create-dump",
        &format!("undelete-{OTHER}"),
        &format!("helper-pod-create-{OTHER}0"),
    ] {
        assert_eq!(told(&volume, &[&named(its), &provisioner]), 1, "{its}");
    }
    let helper = named(&format!("helper-pod-create-{OTHER}"));
    let with = |pointer: &str, value: &str| {
        let mut helper = helper.clone();
        *helper.pointer_mut(pointer).expect("it has that") = json!(value);
        told(&volume, &[&helper, &provisioner])
    };
    assert_eq!(with("/metadata/namespace", "shop"), 1);
    // It mounts the directory itself, one far above, and one that is no provisioner's.
    assert_eq!(with("/spec/volumes/0/hostPath/path", &format!("{ROOT}/pvc-1")), 1);
    assert_eq!(with("/spec/volumes/0/hostPath/path", "/"), 1);
    assert_eq!(with("/spec/volumes/0/name", "backup"), 1);
    // By a pathPattern the directory may be the one that the pod makes at this moment.
    let mut patterned = volume.clone();
    for path in ["shop/db", "pvc-10", "pvc-1-db"] {
        patterned["spec"]["local"]["path"] = json!(format!("{ROOT}/{path}"));
        let mut beside = helper.clone();
        let parent = path.rsplit_once('/').map_or(String::new(), |it| format!("/{}", it.0));
        beside["spec"]["volumes"][0]["hostPath"]["path"] = json!(format!("{ROOT}{parent}"));
        assert_eq!(told(&patterned, &[&beside, &provisioner]), 1, "{path}");
    }
    patterned["spec"]["local"]["path"] = json!(format!("{ROOT}/pvc-1_shop_db"));
    assert_eq!(told(&patterned, &[&helper, &provisioner]), 0);
}

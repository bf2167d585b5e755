//! A cluster with the guard, and one object of each kind that its rules tell apart.

use serde_json::{Value, json};

use super::ask::{Actor, Asked, Asker, JSON, Seen};
use crate::support::{Cluster, Outcome, PersistentVolume, Run, claim, eventually};

pub(super) const EXTERNAL: &str = "external-provisioner.volume.kubernetes.io/finalizer";
pub(super) const ATTACHER: &str = "external-attacher/csi-example";

/// Runs the tool as an administrator who is a person.
pub(super) fn tool(cluster: &Cluster, args: &[&str]) -> Outcome {
    let person = ["--as", "ann@example.com", "--as-group", "system:masters"];
    Run::of(args).more(&person).kubeconfig(cluster.kubeconfig()).go()
}

#[track_caller]
pub(super) fn install(cluster: &Cluster, args: &[&str]) -> Outcome {
    let all = [&["guard", "install", "--yes"], args].concat();
    let outcome = tool(cluster, &all);
    assert_eq!(outcome.code, Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
    outcome
}

/// Lets everybody do everything: what is refused then, the guard refuses.
pub(super) fn let_everybody(cluster: &Cluster) {
    let group = |name: &str| {
        json!({
            "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": name,
        })
    };
    cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "everybody"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin",
        },
        "subjects": [group("system:authenticated"), group("system:unauthenticated")],
    }));
}

pub(super) fn namespace(cluster: &Cluster, name: &str, label: Option<&str>) {
    let mut namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    if let Some(label) = label {
        namespace["metadata"]["labels"] = json!({"storage.kubectl.dev/guard": label});
    }
    cluster.create(&namespace);
}

/// A set without replicas.
pub(super) fn set(name: &str, when_deleted: &str) -> Value {
    let mut template = claim("data", "");
    template["kind"] = json!(null);
    template["apiVersion"] = json!(null);
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
        "spec": {
            "replicas": 0, "serviceName": "none",
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "none"}]},
            },
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": when_deleted, "whenScaled": "Retain",
            },
            "volumeClaimTemplates": [template],
        },
    })
}

/// Makes the objects of a namespace.
pub(super) fn fill(cluster: &Cluster, namespace: &str) {
    let create = |mut object: Value| {
        object["metadata"]["namespace"] = json!(namespace);
        cluster.create(&object)
    };
    for name in ["bound", "leaving"] {
        let mut bound = claim(name, "");
        bound["spec"]["volumeName"] = json!(format!("{namespace}-{name}"));
        create(bound);
        let status = json!({"status": {"phase": "Bound"}});
        cluster.patch_status(namespace, &format!("pvc/{name}"), &status);
    }
    cluster.delete(namespace, "pvc/leaving");
    create(claim("pending", ""));
    create(set("destroys", "Delete"));
    create(set("retains", "Retain"));
    let mut shrinks = set("shrinks", "Retain");
    shrinks["spec"]["persistentVolumeClaimRetentionPolicy"]["whenScaled"] = json!("Delete");
    shrinks["spec"]["replicas"] = json!(2);
    create(shrinks);
}

/// Makes the objects that are in no namespace.
pub(super) fn fill_cluster_wide(cluster: &Cluster) {
    for (name, policy, finalizers) in [
        ("leaks", "Delete", &[][..]),
        ("protected", "Delete", &[EXTERNAL, ATTACHER]),
        ("retained", "Retain", &[]),
    ] {
        let volume = PersistentVolume::csi(name, "csi.example", name).policy(policy);
        cluster.create(&volume.finalizers(finalizers).0);
    }
    for (name, phase) in [("taken", "Bound"), ("left", "Released")] {
        let mut volume = PersistentVolume::csi(name, "csi.example", name).policy("Retain").0;
        volume["spec"]["claimRef"] = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "shop", "name": name,
            "uid": "00000000-feed-4000-8000-000000000000",
        });
        cluster.create(&volume);
        cluster.patch_status("", &format!("pv/{name}"), &json!({"status": {"phase": phase}}));
    }
    cluster.create(&json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": "attached", "finalizers": [ATTACHER]},
        "spec": {
            "attacher": "csi.example", "nodeName": "n1",
            "source": {"persistentVolumeName": "protected"},
        },
    }));
}

/// Waits until the guard is in force for people.
pub(super) fn in_force(asker: &Asker, namespace: &str, wanted: Seen) {
    let request = Asked {
        method: http::Method::DELETE,
        path: format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/bound"),
        content: JSON,
        body: json!({"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]}),
    };
    eventually("the guard is in force", || asker.ask(&Actor::person(), &request).seen() == wanted);
}

//! Objects that scenarios create.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Where the in-tree provisioner of the testbed keeps its volumes.
pub(crate) const HOST_PATHS: &str = "/tmp/hostpath_pv";

/// A folder for an in-tree volume that no provisioner makes. Runs of the tests at the same time have one each.
pub(crate) fn host_folder(name: &str) -> PathBuf {
    Path::new(HOST_PATHS).join(format!("{name}-{}", std::process::id()))
}

/// A `PersistentVolume` in the making: one gibibyte, policy Retain, no class.
#[derive(Clone)]
pub(crate) struct PersistentVolume(pub(crate) Value);

impl PersistentVolume {
    /// A hand-made CSI volume.
    pub(crate) fn csi(name: &str, driver: &str, handle: &str) -> Self {
        Self::of(name, "csi", &json!({"driver": driver, "volumeHandle": handle}))
    }

    /// A hand-made volume on a folder of the node.
    pub(crate) fn host_path(name: &str, path: &str) -> Self {
        Self::of(name, "hostPath", &json!({"path": path}))
    }

    /// A hand-made volume on a folder or a disk of a node.
    pub(crate) fn local(name: &str, path: &Path, node: &str) -> Self {
        let mut volume = Self::of(name, "local", &json!({"path": path}));
        volume.0["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [{
            "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}],
        }]}});
        volume
    }

    fn of(name: &str, source: &str, value: &Value) -> Self {
        let mut object = json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": name, "annotations": {}, "labels": {}},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain",
            },
        });
        object["spec"][source] = value.clone();
        Self(object)
    }

    pub(crate) fn policy(mut self, policy: &str) -> Self {
        self.0["spec"]["persistentVolumeReclaimPolicy"] = json!(policy);
        self
    }

    pub(crate) fn class(mut self, class: &str) -> Self {
        self.0["spec"]["storageClassName"] = json!(class);
        self
    }

    pub(crate) fn annotated(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"]["annotations"][key] = json!(value);
        self
    }

    /// As a provisioner would have made it: csi-provisioner writes its identity into the attributes.
    pub(crate) fn provisioned_by(mut self, provisioner: &str) -> Self {
        if self.0["spec"]["csi"].is_object() {
            self.0["spec"]["csi"]["volumeAttributes"] = json!({
                "storage.kubernetes.io/csiProvisionerIdentity": format!("1699862400000-81-{provisioner}"),
            });
        }
        self.annotated("pv.kubernetes.io/provisioned-by", provisioner)
    }

    pub(crate) fn finalizers(mut self, finalizers: &[&str]) -> Self {
        self.0["metadata"]["finalizers"] = json!(finalizers);
        self
    }

    /// Reserved for a claim by name.
    pub(crate) fn reserved_for(mut self, namespace: &str, name: &str) -> Self {
        self.0["spec"]["claimRef"] = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name,
        });
        self
    }

    /// Once bound to a claim that is gone: the controller manager makes it Released.
    pub(crate) fn left_by(self, namespace: &str, name: &str) -> Self {
        let mut volume = self.reserved_for(namespace, name);
        volume.0["spec"]["claimRef"]["uid"] = json!("00000000-dead-4000-8000-000000000000");
        volume
    }
}

/// A claim for a gibibyte of a class.
pub(crate) fn claim(name: &str, class: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": class,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    })
}

/// A class of the in-tree provisioner that the testbed's controller manager has.
pub(crate) fn host_path_class(name: &str, policy: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "kubernetes.io/host-path", "reclaimPolicy": policy,
    })
}

/// A pod that uses a claim.
pub(crate) fn pod(name: &str, claim: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "containers": [{"name": "main", "image": "none", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        },
    })
}

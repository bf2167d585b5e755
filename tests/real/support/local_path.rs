//! local-path-provisioner as it was released, which is not CSI, and its directories.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Cluster;
use super::objects::claim;
use super::testbed::testbed;

/// The provisioner, whose helper pods run on this machine.
pub(crate) struct LocalPath {
    /// What is beneath it is a folder per node.
    volumes: PathBuf,
    /// Its `StorageClass` with reclaim policy Retain.
    pub(crate) class_retain: String,
    /// Its `StorageClass` with reclaim policy Delete.
    pub(crate) class_delete: String,
}

impl LocalPath {
    pub(crate) const PROVISIONER: &str = "rancher.io/local-path";
    /// Where its helper pods run, and its `ConfigMap` is.
    pub(crate) const NAMESPACE: &str = "local-path-storage";
    /// The `ConfigMap` with the scripts of its helper pods.
    pub(crate) const CONFIG: &str = "local-path-config";

    pub(super) fn start(on: &Cluster) -> Self {
        let reply = testbed().request("local-path.start", json!({"cluster": on.name()}));
        let text = |value: &Value| {
            value.as_str().unwrap_or_else(|| panic!("incomplete reply: {reply}")).to_owned()
        };
        Self {
            volumes: text(&reply["volumes"]).into(),
            class_retain: text(&reply["classes"]["retain"]),
            class_delete: text(&reply["classes"]["delete"]),
        }
    }

    /// A class of it whose directories are called so, with policy Retain.
    pub(crate) fn class(name: &str, path_pattern: &str) -> Value {
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": Self::PROVISIONER, "reclaimPolicy": "Retain",
            "volumeBindingMode": "WaitForFirstConsumer",
            "parameters": {"pathPattern": path_pattern},
        })
    }

    /// A claim for a directory on a node, as if the scheduler had put its first pod there.
    pub(crate) fn claim(name: &str, class: &str, node: &str) -> Value {
        let mut claim = claim(name, class);
        claim["metadata"]["annotations"] = json!({"volume.kubernetes.io/selected-node": node});
        claim
    }

    /// A pod that the provisioner starts to make another volume beside this directory of node-1, and that goes on.
    pub(crate) fn helper(beside: &Path) -> Value {
        let volume = "pvc-9b1f02a7-f4e6-4ec4-8e0b-fc87ae581be5";
        let root = beside.parent().expect("because it is in one");
        json!({
            "apiVersion": "v1", "kind": "Pod",
            // The testbed ends those without labels.
            "metadata": {
                "name": format!("helper-pod-create-{volume}"), "namespace": Self::NAMESPACE,
                "labels": {"goes": "on"},
            },
            "spec": {
                "nodeName": "node-1", "restartPolicy": "Never",
                "serviceAccountName": "local-path-provisioner-service-account",
                "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "helper-pod", "image": "busybox"}],
                "volumes": [{"name": "data", "hostPath": {"path": root}}],
            },
        })
    }

    /// Makes a directory of a node that no `PersistentVolume` names yet.
    pub(crate) fn make(&self, node: &str, name: &str) -> PathBuf {
        let folder = self.volumes.join(node).join(name);
        fs::create_dir_all(&folder).expect("because the volumes are ours");
        folder
    }

    /// The directory of a volume. It is one of ours.
    pub(crate) fn folder(&self, volume: &Value) -> PathBuf {
        let path = volume["spec"]["hostPath"]["path"].as_str().expect("because it is a directory");
        assert!(Path::new(path).starts_with(&self.volumes), "{path} is none of ours");
        path.into()
    }
}

//! Fixture for tests: a cluster of a set, its pod, and the objects that they own.

use std::cell::RefCell;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::cluster::Cx;
use crate::model::{
    Answer, Kind, ObjectKey, ObjectRef, OwnerObject, OwnerReference, Question, Settings, Uid,
};
use crate::objects::whole_cluster::{cluster_of, key};

/// A set `web` without claim templates, its pod, and further objects of the namespace.
#[derive(Default)]
pub(crate) struct Shop {
    pub(crate) objects: Vec<Value>,
    /// Answers about `ConfigMap`s, by name.
    pub(crate) config_maps: Vec<(String, Answer)>,
    pub(crate) unread: Vec<Kind>,
    pub(crate) destroy_data: bool,
    pub(crate) destroy_snapshots: bool,
}

/// The answer about a `ConfigMap` that exists, with its owners.
pub(crate) fn owned_by(uid: &str, owners: &[Value]) -> Answer {
    let text = |of: &Value| of.as_str().expect("it is a text").to_owned();
    let reference = |of: &Value| OwnerReference {
        api_version: text(&of["apiVersion"]).into(),
        kind: text(&of["kind"]).into(),
        name: text(&of["name"]).into(),
        uid: Uid::parse(&text(&of["uid"])),
        controller: false,
        blocks_deletion: false,
    };
    Answer::Owner(Arc::new(OwnerObject {
        uid: Uid::parse(uid).expect("it is not empty"),
        terminating: false,
        cluster_wide: false,
        owners: owners.iter().map(reference).collect(),
    }))
}

pub(crate) fn owner(api_version: &str, kind: &str, name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind, "name": name, "uid": uid,
        "controller": kind != "ConfigMap",
    })
}

pub(crate) fn by_set() -> Value {
    owner("apps/v1", "StatefulSet", "web", "set")
}

pub(crate) fn by_pod() -> Value {
    owner("v1", "Pod", "web-0", "pod")
}

pub(crate) fn by_config_map(name: &str) -> Value {
    owner("v1", "ConfigMap", name, name)
}

/// A claim with a volume that is destroyed with it.
pub(crate) fn claim(name: &str, owners: &[Value]) -> [Value; 2] {
    let volume = format!("pv-{name}");
    // The id of an EBS volume of its own.
    let id = name.bytes().fold(0_u64, |id, byte| id.wrapping_mul(31).wrapping_add(byte.into()));
    [
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "shop", "uid": name, "ownerReferences": owners},
            "spec": {"volumeName": volume}, "status": {"phase": "Bound"},
        }),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {
                "name": volume, "uid": volume,
                "annotations": {"pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com"},
            },
            "spec": {
                "persistentVolumeReclaimPolicy": "Delete",
                "claimRef": {"namespace": "shop", "name": name, "uid": name},
                "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": format!("vol-{:017x}", id)},
            },
            "status": {"phase": "Bound"},
        }),
    ]
}

pub(crate) fn snapshot(name: &str) -> Value {
    json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
        "metadata": {"name": name, "namespace": "shop", "uid": name},
        "spec": {"source": {"persistentVolumeClaimName": "data"}},
    })
}

pub(crate) fn content(name: &str, of: &str, uid: &str, policy: &str) -> Value {
    json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
        "metadata": {"name": name, "uid": name},
        "spec": {
            "driver": "ebs.csi.aws.com", "deletionPolicy": policy,
            "source": {"volumeHandle": "pv-data"},
            "volumeSnapshotRef": {"namespace": "shop", "name": of, "uid": uid},
        },
    })
}

impl Shop {
    pub(crate) fn with(objects: impl IntoIterator<Item = Value>) -> Self {
        let set = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "shop", "uid": "set"},
            "spec": {
                "replicas": 1, "selector": {"matchLabels": {"app": "web"}},
                "template": {"spec": {"containers": []}},
            },
        });
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "web-0", "namespace": "shop", "uid": "pod", "ownerReferences": [by_set()],
            },
            "spec": {"volumes": [{
                "name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}},
            }]},
            "status": {"phase": "Running"},
        });
        Self { objects: [set, pod].into_iter().chain(objects).collect(), ..Self::default() }
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&Cx) -> T) -> T {
        let answers = self.config_maps.iter().map(|(name, answer)| {
            (Question::OwnersOf(key("v1", "ConfigMap", name)), answer.clone())
        });
        let cluster = cluster_of(&self.objects, answers, &self.unread);
        let settings = Settings {
            destroy_data: self.destroy_data,
            destroy_snapshots: self.destroy_snapshots,
            ..Settings::default()
        };
        let facts = RefCell::default();
        look(&Cx::new(&cluster, &settings, &facts))
    }
}

pub(crate) fn set() -> ObjectRef {
    let key = ObjectKey::named(Kind::StatefulSet, "shop", "web");
    ObjectRef { key, uid: Uid::parse("set") }
}

pub(crate) fn namespace() -> ObjectRef {
    ObjectRef { key: ObjectKey::cluster_wide(Kind::Namespace, "shop"), uid: None }
}

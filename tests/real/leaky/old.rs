//! Objects as they lie in the etcd of an old cluster.

use chrono::{DateTime, Duration, SecondsFormat, Utc};
use serde_json::{Value, json};

use crate::support::PersistentVolume;

/// How old everything is that has no other age.
const AGE: i64 = 712;

/// The time so many days ago, as the API server writes it.
pub(crate) fn days_ago(days: i64) -> String {
    static START: std::sync::LazyLock<DateTime<Utc>> = std::sync::LazyLock::new(Utc::now);
    (*START - Duration::days(days)).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// A uid of a name, always the same.
pub(crate) fn uid(name: &str) -> String {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = format!("{hash:016x}");
    format!("{}-{}-4{}-9a52-{}", &hash[..8], &hash[8..12], &hash[12..15], "c0ffee15c01d")
}

fn managed(manager: &str, operation: &str, days: i64, fields: &Value) -> Value {
    json!({
        "manager": manager, "operation": operation, "apiVersion": "v1", "time": days_ago(days),
        "fieldsType": "FieldsV1", "fieldsV1": fields,
    })
}

/// An old volume, and where it lies.
#[derive(Clone)]
pub(crate) struct Old(Value);

impl Old {
    /// A volume in a phase since so many days, which the API server stamped and recorded.
    pub(crate) fn volume(volume: PersistentVolume, phase: &str, days: i64) -> Self {
        let mut value = volume.0;
        let metadata = &mut value["metadata"];
        metadata["uid"] = json!(uid(metadata["name"].as_str().unwrap_or_default()));
        metadata["creationTimestamp"] = json!(days_ago(AGE));
        let mut finalizers = metadata["finalizers"].as_array().cloned().unwrap_or_default();
        finalizers.insert(0, json!("kubernetes.io/pv-protection"));
        metadata["finalizers"] = json!(finalizers);
        let spec = json!({"f:spec": {"f:capacity": {}, "f:persistentVolumeReclaimPolicy": {}}});
        let mut status = managed(
            "kube-controller-manager",
            "Update",
            days,
            &json!({"f:status": {"f:phase": {}}}),
        );
        status["subresource"] = json!("status");
        metadata["managedFields"] =
            json!([managed("csi-provisioner", "Update", AGE, &spec), status]);
        value["spec"]["volumeMode"] = json!("Filesystem");
        value["status"] = json!({"phase": phase, "lastPhaseTransitionTime": days_ago(days)});
        Self(value)
    }

    pub(crate) fn size(mut self, size: &str) -> Self {
        self.0["spec"]["capacity"]["storage"] = json!(size);
        self
    }

    /// Stamped by somebody, so many days ago; what the API server recorded stays.
    pub(crate) fn stamped(mut self, days: i64) -> Self {
        self.0["status"]["lastPhaseTransitionTime"] = json!(days_ago(days));
        self
    }

    /// Older than any record of its phase.
    pub(crate) fn unrecorded(mut self) -> Self {
        self.0["status"]
            .as_object_mut()
            .expect("because it is one")
            .remove("lastPhaseTransitionTime");
        self.0["metadata"].as_object_mut().expect("because it is one").remove("managedFields");
        self
    }

    /// Deleted so many days ago, and held by its finalizers.
    pub(crate) fn terminating(mut self, days: i64) -> Self {
        self.0["metadata"]["deletionTimestamp"] = json!(days_ago(days));
        self.0["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        self
    }

    /// Held by exactly these finalizers.
    pub(crate) fn held_by(mut self, finalizers: &[&str]) -> Self {
        self.0["metadata"]["finalizers"] = json!(finalizers);
        self
    }

    /// Its key in etcd, and itself.
    pub(crate) fn stored(self) -> (String, Value) {
        let name = self.0["metadata"]["name"].as_str().expect("because volumes have names");
        (format!("persistentvolumes/{name}"), self.0)
    }
}

/// The volume of a claim that is still there: both, bound to each other.
pub(crate) fn bound(volume: &Old, namespace: &str, name: &str) -> [(String, Value); 2] {
    let mut volume = volume.0.clone();
    let class = volume["spec"]["storageClassName"].as_str().unwrap_or_default().to_owned();
    volume["spec"]["claimRef"] = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name, "uid": uid(name),
    });
    volume["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] = json!("yes");
    let volume_name = volume["metadata"]["name"].as_str().expect("because volumes have names");
    let mut claim = claim(namespace, name, &class, volume_name);
    let size = &volume["spec"]["capacity"]["storage"];
    claim.1["spec"]["resources"]["requests"]["storage"] = size.clone();
    claim.1["status"]["capacity"]["storage"] = size.clone();
    [Old(volume).stored(), claim]
}

/// A claim that was bound to a volume.
pub(crate) fn claim(namespace: &str, name: &str, class: &str, volume: &str) -> (String, Value) {
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "namespace": namespace, "name": name, "uid": uid(name), "creationTimestamp": days_ago(AGE),
            "annotations": {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"},
            "finalizers": ["kubernetes.io/pvc-protection"],
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": class, "volumeMode": "Filesystem", "volumeName": volume,
        },
        "status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}},
    });
    (format!("persistentvolumeclaims/{namespace}/{name}"), claim)
}

pub(crate) fn namespace(name: &str) -> (String, Value) {
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {
            "name": name, "uid": uid(name), "creationTimestamp": days_ago(AGE),
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    });
    (format!("namespaces/{name}"), namespace)
}

/// A class of the driver that is installed.
pub(crate) fn class(name: &str, policy: &str, default: bool) -> (String, Value) {
    let class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {
            "name": name, "uid": uid(name), "creationTimestamp": days_ago(AGE),
            "annotations": {"storageclass.kubernetes.io/is-default-class": default.to_string()},
        },
        "provisioner": super::LIVE, "reclaimPolicy": policy, "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": true,
    });
    (format!("storageclasses/{name}"), class)
}

//! Objects as Kubernetes writes them.

use serde_json::{Map, Value, json};

use super::volumes::{Drawn, fields};

/// When everything was made that was always there.
pub(super) const COMMON_AGE: &str = "2026-06-01T12:00:00Z";

/// An object with what every object has.
pub(super) fn object(version: &str, kind: &str, namespace: &str, name: &str, rest: Value) -> Value {
    let mut object = fields(rest);
    object.insert("apiVersion".to_owned(), version.into());
    object.insert("kind".to_owned(), kind.into());
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    metadata["name"] = name.into();
    if !namespace.is_empty() {
        metadata["namespace"] = namespace.into();
    }
    metadata["uid"] = uid(kind, name).into();
    metadata["resourceVersion"] = "4711".into();
    if metadata.get("creationTimestamp").is_none() {
        metadata["creationTimestamp"] = COMMON_AGE.into();
    }
    Value::Object(object)
}

/// A uid that is always the same.
pub(super) fn uid(kind: &str, name: &str) -> String {
    let text = format!("{kind}/{name}")
        .bytes()
        .fold(7_u64, |sum, byte| sum.wrapping_mul(1_099_511_628_211).wrapping_add(u64::from(byte)));
    format!("{:08x}-0000-4000-8000-{:012x}", text >> 32, text & 0xffff_ffff)
}

/// A workload whose pods are like this.
pub(super) fn templated(kind: &str, name: &str, replicas: usize, spec: &Value) -> Value {
    let labels = json!({"app": name});
    let template = json!({"metadata": {"labels": labels}, "spec": spec});
    let selector = json!({"matchLabels": labels});
    match kind {
        "CronJob" => object(
            "batch/v1",
            kind,
            "shop",
            name,
            json!({
                "spec": {"schedule": "0 3 * * *", "suspend": true,
                    "jobTemplate": {"spec": {"template": template}}},
            }),
        ),
        "Job" => object(
            "batch/v1",
            kind,
            "shop",
            name,
            json!({
                "spec": {"template": template},
                "status": {"succeeded": 1, "completionTime": "2026-10-01T12:00:00Z",
                    "conditions": [{"type": "Complete", "status": "True"}]},
            }),
        ),
        "DaemonSet" => object(
            "apps/v1",
            kind,
            "shop",
            name,
            json!({
                "spec": {"selector": selector, "template": template},
            }),
        ),
        _ => object(
            "apps/v1",
            kind,
            "shop",
            name,
            json!({
                "spec": {"replicas": replicas, "selector": selector, "template": template,
                    "serviceName": name},
                "status": {"replicas": replicas, "readyReplicas": replicas,
                    "observedGeneration": 1},
            }),
        ),
    }
}

/// What a container of somebody's is like, beside a volume.
pub(super) fn pod_spec(volume: (&str, Value)) -> Value {
    let (kind, source) = volume;
    let mut of_pod = Map::new();
    of_pod.insert("name".to_owned(), "data".into());
    of_pod.insert(kind.to_owned(), source);
    json!({
        "volumes": [of_pod],
        "containers": [{"name": "main", "image": "registry.example.com/app:1"}],
    })
}

/// The claim of a volume.
pub(super) fn claim(number: usize) -> String {
    format!("claim-{number}")
}

/// The object of a volume.
pub(super) fn persistent_volume(drawn: &Drawn, is_released: bool, number: usize) -> Value {
    let phase = if is_released { "Released" } else { "Bound" };
    let since = "2026-10-01T12:00:00Z";
    let mut spec = json!({
        "accessModes": [drawn.access], "capacity": {"storage": "10Gi"},
        "persistentVolumeReclaimPolicy": "Retain", "storageClassName": drawn.class,
        "volumeMode": "Filesystem",
        "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "shop",
            "name": claim(number), "uid": uid("PersistentVolumeClaim", &claim(number))},
    });
    let (kind, source) = &drawn.source;
    spec[*kind] = source.clone();
    if let Some(node) = &drawn.node {
        let term = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]});
        spec["nodeAffinity"] =
            json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}});
    }
    object(
        "v1",
        "PersistentVolume",
        "",
        &format!("pvc-{number}"),
        json!({
            "metadata": {
                "creationTimestamp": "2026-08-01T12:00:00Z",
                "annotations": drawn.annotations, "labels": drawn.labels,
                "finalizers": ["kubernetes.io/pv-protection"],
                "managedFields": [{"apiVersion": "v1", "fieldsType": "FieldsV1", "operation": "Update",
                    "manager": "kube-controller-manager", "subresource": "status", "time": since,
                    "fieldsV1": {"f:status": {"f:phase": {}}}}],
            },
            "spec": spec,
            "status": {"phase": phase, "lastPhaseTransitionTime": since},
        }),
    )
}

//! The manifest of a placeholder volume.

use serde_json::{Map, Value, json};

use super::{Manifest, name, placeholder_claim_uid};
use crate::model::{BackendKey, NO_CLAIM, SecretAssertion};

/// The provisioner of a volume, which also deletes it (`pv_controller.go`,
/// `AnnDynamicallyProvisioned`).
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// The driver to which it was migrated (`pv_controller.go`, `AnnMigratedTo`).
const MIGRATED_TO: &str = "pv.kubernetes.io/migrated-to";
/// The Secret for `DeleteVolume` (external-provisioner `controller.go`).
const SECRET: [&str; 2] = [
    "volume.kubernetes.io/provisioner-deletion-secret-namespace",
    "volume.kubernetes.io/provisioner-deletion-secret-name",
];

/// Renders the manifest, from the volume object as it was or from the volume handle alone, and
/// returns it with the danger flags on which it relies.
///
/// # Errors
/// Why it cannot be rendered, as a reason to refuse.
pub fn manifest(
    saved: Option<&Value>,
    backend: &BackendKey,
    cluster: &str,
    secret: &SecretAssertion,
) -> Result<(Manifest, Vec<&'static str>), String> {
    let mut relies_on = Vec::new();
    let mut spec = saved.map_or_else(|| bare(backend), source_of);
    let mut annotations = saved.map_or_else(Map::new, annotations_of);
    let known = SECRET.iter().all(|it| annotations.contains_key(*it));
    let of_csi = spec.get("csi").is_some() || annotations.contains_key(MIGRATED_TO);
    if let Some((namespace, name)) = credentials(known, of_csi, secret, &mut relies_on)? {
        annotations.insert(SECRET[0].to_owned(), json!(namespace));
        annotations.insert(SECRET[1].to_owned(), json!(name));
    }
    if let Some(driver) = spec["csi"]["driver"].as_str()
        && !annotations.contains_key(PROVISIONED_BY)
    {
        annotations.insert(PROVISIONED_BY.to_owned(), json!(driver));
    }
    spec["persistentVolumeReclaimPolicy"] = json!("Delete");
    spec["storageClassName"] = json!("");
    spec["claimRef"] = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": NO_CLAIM.0,
        "name": NO_CLAIM.1, "uid": placeholder_claim_uid(cluster, backend),
    });
    let mut metadata = json!({"name": name(cluster, backend), "annotations": annotations});
    // For a zonal in-tree volume, only the labels have the zone.
    if let Some(labels) = saved.and_then(|it| it["metadata"].get("labels")) {
        metadata["labels"] = labels.clone();
    }
    let manifest = Manifest::read(json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec,
    }))?;
    if manifest.volume().backend.as_ref() != Some(backend) {
        return Err(
            "its saved manifest references another backend volume than the entry".to_owned()
        );
    }
    Ok((manifest, relies_on))
}

/// Returns the spec of a volume of which only the handle is known. It is never mounted: capacity
/// and access modes do not matter.
fn bare(backend: &BackendKey) -> Value {
    json!({
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": &*backend.driver, "volumeHandle": &*backend.handle},
    })
}

/// Returns the fields with which a driver finds the backend volume.
fn source_of(saved: &Value) -> Value {
    let mut spec = saved["spec"].clone();
    if let Some(spec) = spec.as_object_mut() {
        for field in ["claimRef", "volumeAttributesClassName", "mountOptions"] {
            spec.remove(field);
        }
    }
    spec
}

fn annotations_of(saved: &Value) -> Map<String, Value> {
    let all = &saved["metadata"]["annotations"];
    let wanted = [PROVISIONED_BY, MIGRATED_TO, SECRET[0], SECRET[1]];
    wanted.iter().filter_map(|it| Some(((*it).to_owned(), all.get(*it)?.clone()))).collect()
}

/// Returns the deletion Secret that the user names, by namespace and name, both empty for none;
/// `None` where the volume has one or needs none.
///
/// # Errors
/// When it is unknown, or given twice.
pub(super) fn credentials<'a>(
    known: bool,
    of_csi: bool,
    word: &'a SecretAssertion,
    relies_on: &mut Vec<&'static str>,
) -> Result<Option<(&'a str, &'a str)>, String> {
    match word {
        SecretAssertion::Unsaid if known || !of_csi => Ok(None),
        SecretAssertion::Unsaid => {
            Err("the Secret with which its driver deletes it is unknown: pass --secret \
                 NAMESPACE/NAME, or --no-secret if the driver needs none"
                .to_owned())
        }
        _ if known => Err("its deletion Secret is known: omit --secret and --no-secret".to_owned()),
        SecretAssertion::None => {
            relies_on.push("--no-secret");
            Ok(Some(("", "")))
        }
        SecretAssertion::Named { namespace, name } => Ok(Some((namespace, name))),
    }
}

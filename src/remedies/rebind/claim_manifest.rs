//! The claim that is created for a volume.

use serde_json::{Map, Value, json};

use crate::model::{Bytes, ClaimKey, Volume};

/// What is taken over of a claim that was deleted: labels and annotations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormerClaim {
    labels: Map<String, Value>,
    annotations: Map<String, Value>,
}

/// Controllers write what begins so, and have to write it anew.
const OF_CONTROLLERS: [&str; 3] =
    ["pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/"];

impl FormerClaim {
    /// Reads a claim as the API server returned it before it was deleted. Its owners are left out:
    /// they may not exist, and the garbage collector would delete the claim with them.
    pub fn of(saved: &Value) -> Self {
        let all = |field: &str| saved["metadata"][field].as_object().cloned().unwrap_or_default();
        let mut annotations = all("annotations");
        annotations.retain(|key, _| !OF_CONTROLLERS.iter().any(|it| key.starts_with(it)));
        Self { labels: all("labels"), annotations }
    }
}

/// Returns the manifest of a claim that fits a volume exactly.
///
/// # Errors
/// Why none would fit, as a reason to refuse.
pub fn of(volume: &Volume, key: &ClaimKey, former: Option<&FormerClaim>) -> Result<Value, String> {
    let modes = volume.access.modes;
    if modes.has_unknown() || modes.names().next().is_none() {
        return Err(format!("its access modes ({modes}) are none that a claim could have"));
    }
    let capacity = volume.capacity.filter(|it| *it > 0);
    let capacity = capacity.ok_or("its capacity is unknown, so the size of its claim is too")?;
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!(&*key.name));
    metadata.insert("namespace".to_owned(), json!(&*key.namespace));
    if let Some(FormerClaim { labels, annotations }) = former {
        for (field, map) in [("labels", labels), ("annotations", annotations)] {
            if !map.is_empty() {
                metadata.insert(field.to_owned(), Value::Object(map.clone()));
            }
        }
    }
    let mut spec = json!({
        "accessModes": modes.names().collect::<Vec<_>>(),
        "volumeMode": volume.access.volume_mode(),
        "resources": {"requests": {"storage": quantity(capacity)}},
        // An absent class would become the default class.
        "storageClassName": volume.class.as_deref().unwrap_or_default(),
        "volumeName": volume.name(),
    });
    if let Some(class) = &volume.attributes_class {
        spec["volumeAttributesClassName"] = json!(&**class);
    }
    Ok(json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec,
    }))
}

/// Returns a number of bytes as a quantity, without rounding.
fn quantity(bytes: Bytes) -> String {
    let units = [("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
    let unit = units.into_iter().find(|(_, shift)| bytes.trailing_zeros() >= *shift);
    unit.map_or_else(|| bytes.to_string(), |(unit, shift)| format!("{}{unit}", bytes >> shift))
}

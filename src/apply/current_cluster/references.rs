//! The objects that an object references, from its JSON.

use serde_json::Value;

use crate::model::{Kind, ObjectKey};

/// Returns the objects that an object references and that are read again with it, because a
/// decision about it rests on them.
pub(super) fn references(kind: Kind, live: &Value) -> Vec<ObjectKey> {
    let cluster_wide =
        |kind, name: &Value| name.as_str().map(|name| ObjectKey::cluster_wide(kind, name));
    match kind {
        Kind::PersistentVolume => claim_of(live).into_iter().collect(),
        Kind::PersistentVolumeClaim => {
            cluster_wide(Kind::PersistentVolume, &live["spec"]["volumeName"]).into_iter().collect()
        }
        Kind::VolumeAttachment => {
            let volume = &live["spec"]["source"]["persistentVolumeName"];
            let volume = cluster_wide(Kind::PersistentVolume, volume);
            volume.into_iter().chain(cluster_wide(Kind::Node, &live["spec"]["nodeName"])).collect()
        }
        Kind::VolumeSnapshot => {
            let content = &live["status"]["boundVolumeSnapshotContentName"];
            cluster_wide(Kind::VolumeSnapshotContent, content).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the claim that a volume references.
pub(in crate::apply) fn claim_of(live: &Value) -> Option<ObjectKey> {
    let claim = live["spec"].get("claimRef")?;
    Some(ObjectKey {
        kind: Kind::PersistentVolumeClaim,
        namespace: Some(claim["namespace"].as_str()?.into()),
        name: claim["name"].as_str()?.into(),
    })
}

//! The format of the record of kept backend volumes in the cluster: version 1.
//!
//! What must outlive this machine is also in a `ConfigMap`, [`CONFIG_MAP`]: one key for each
//! backend volume ([`key`]), whose value is a [`KeptBackendRecord`] as JSON. It contains the fields
//! of the volume that are needed to create it again (P-RECREATE-PV and P-TOMBSTONE,
//! semantics#requests), and names of Secrets, never their contents. Unknown fields are left alone.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{Backend, Entry, History};
use crate::model::{
    BackendKey, ClaimKey, JournalEntryNumber, JournalPlace, KeptBackend, Recorded, Time, Uid,
    format_time, parse_quantity, parse_time,
};

/// The name of the `ConfigMap`; `--record-namespace` chooses its namespace.
pub const CONFIG_MAP: &str = "kubectl-storage-kept-backends";
/// Version of the shape of values.
const VERSION: u32 = 1;
/// Number of bytes of a hash in a key: enough that no two backend volumes have the same key.
const KEY_BYTES: usize = 16;
/// Annotations that a recreated volume needs: they decide which controller deletes it, and with
/// which Secret.
const ANNOTATIONS: [&str; 4] = [
    "pv.kubernetes.io/provisioned-by",
    "pv.kubernetes.io/migrated-to",
    "volume.kubernetes.io/provisioner-deletion-secret-name",
    "volume.kubernetes.io/provisioner-deletion-secret-namespace",
];
/// The prefix of this tool's own annotations: they forbid actions, and must be kept.
const OURS: &str = "storage.kubectl.dev/";

/// The record of one backend volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptBackendRecord {
    /// Version of this shape.
    pub version: u32,
    /// The CSI driver, or the kind of source.
    pub driver: String,
    /// The volume handle.
    pub handle: String,
    /// The name of the volume that referenced it.
    pub volume: String,
    /// The uid of the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// `namespace/name` of the claim to which it was bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// The storage class of the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<String>,
    /// `spec.capacity.storage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<String>,
    /// `spec.persistentVolumeReclaimPolicy`.
    #[serde(default)]
    pub reclaim_policy: String,
    /// Time when the record was written, by the API server's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_at: Option<String>,
    /// The id of the run that wrote it.
    #[serde(default)]
    pub run: String,
    /// The journal entry on the machine that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
    /// The fields of the volume that are needed to create it again.
    #[serde(default)]
    pub manifest: Value,
}

impl KeptBackendRecord {
    /// Returns the record of the backend volume of a volume as it was just read.
    pub fn of(backend: &Backend, live: &Value, run: &str, at: Option<Time>) -> Self {
        let metadata = &live["metadata"];
        let spec = &live["spec"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Self {
            version: VERSION,
            driver: backend.driver.clone(),
            handle: backend.handle.clone(),
            volume: text(&metadata["name"]).unwrap_or_default(),
            uid: text(&metadata["uid"]),
            claim: claim(spec).map(|it| it.to_string()),
            storage_class: text(&spec["storageClassName"]),
            capacity: text(&spec["capacity"]["storage"]),
            reclaim_policy: text(&spec["persistentVolumeReclaimPolicy"]).unwrap_or_default(),
            kept_at: at.as_ref().map(format_time),
            run: run.to_owned(),
            entry: None,
            manifest: manifest(live),
        }
    }

    /// Returns the key of the record in the `ConfigMap`.
    pub fn key(&self) -> String {
        key(&self.driver, &self.handle)
    }

    /// Parses a value of the `ConfigMap`.
    ///
    /// # Errors
    /// Why it is no record, or one of a newer version.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match value["version"].as_u64() {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => return Err(format!("it is of version {version}")),
            None => return Err("it has no version".to_owned()),
        }
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    /// Returns the kept backend volume that the record describes.
    pub fn backend(&self) -> KeptBackend {
        let claim = self.claim.as_deref().and_then(|it| it.split_once('/'));
        KeptBackend {
            backend: BackendKey {
                driver: self.driver.as_str().into(),
                handle: self.handle.as_str().into(),
            },
            volume: self.volume.as_str().into(),
            uid: self.uid.as_deref().and_then(Uid::parse),
            claim: claim.map(|(namespace, name)| ClaimKey {
                namespace: namespace.into(),
                name: name.into(),
            }),
            class: self.storage_class.as_deref().filter(|it| !it.is_empty()).map(Into::into),
            capacity: self.capacity.as_deref().and_then(parse_quantity),
            since: self.kept_at.as_deref().and_then(|it| parse_time(it).ok().flatten()),
            recorded: Recorded::Cluster,
            entry: None,
        }
    }
}

impl History {
    /// Returns the backend volumes of the entries that [`kept`](Self::kept) returns.
    pub fn kept_backends(&self) -> impl Iterator<Item = KeptBackend> {
        self.kept().into_iter().filter_map(|it| it.kept_backend(&self.place))
    }
}

impl Entry {
    /// Returns the backend volume that the entry kept, if it kept one, by the journal in this place.
    fn kept_backend(&self, place: &JournalPlace) -> Option<KeptBackend> {
        let backend = self.intent.backend.as_ref().filter(|_| self.intent.keeps)?;
        let spec = &self.intent.pre_image.as_ref().unwrap_or(&Value::Null)["spec"];
        let capacity = self.intent.capacity.as_deref();
        let class = spec["storageClassName"].as_str();
        Some(KeptBackend {
            backend: BackendKey {
                driver: backend.driver.as_str().into(),
                handle: backend.handle.as_str().into(),
            },
            volume: self.intent.object.key.name.clone(),
            uid: self.intent.object.uid.clone(),
            claim: claim(spec),
            class: class.filter(|it| !it.is_empty()).map(Into::into),
            capacity: spec["capacity"]["storage"].as_str().or(capacity).and_then(parse_quantity),
            since: self.at,
            recorded: Recorded::Journal,
            entry: Some(JournalEntryNumber { place: place.clone(), sequence: self.sequence }),
        })
    }
}

/// Returns the key of a backend volume: handles contain characters that keys of a `ConfigMap` must
/// not.
pub fn key(driver: &str, handle: &str) -> String {
    let digest = Sha256::new_with_prefix(driver).chain_update([0]).chain_update(handle).finalize();
    let mut text = String::with_capacity(2 * KEY_BYTES);
    for byte in digest.iter().take(KEY_BYTES) {
        write!(text, "{byte:02x}").expect("because a text takes everything");
    }
    text
}

fn claim(spec: &Value) -> Option<ClaimKey> {
    let claim = spec.get("claimRef")?;
    Some(ClaimKey {
        namespace: claim["namespace"].as_str()?.into(),
        name: claim["name"].as_str()?.into(),
    })
}

/// Returns the fields of a volume that are needed to create it again.
fn manifest(live: &Value) -> Value {
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), live["metadata"]["name"].clone());
    if let Some(labels) = live["metadata"].get("labels") {
        metadata.insert("labels".to_owned(), labels.clone());
    }
    let of = |key: &str| ANNOTATIONS.contains(&key) || key.starts_with(OURS);
    let annotations = live["metadata"]["annotations"].as_object().into_iter().flatten();
    let annotations: Map<_, _> = annotations
        .filter(|(key, _)| of(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if !annotations.is_empty() {
        metadata.insert("annotations".to_owned(), annotations.into());
    }
    let mut spec = live["spec"].clone();
    if let Some(claim) = spec.get_mut("claimRef").and_then(Value::as_object_mut) {
        claim.remove("resourceVersion");
    }
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live() -> Value {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {
                "name": "pv-1", "uid": "493c02a7-f4e6-5ec4-8e0b-fc87ae581be5", "resourceVersion": "7",
                "labels": {"team": "a"}, "managedFields": [{"manager": "m"}],
                "annotations": {
                    "pv.kubernetes.io/provisioned-by": "d.example",
                    "pv.kubernetes.io/bound-by-controller": "yes",
                    "storage.kubectl.dev/backend-state": "unknown",
                    "kubectl.kubernetes.io/last-applied-configuration": "{}",
                },
                "finalizers": ["kubernetes.io/pv-protection"],
            },
            "spec": {
                "capacity": {"storage": "10Gi"}, "storageClassName": "fast",
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": "shop", "name": "data", "uid": "u", "resourceVersion": "5"},
                "csi": {"driver": "d.example", "volumeHandle": "h/1"},
            },
            "status": {"phase": "Released"},
        })
    }

    fn record() -> KeptBackendRecord {
        let backend = Backend { driver: "d.example".to_owned(), handle: "h/1".to_owned() };
        let at = Time::from_timestamp(1_800_000_000, 0);
        KeptBackendRecord::of(&backend, &live(), "run", at)
    }

    #[test]
    fn a_record_holds_what_writing_the_volume_down_again_needs_and_nothing_else() {
        let manifest = record().manifest;
        assert_eq!(manifest["spec"]["csi"], live()["spec"]["csi"]);
        assert_eq!(manifest["spec"]["claimRef"]["uid"], "u");
        assert!(manifest["spec"]["claimRef"].get("resourceVersion").is_none());
        assert_eq!(
            manifest["metadata"],
            json!({
                "name": "pv-1", "labels": {"team": "a"}, "annotations": {
                    "pv.kubernetes.io/provisioned-by": "d.example",
                    "storage.kubectl.dev/backend-state": "unknown",
                },
            })
        );
        assert!(manifest.get("status").is_none());
    }

    #[test]
    fn a_record_comes_back_as_the_backend_that_was_kept() {
        let text = serde_json::to_string(&record()).expect("it has a JSON form");
        let read = KeptBackendRecord::parse(&text).expect("it is one of ours");
        assert_eq!(read, record());
        let kept = read.backend();
        assert_eq!(kept.object().to_string(), "pv/pv-1");
        assert_eq!(kept.claim.map(|it| it.to_string()).as_deref(), Some("shop/data"));
        assert_eq!((kept.capacity, kept.class.as_deref()), (Some(10 << 30), Some("fast")));
        assert_eq!(kept.since, Time::from_timestamp(1_800_000_000, 0));
    }

    #[test]
    fn a_value_that_is_not_ours_says_what_is_wrong_with_it() {
        for (text, wrong) in [
            ("{", "EOF"),
            ("[]", "no version"),
            (r#"{"driver": "d"}"#, "no version"),
            (r#"{"version": 2}"#, "of version 2"),
            (r#"{"version": 1}"#, "driver"),
        ] {
            let error = KeptBackendRecord::parse(text).expect_err("none of ours");
            assert!(error.contains(wrong), "{text}: {error}");
        }
    }

    #[test]
    fn a_key_is_one_that_a_config_map_takes_and_tells_driver_from_handle() {
        let (one, other) = (key("a", "bc"), key("ab", "c"));
        assert_ne!(one, other);
        assert!(one.len() == 32 && one.chars().all(|c| c.is_ascii_hexdigit()), "{one}");
        assert_eq!(record().key(), key("d.example", "h/1"));
    }
}

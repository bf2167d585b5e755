//! `ManagedFields`: `metadata.managedFields`, reduced while it is decoded to the few fields that
//! are judged.

use std::{collections::BTreeMap, fmt, sync::LazyLock};

use bytes::{Buf, BufMut};
use memchr::memmem::Finder;
use prost::{
    DecodeError, Message,
    encoding::{self, DecodeContext, WireType, message},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value, json};

use super::Folder;
use super::slim::{Timestamp, slim};
use crate::model::{self, FieldManager, ManagedField};
/// Whether a kind stores `metadata.managedFields`.
pub trait KeepManagedFields:
    Clone + fmt::Debug + Default + PartialEq + Send + Sync + Serialize + de::DeserializeOwned + 'static
{
    /// Reads one entry in protobuf.
    #[doc(hidden)]
    fn merge(
        &mut self,
        wire_type: WireType,
        tag: u32,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError>;

    /// Returns the stored entries.
    fn entries(&self) -> &[ManagedFieldsEntry];
}

/// Form of `metadata.managedFields` that stores nothing, and skips the entries without parsing them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct NoManagedFields;

impl KeepManagedFields for NoManagedFields {
    fn merge(
        &mut self,
        wire_type: WireType,
        tag: u32,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        encoding::skip_field(wire_type, tag, buf, ctx)
    }

    fn entries(&self) -> &[ManagedFieldsEntry] {
        &[]
    }
}

impl<'de> Deserialize<'de> for NoManagedFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// Form of `metadata.managedFields` that stores the entries that own one of the fields of [`FieldsV1`].
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ManagedFields(Vec<ManagedFieldsEntry>);

impl ManagedFields {
    fn keep(&mut self, entry: ManagedFieldsEntry) {
        if !entry.fields_v1.0.is_empty() {
            self.0.push(entry);
        }
    }
}

impl KeepManagedFields for ManagedFields {
    fn merge(
        &mut self,
        wire_type: WireType,
        _: u32,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        let mut entry = ManagedFieldsEntry::default();
        message::merge(wire_type, &mut entry, buf, ctx)?;
        self.keep(entry);
        Ok(())
    }

    fn entries(&self) -> &[ManagedFieldsEntry] {
        &self.0
    }
}

impl<'de> Deserialize<'de> for ManagedFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ManagedFieldsVisitor;
        impl<'de> de::Visitor<'de> for ManagedFieldsVisitor {
            type Value = ManagedFields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of managed fields")
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut kept = ManagedFields::default();
                while let Some(entry) = seq.next_element()? {
                    kept.keep(entry);
                }
                Ok(kept)
            }
        }
        deserializer.deserialize_seq(ManagedFieldsVisitor)
    }
}

slim! {
    /// One entry of `metadata.managedFields`.
    pub struct ManagedFieldsEntry {
        /// The manager.
        #[prost(string, tag = "1")]
        pub manager: String,
        /// `Update` or `Apply`.
        #[prost(string, tag = "2")]
        pub operation: String,
        /// Time at which the manager last changed a field that it owns.
        #[prost(message, required, tag = "4")]
        pub time: Timestamp,
        /// Type of the fields: `FieldsV1`.
        #[prost(string, tag = "6")]
        pub fields_type: String,
        /// The fields that the manager owns.
        #[prost(message, required, tag = "7")]
        pub fields_v1: FieldsV1,
        /// `status`, if the manager wrote that subresource.
        #[prost(string, tag = "8")]
        pub subresource: String,
    }
}

/// Returns the managers of the stored fields.
pub(super) fn fold(entries: &[ManagedFieldsEntry], folder: &mut Folder) -> model::FieldManagers {
    let mut owners = Vec::with_capacity(entries.len());
    for entry in entries {
        let manager = folder.text(&entry.manager);
        let time = entry.time.fold_present("metadata.managedFields[].time", folder);
        for field in &entry.fields_v1.0 {
            let field = match field {
                KeptField::Phase => ManagedField::Phase,
                KeptField::LastPhaseTransitionTime => ManagedField::LastPhaseTransitionTime,
                KeptField::ReclaimPolicy => ManagedField::ReclaimPolicy,
                KeptField::ClaimRef => ManagedField::ClaimRef,
                KeptField::ClaimUid => ManagedField::ClaimUid,
                KeptField::Finalizer(name) => ManagedField::Finalizer(folder.text(name)),
                KeptField::OwnerReferences => ManagedField::OwnerReferences,
                KeptField::RetentionPolicy => ManagedField::RetentionPolicy,
                KeptField::Replicas => ManagedField::Replicas,
                KeptField::Ordinals => ManagedField::Ordinals,
                KeptField::ObservedGeneration => ManagedField::ObservedGeneration,
            };
            let owner = FieldManager { field, manager: manager.clone() };
            owners.push((folder.owner(owner), time));
        }
    }
    owners.into_iter().collect()
}

/// A set of fields in the form of `FieldsV1`, without those that are not judged: sorted, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldsV1(Vec<KeptField>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum KeptField {
    Phase,
    LastPhaseTransitionTime,
    ReclaimPolicy,
    ClaimRef,
    ClaimUid,
    Finalizer(String),
    OwnerReferences,
    RetentionPolicy,
    Replicas,
    Ordinals,
    ObservedGeneration,
}

const PHASE: &str = "f:phase";
const LAST_TRANSITION: &str = "f:lastPhaseTransitionTime";
const RECLAIM_POLICY: &str = "f:persistentVolumeReclaimPolicy";
const CLAIM_REF: &str = "f:claimRef";
const RETENTION_POLICY: &str = "f:persistentVolumeClaimRetentionPolicy";
const FINALIZERS: &str = "f:finalizers";
const OWNER_REFERENCES: &str = "f:ownerReferences";
const REPLICAS: &str = "f:replicas";
const ORDINALS: &str = "f:ordinals";
const OBSERVED_GENERATION: &str = "f:observedGeneration";
const NAMES: [&str; 10] = [
    PHASE,
    LAST_TRANSITION,
    RECLAIM_POLICY,
    CLAIM_REF,
    RETENTION_POLICY,
    FINALIZERS,
    OWNER_REFERENCES,
    REPLICAS,
    ORDINALS,
    OBSERVED_GENERATION,
];

impl FieldsV1 {
    /// Parses the JSON that protobuf carries, if it can hold one of these fields.
    fn read(raw: &[u8]) -> Result<Self, serde_json::Error> {
        // Most entries have hundreds of fields, and none of these.
        static FINDERS: LazyLock<[Finder<'static>; NAMES.len()]> =
            LazyLock::new(|| NAMES.map(Finder::new));
        let may_matter = FINDERS.iter().any(|name| name.find(raw).is_some());
        if may_matter { serde_json::from_slice(raw) } else { Ok(Self::default()) }
    }

    fn json(&self) -> Value {
        let mut root: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
        let mut finalizers = Map::new();
        for field in &self.0 {
            let (parent, name) = match field {
                KeptField::Phase => ("f:status", PHASE),
                KeptField::LastPhaseTransitionTime => ("f:status", LAST_TRANSITION),
                KeptField::ReclaimPolicy => ("f:spec", RECLAIM_POLICY),
                KeptField::ClaimRef => ("f:spec", CLAIM_REF),
                KeptField::RetentionPolicy => ("f:spec", RETENTION_POLICY),
                KeptField::ClaimUid => {
                    let fields = json!({"f:uid": {}});
                    root.entry("f:spec").or_default().insert(CLAIM_REF.to_owned(), fields);
                    continue;
                }
                KeptField::Replicas => ("f:spec", REPLICAS),
                KeptField::Ordinals => ("f:spec", ORDINALS),
                KeptField::ObservedGeneration => ("f:status", OBSERVED_GENERATION),
                KeptField::OwnerReferences => ("f:metadata", OWNER_REFERENCES),
                KeptField::Finalizer(name) => {
                    finalizers.insert(format!("v:{}", json!(name)), json!({}));
                    continue;
                }
            };
            root.entry(parent).or_default().insert(name.to_owned(), Map::new().into());
        }
        if !finalizers.is_empty() {
            root.entry("f:metadata").or_default().insert(FINALIZERS.to_owned(), finalizers.into());
        }
        root.into_iter().map(|(parent, fields)| (parent.to_owned(), Value::from(fields))).collect()
    }
}

impl Serialize for FieldsV1 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FieldsV1 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct FieldsRoot {
            #[serde(rename = "f:metadata")]
            metadata: Option<MetadataFields>,
            #[serde(rename = "f:spec")]
            spec: Option<SpecFields>,
            #[serde(rename = "f:status")]
            status: Option<StatusFields>,
        }
        #[derive(Deserialize)]
        struct MetadataFields {
            #[serde(rename = "f:finalizers")]
            finalizers: Option<Finalizers>,
            #[serde(rename = "f:ownerReferences")]
            owner_references: Option<de::IgnoredAny>,
        }
        #[derive(Deserialize)]
        struct SpecFields {
            #[serde(rename = "f:persistentVolumeReclaimPolicy")]
            reclaim_policy: Option<de::IgnoredAny>,
            #[serde(rename = "f:claimRef")]
            claim_ref: Option<ClaimRefFields>,
            #[serde(rename = "f:persistentVolumeClaimRetentionPolicy")]
            retention_policy: Option<de::IgnoredAny>,
            #[serde(rename = "f:replicas")]
            replicas: Option<de::IgnoredAny>,
            #[serde(rename = "f:ordinals")]
            ordinals: Option<de::IgnoredAny>,
        }
        #[derive(Deserialize)]
        struct ClaimRefFields {
            #[serde(rename = "f:uid")]
            uid: Option<de::IgnoredAny>,
        }
        #[derive(Deserialize)]
        struct StatusFields {
            #[serde(rename = "f:phase")]
            phase: Option<de::IgnoredAny>,
            #[serde(rename = "f:lastPhaseTransitionTime")]
            last_transition: Option<de::IgnoredAny>,
            #[serde(rename = "f:observedGeneration")]
            observed_generation: Option<de::IgnoredAny>,
        }
        let root = FieldsRoot::deserialize(super::slim::OnlyObjects(deserializer))?;
        let mut fields = Vec::new();
        let mut keep = |found: Option<de::IgnoredAny>, field| fields.extend(found.map(|_| field));
        if let Some(status) = root.status {
            keep(status.phase, KeptField::Phase);
            keep(status.last_transition, KeptField::LastPhaseTransitionTime);
            keep(status.observed_generation, KeptField::ObservedGeneration);
        }
        if let Some(spec) = root.spec {
            keep(spec.reclaim_policy, KeptField::ReclaimPolicy);
            keep(spec.claim_ref.as_ref().map(|_| de::IgnoredAny), KeptField::ClaimRef);
            keep(spec.claim_ref.and_then(|it| it.uid), KeptField::ClaimUid);
            keep(spec.retention_policy, KeptField::RetentionPolicy);
            keep(spec.replicas, KeptField::Replicas);
            keep(spec.ordinals, KeptField::Ordinals);
        }
        if let Some(metadata) = root.metadata {
            keep(metadata.owner_references, KeptField::OwnerReferences);
            fields.extend(metadata.finalizers.into_iter().flat_map(|found| found.0));
        }
        fields.sort_unstable();
        fields.dedup();
        Ok(Self(fields))
    }
}

/// The finalizers in a set such as `{".": {}, "v:\"example.com/protection\"": {}}`.
struct Finalizers(Vec<KeptField>);

impl<'de> Deserialize<'de> for Finalizers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FinalizersVisitor;
        impl<'de> de::Visitor<'de> for FinalizersVisitor {
            type Value = Finalizers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a set of finalizers")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Finalizers, A::Error> {
                let mut found = Vec::new();
                while let Some((key, _)) = map.next_entry::<String, de::IgnoredAny>()? {
                    if let Some(value) = key.strip_prefix("v:") {
                        let name = serde_json::from_str(value).map_err(de::Error::custom)?;
                        found.push(KeptField::Finalizer(name));
                    }
                }
                Ok(Finalizers(found))
            }
        }
        deserializer.deserialize_map(FinalizersVisitor)
    }
}

/// Protobuf form of `FieldsV1`: one field of bytes that hold JSON.
impl Message for FieldsV1 {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        encoding::string::encode(1, &self.json().to_string(), buf);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        if tag != 1 {
            return encoding::skip_field(wire_type, tag, buf, ctx);
        }
        encoding::check_wire_type(WireType::LengthDelimited, wire_type)?;
        let len = usize::try_from(encoding::decode_varint(buf)?).unwrap_or(usize::MAX);
        let read = if let Some(raw) = buf.chunk().get(..len) {
            let read = Self::read(raw);
            buf.advance(len);
            read
        } else if len <= buf.remaining() {
            Self::read(&buf.copy_to_bytes(len))
        } else {
            return Err(malformed(&"it ends early"));
        };
        *self = read.map_err(|error| malformed(&error))?;
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        encoding::string::encoded_len(1, &self.json().to_string())
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// Returns a `DecodeError` with a message, for which prost has no other way yet.
#[expect(deprecated, reason = "prost intends to replace it, and has not yet")]
fn malformed(problem: &dyn fmt::Display) -> DecodeError {
    DecodeError::new(format!("metadata.managedFields[].fieldsV1: {problem}"))
}

//! `PersistentVolumeClaim`, `StorageClass` and `VolumeAttributesClass`.

use std::collections::BTreeMap;

use bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, bool, message, skip_field, string};
use prost::{DecodeError, Message};
use serde::{Deserialize, Serialize};

use super::meta::LabelSelector;
use super::slim::{
    AllowList, Entries, Quantity, Timestamp, is_default, only_objects, or_default, slim, storage,
};
use super::{Folded, Folder, ManagedMeta, ObjectMeta, SlimObject, meta, unshared};
use crate::model::{Access, AccessModes, Claim, ClaimCondition, ClaimPhase, DataSource, Row};
use crate::{drivers, model};

slim! {
    /// A `PersistentVolumeClaim`.
    pub struct PersistentVolumeClaim {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ManagedMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: PersistentVolumeClaimSpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: PersistentVolumeClaimStatus,
    }

    /// `spec` of a claim.
    pub struct PersistentVolumeClaimSpec {
        /// The ways in which the claim is to be mounted.
        #[prost(string, repeated, tag = "1")]
        pub access_modes: Vec<String>,
        /// The requested size.
        #[prost(message, required, tag = "2")]
        pub resources: VolumeResourceRequirements,
        /// The volume to which the claim is bound.
        #[prost(string, tag = "3")]
        pub volume_name: String,
        /// The labels of the volumes for which the claim asks.
        #[prost(message, optional, tag = "4")]
        pub selector: Option<LabelSelector>,
        /// `Filesystem` or `Block`.
        #[prost(string, optional, tag = "6")]
        pub volume_mode: Option<String>,
        /// The requested StorageClass; empty is not the same as absent.
        #[prost(string, optional, tag = "5")]
        pub storage_class_name: Option<String>,
        /// The source of the claim's data, in the older form.
        #[prost(message, optional, tag = "7")]
        pub data_source: Option<TypedReference>,
        /// The source of the claim's data.
        #[prost(message, optional, tag = "8")]
        pub data_source_ref: Option<TypedReference>,
        /// The requested `VolumeAttributesClass`.
        #[prost(string, optional, tag = "9")]
        pub volume_attributes_class_name: Option<String>,
    }

    /// A reference to an object of any kind.
    pub struct TypedReference {
        /// API group of the object.
        #[prost(string, optional, tag = "1")]
        pub api_group: Option<String>,
        /// Kind.
        #[prost(string, tag = "2")]
        pub kind: String,
        /// Name.
        #[prost(string, tag = "3")]
        pub name: String,
        /// Namespace, if it is not that of the claim.
        #[prost(string, optional, tag = "4")]
        pub namespace: Option<String>,
    }

    /// The requested size of a claim.
    pub struct VolumeResourceRequirements {
        /// The size, under `storage`.
        #[prost(btree_map = "string, message", tag = "2")]
        pub requests: BTreeMap<String, Quantity>,
    }

    /// `status` of a claim.
    pub struct PersistentVolumeClaimStatus {
        /// Phase.
        #[prost(string, tag = "1")]
        pub phase: String,
        /// The capacity, under `storage`.
        #[prost(btree_map = "string, message", tag = "3")]
        pub capacity: BTreeMap<String, Quantity>,
        /// Conditions.
        #[prost(message, repeated, tag = "4")]
        pub conditions: Vec<PersistentVolumeClaimCondition>,
        /// The state of an expansion, under `storage`.
        #[prost(btree_map = "string, string", tag = "7")]
        pub allocated_resource_statuses: BTreeMap<String, String>,
    }

    /// A condition of a claim.
    pub struct PersistentVolumeClaimCondition {
        /// Type.
        #[prost(string, tag = "1")]
        pub r#type: String,
        /// `True`, `False` or `Unknown`.
        #[prost(string, tag = "2")]
        pub status: String,
        /// Time of the last change of the status.
        #[prost(message, required, tag = "4")]
        pub last_transition_time: Timestamp,
        /// The reason of the status.
        #[prost(string, tag = "5")]
        pub reason: String,
        /// A message that explains the status.
        #[prost(string, tag = "6")]
        pub message: String,
    }
}

impl PersistentVolumeClaimCondition {
    fn fold(&self, folder: &mut Folder) -> ClaimCondition {
        ClaimCondition {
            kind: folder.text(&self.r#type),
            holds: self.status == "True",
            since: self.last_transition_time.fold("status.conditions[].lastTransitionTime", folder),
            reason: folder.text(&self.reason),
            message: self.message.as_str().into(),
        }
    }
}

/// Returns the source of a claim's data. The API server keeps both forms equal where both can
/// express the source.
fn source(spec: &PersistentVolumeClaimSpec, folder: &mut Folder) -> Option<Box<DataSource>> {
    let reference = spec.data_source_ref.as_ref().or(spec.data_source.as_ref())?;
    Some(Box::new(DataSource {
        group: folder.text(reference.api_group.as_deref().unwrap_or_default()),
        kind: folder.text(&reference.kind),
        namespace: folder.non_empty(reference.namespace.as_deref().unwrap_or_default()),
        name: reference.name.as_str().into(),
    }))
}

impl SlimObject for PersistentVolumeClaim {
    fn lacks(&self) -> Option<&'static str> {
        (self.spec == PersistentVolumeClaimSpec::default()).then_some("spec")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, spec, status } = self;
        let mut row = Claim {
            metadata: metadata.fold(folder),
            namespace: folder.text(&metadata.namespace),
            phase: match status.phase.as_str() {
                "" | "Pending" => ClaimPhase::Pending,
                "Bound" => ClaimPhase::Bound,
                "Lost" => ClaimPhase::Lost,
                other => ClaimPhase::Other(folder.text(other)),
            },
            volume_name: unshared(&spec.volume_name),
            class: spec.storage_class_name.as_ref().map(|class| folder.text(class)),
            access: Access {
                modes: AccessModes::of(&spec.access_modes),
                is_block: spec.volume_mode.as_deref() == Some("Block"),
            },
            selector: spec.selector.as_ref().map(|it| Box::new(it.fold())),
            bind_completed: metadata.annotation(meta::BIND_COMPLETED).is_some(),
            requested: storage(&spec.resources.requests, "spec.resources.requests.storage", folder),
            capacity: storage(&status.capacity, "status.capacity.storage", folder),
            selected_node: metadata
                .annotation(meta::SELECTED_NODE)
                .and_then(|node| folder.non_empty(node)),
            provisioner: metadata
                .annotation(meta::STORAGE_PROVISIONER)
                .or_else(|| metadata.annotation(meta::BETA_STORAGE_PROVISIONER))
                .and_then(|driver| folder.non_empty(driver)),
            source: source(spec, folder),
            attributes_class: spec
                .volume_attributes_class_name
                .as_deref()
                .and_then(|class| folder.non_empty(class)),
            resize_status: status
                .allocated_resource_statuses
                .get("storage")
                .and_then(|status| folder.non_empty(status)),
            conditions: status.conditions.iter().map(|condition| condition.fold(folder)).collect(),
        };
        for condition in &mut row.conditions {
            condition.since = condition.since.map(|since| row.metadata.since_creation(since));
        }
        Folded::Row(Row::Claim(Box::new(row)))
    }
}

/// A `StorageClass`. Its protobuf form is written by hand, since most parameters are not stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct StorageClass {
    /// Metadata.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub metadata: ObjectMeta,
    /// The provisioner of the class's volumes.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub provisioner: String,
    /// The parameters that decide what deletion of the class's volumes does.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub parameters: Entries<ClassParameters>,
    /// The reclaim policy of the class's volumes.
    #[serde(skip_serializing_if = "is_default")]
    pub reclaim_policy: Option<String>,
    /// Whether claims of the class can be expanded.
    #[serde(skip_serializing_if = "is_default")]
    pub allow_volume_expansion: Option<bool>,
    /// The time at which volumes of the class are provisioned and bound.
    #[serde(skip_serializing_if = "is_default")]
    pub volume_binding_mode: Option<String>,
}

only_objects!(StorageClass);

/// Allows the parameters that decide what any known driver deletes. Others may hold passwords.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClassParameters;

impl AllowList for ClassParameters {
    fn allows(key: &str) -> bool {
        drivers::is_class_parameter(key)
    }
}

impl Message for StorageClass {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        message::encode(1, &self.metadata, buf);
        string::encode(2, &self.provisioner, buf);
        self.parameters.encode(3, buf);
        if let Some(policy) = &self.reclaim_policy {
            string::encode(4, policy, buf);
        }
        if let Some(allowed) = &self.allow_volume_expansion {
            bool::encode(6, allowed, buf);
        }
        if let Some(mode) = &self.volume_binding_mode {
            string::encode(7, mode, buf);
        }
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            1 => message::merge(wire_type, &mut self.metadata, buf, ctx),
            2 => string::merge(wire_type, &mut self.provisioner, buf, ctx),
            3 => self.parameters.merge(wire_type, buf, ctx),
            4 => string::merge(wire_type, self.reclaim_policy.get_or_insert_default(), buf, ctx),
            6 => {
                let allowed = self.allow_volume_expansion.get_or_insert_default();
                bool::merge(wire_type, allowed, buf, ctx)
            }
            7 => {
                string::merge(wire_type, self.volume_binding_mode.get_or_insert_default(), buf, ctx)
            }
            _ => skip_field(wire_type, tag, buf, ctx),
        }
    }

    fn encoded_len(&self) -> usize {
        let text =
            |tag, it: &Option<String>| it.as_ref().map_or(0, |it| string::encoded_len(tag, it));
        message::encoded_len(1, &self.metadata)
            + string::encoded_len(2, &self.provisioner)
            + self.parameters.encoded_len(3)
            + text(4, &self.reclaim_policy)
            + self.allow_volume_expansion.as_ref().map_or(0, |it| bool::encoded_len(6, it))
            + text(7, &self.volume_binding_mode)
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

slim! {
    /// A `VolumeAttributesClass`.
    pub struct VolumeAttributesClass {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The driver to which the class applies.
        #[prost(string, tag = "2")]
        pub driver_name: String,
    }
}

impl SlimObject for StorageClass {
    fn lacks(&self) -> Option<&'static str> {
        self.provisioner.is_empty().then_some("provisioner")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let row = model::StorageClass {
            metadata: self.metadata.fold(folder),
            provisioner: folder.text(&self.provisioner),
            parameters: self
                .parameters
                .iter()
                .map(|(key, value)| (folder.text(key), folder.text(value)))
                .collect(),
            reclaim_policy: self.reclaim_policy.as_ref().map(|policy| folder.text(policy)),
            is_default: [meta::DEFAULT_CLASS, meta::BETA_DEFAULT_CLASS]
                .iter()
                .any(|key| self.metadata.annotation(key) == Some("true")),
            waits_for_consumer: self.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer"),
            allows_expansion: self.allow_volume_expansion == Some(true),
        };
        Folded::Row(Row::Class(Box::new(row)))
    }
}

impl SlimObject for VolumeAttributesClass {
    fn lacks(&self) -> Option<&'static str> {
        self.driver_name.is_empty().then_some("driverName")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let row = model::AttributesClass {
            metadata: self.metadata.fold(folder),
            driver: folder.text(&self.driver_name),
        };
        Folded::Row(Row::AttributesClass(Box::new(row)))
    }
}

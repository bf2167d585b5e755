//! `PersistentVolumeClaim`.

use std::collections::BTreeMap;

use super::{
    Folded, Folder, ManagedMeta, SlimObject,
    label_selector::LabelSelector,
    meta,
    scalar::{Quantity, Timestamp, storage},
    slim::slim,
    unshared,
};
use crate::model::{Access, AccessModes, Claim, ClaimCondition, ClaimPhase, DataSource, Row};

slim! {
    /// A `PersistentVolumeClaim`.
    pub struct PersistentVolumeClaim {
        /// Its metadata.
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
        /// How it is to be mounted.
        #[prost(string, repeated, tag = "1")]
        pub access_modes: Vec<String>,
        /// The requested size.
        #[prost(message, required, tag = "2")]
        pub resources: VolumeResourceRequirements,
        /// The volume that it is bound to.
        #[prost(string, tag = "3")]
        pub volume_name: String,
        /// The labels of the volumes that it asks for.
        #[prost(message, optional, tag = "4")]
        pub selector: Option<LabelSelector>,
        /// `Filesystem` or `Block`.
        #[prost(string, optional, tag = "6")]
        pub volume_mode: Option<String>,
        /// The requested StorageClass; empty is not the same as absent.
        #[prost(string, optional, tag = "5")]
        pub storage_class_name: Option<String>,
        /// The source of its data, in the older form.
        #[prost(message, optional, tag = "7")]
        pub data_source: Option<TypedReference>,
        /// The source of its data.
        #[prost(message, optional, tag = "8")]
        pub data_source_ref: Option<TypedReference>,
        /// The requested `VolumeAttributesClass`.
        #[prost(string, optional, tag = "9")]
        pub volume_attributes_class_name: Option<String>,
    }

    /// A reference to an object of any kind.
    pub struct TypedReference {
        /// Its API group.
        #[prost(string, optional, tag = "1")]
        pub api_group: Option<String>,
        /// Its kind.
        #[prost(string, tag = "2")]
        pub kind: String,
        /// Its name.
        #[prost(string, tag = "3")]
        pub name: String,
        /// Its namespace, if it is not that of the claim.
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
        /// Its phase.
        #[prost(string, tag = "1")]
        pub phase: String,
        /// The capacity, under `storage`.
        #[prost(btree_map = "string, message", tag = "3")]
        pub capacity: BTreeMap<String, Quantity>,
        /// Its conditions.
        #[prost(message, repeated, tag = "4")]
        pub conditions: Vec<PersistentVolumeClaimCondition>,
        /// The state of an expansion, under `storage`.
        #[prost(btree_map = "string, string", tag = "7")]
        pub allocated_resource_statuses: BTreeMap<String, String>,
    }

    /// A condition of a claim.
    pub struct PersistentVolumeClaimCondition {
        /// Its type.
        #[prost(string, tag = "1")]
        pub r#type: String,
        /// `True`, `False` or `Unknown`.
        #[prost(string, tag = "2")]
        pub status: String,
        /// When its status last changed.
        #[prost(message, required, tag = "4")]
        pub last_transition_time: Timestamp,
        /// The reason of its status.
        #[prost(string, tag = "5")]
        pub reason: String,
        /// A message that explains its status.
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

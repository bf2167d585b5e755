//! Persistent volume claims, storage classes, and snapshots of volumes and of groups of volumes.

use std::fmt;

use super::{
    Access, BackendKey, Bytes, ClaimKey, Kind, Metadata, ObjectRef, Selector, Text, Time, Uid,
    migrated_driver,
};

/// A `PersistentVolumeClaim`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Name, uid, finalizers, owners.
    pub metadata: Metadata,
    /// Namespace of the claim.
    pub namespace: Text,
    /// `status.phase`.
    pub phase: ClaimPhase,
    /// `spec.volumeName`, when set.
    pub volume_name: Option<Box<str>>,
    /// `spec.storageClassName`; `None` when absent, empty when the claim asks for no class.
    pub class: Option<Text>,
    /// `spec.accessModes` and `spec.volumeMode`.
    pub access: Access,
    /// `spec.selector`: the labels of the volumes for which the claim asks.
    pub selector: Option<Box<Selector>>,
    /// Annotation `pv.kubernetes.io/bind-completed` is present.
    pub bind_completed: bool,
    /// `spec.resources.requests.storage`.
    pub requested: Option<Bytes>,
    /// `status.capacity.storage`.
    pub capacity: Option<Bytes>,
    /// Annotation `volume.kubernetes.io/selected-node`.
    pub selected_node: Option<Text>,
    /// Annotation `volume.kubernetes.io/storage-provisioner`, or its beta twin.
    pub provisioner: Option<Text>,
    /// `spec.dataSourceRef`, else `spec.dataSource`.
    pub source: Option<Box<DataSource>>,
    /// `spec.volumeAttributesClassName`.
    pub attributes_class: Option<Text>,
    /// `status.allocatedResourceStatuses.storage`: the progress of a resize.
    pub resize_status: Option<Text>,
    /// `status.conditions`.
    pub conditions: Box<[ClaimCondition]>,
}

/// Source of the data with which a claim is to be filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSource {
    /// `apiGroup`, empty for the core group.
    pub group: Text,
    /// `kind`, any kind at all.
    pub kind: Text,
    /// `namespace`, where it is not that of the claim.
    pub namespace: Option<Text>,
    /// `name`.
    pub name: Box<str>,
}

/// One of `status.conditions` of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimCondition {
    /// `type`: `Resizing`, `FileSystemResizePending`, `Unused`…
    pub kind: Text,
    /// Whether `status` is `True`.
    pub holds: bool,
    /// `lastTransitionTime`.
    pub since: Option<Time>,
    /// `reason`.
    pub reason: Text,
    /// `message`.
    pub message: Box<str>,
}

impl Claim {
    /// Returns a condition that holds.
    pub fn condition(&self, kind: &str) -> Option<&ClaimCondition> {
        self.conditions.iter().find(|it| it.holds && &*it.kind == kind)
    }

    /// Returns the driver that provisions for it, if that is known: one that was migrated from the tree by its new name.
    pub fn driver(&self) -> Option<&str> {
        let name = self.provisioner.as_deref()?;
        Some(migrated_driver(name).unwrap_or(name))
    }

    /// Whether it was ever bound: where its volume is gone, it has lost it, and does not wait for it.
    pub fn was_bound(&self) -> bool {
        self.bind_completed || self.phase == ClaimPhase::Lost
    }

    /// Returns the namespace and name of the claim.
    pub fn key(&self) -> ClaimKey {
        ClaimKey { namespace: Text::clone(&self.namespace), name: self.metadata.name.clone() }
    }

    /// Returns the reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// `status.phase` of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimPhase {
    Pending,
    Bound,
    Lost,
    /// A phase that this version does not know.
    Other(Text),
}

impl fmt::Display for ClaimPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "Pending",
            Self::Bound => "Bound",
            Self::Lost => "Lost",
            Self::Other(text) => text,
        })
    }
}

/// A `StorageClass`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageClass {
    /// Name, annotations.
    pub metadata: Metadata,
    /// `provisioner`.
    pub provisioner: Text,
    /// `reclaimPolicy`; the API server fills in `Delete`.
    pub reclaim_policy: Option<Text>,
    /// Annotation `storageclass.kubernetes.io/is-default-class`, or its beta twin, is `true`.
    pub is_default: bool,
    /// `volumeBindingMode` is `WaitForFirstConsumer`.
    pub waits_for_consumer: bool,
    /// The `parameters` that decide what deletion of the class's volumes does.
    pub parameters: Box<[(Text, Text)]>,
    /// `allowVolumeExpansion`.
    pub allows_expansion: bool,
}

impl StorageClass {
    /// Returns the reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// A `VolumeAttributesClass`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributesClass {
    /// Name, finalizers, deletion.
    pub metadata: Metadata,
    /// `driverName`.
    pub driver: Text,
}

impl AttributesClass {
    /// Returns the reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// A `VolumeSnapshotContent` or `VolumeGroupSnapshotContent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotContent {
    /// Kind of the content.
    pub kind: Kind,
    /// Name.
    pub metadata: Metadata,
    /// `spec.driver`.
    pub driver: Text,
    /// The volumes from which the snapshot was, or is being, taken.
    pub source: SnapshotSource,
    /// Namespace and name of the snapshot to which the content belongs.
    pub snapshot: Option<(Text, Box<str>)>,
    /// The uid of that snapshot; absent as long as the content is bound to none.
    pub snapshot_uid: Option<Uid>,
    /// `status.readyToUse`; absent means not yet.
    pub ready: bool,
    /// Annotation `snapshot.storage.kubernetes.io/volumesnapshot-being-created` is present.
    pub being_created: bool,
    /// `spec.deletionPolicy`.
    pub deletion_policy: Option<Text>,
    /// `status.snapshotHandle`, else that of the source: the handle of the snapshot at the storage system.
    pub handle: Option<Box<str>>,
    /// `status.restoreSize`, in bytes.
    pub size: Option<Bytes>,
}

impl SnapshotContent {
    /// Whether the storage backend may still be reading the source volume.
    pub fn in_progress(&self) -> bool {
        !self.ready || self.being_created
    }

    /// Returns the backend volumes from which the snapshot was, or is being, taken.
    pub fn backends(&self) -> impl Iterator<Item = BackendKey> {
        let handles: &[Box<str>] = match &self.source {
            SnapshotSource::Volumes(handles) => handles,
            SnapshotSource::Existing => &[],
        };
        handles.iter().map(|handle| BackendKey {
            driver: Text::clone(&self.driver),
            handle: (**handle).into(),
        })
    }

    /// Returns the reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// The annotation of a `VolumeSnapshot` that this tool creates: the uid of its claim, whose name
/// another claim may have later.
pub const SNAPSHOT_CLAIM_UID: &str = "storage.kubectl.dev/claim-uid";

/// A `VolumeSnapshot`: the namespaced object of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeSnapshot {
    /// Name, finalizers.
    pub metadata: Metadata,
    /// Namespace of the snapshot.
    pub namespace: Text,
    /// `spec.source.persistentVolumeClaimName`; `None` when the snapshot is of an existing content.
    pub source_claim: Option<Box<str>>,
    /// `status.boundVolumeSnapshotContentName`.
    pub content: Option<Box<str>>,
    /// `status.readyToUse`; absent means not yet.
    pub ready: bool,
    /// `status.error.message`.
    pub error: Option<Box<str>>,
    /// Annotation `storage.kubectl.dev/claim-uid`: this tool took it of the claim with this uid.
    pub taken_of: Option<Uid>,
}

impl VolumeSnapshot {
    /// Returns the reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// A `VolumeSnapshotClass`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotClass {
    /// Name.
    pub metadata: Metadata,
    /// `driver`.
    pub driver: Text,
    /// `deletionPolicy`: `Delete` or `Retain`, which the contents of snapshots of the class get.
    pub deletion_policy: Option<Text>,
    /// Annotation `snapshot.storage.kubernetes.io/is-default-class` is `true`.
    pub is_default: bool,
}

impl SnapshotClass {
    /// Returns the reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// The source of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotSource {
    /// Taken from these volumes: one, or the members of a group.
    Volumes(Box<[Box<str>]>),
    /// Statically provisioned from an existing snapshot; references no volume.
    Existing,
}

#[cfg(test)]
impl Claim {
    /// Returns a claim that is bound, with nothing else to be said of it.
    pub(crate) fn sample() -> Self {
        Self {
            metadata: Metadata::default(),
            namespace: "shop".into(),
            phase: ClaimPhase::Bound,
            volume_name: None,
            class: None,
            access: Access::default(),
            selector: None,
            bind_completed: true,
            requested: None,
            capacity: None,
            selected_node: None,
            provisioner: None,
            source: None,
            attributes_class: None,
            resize_status: None,
            conditions: Box::default(),
        }
    }
}

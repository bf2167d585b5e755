//! Snapshots of volumes, and of groups of volumes.

use super::{BackendKey, Bytes, Kind, Metadata, ObjectRef, Text, Uid};

/// A `VolumeSnapshotContent` or `VolumeGroupSnapshotContent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotContent {
    /// Which of the two.
    pub kind: Kind,
    /// Name.
    pub metadata: Metadata,
    /// `spec.driver`.
    pub driver: Text,
    /// What it was, or is being, taken from.
    pub source: SnapshotSource,
    /// Namespace and name of the snapshot that it belongs to.
    pub snapshot: Option<(Text, Box<str>)>,
    /// The uid of that snapshot; absent as long as the content is bound to none.
    pub snapshot_uid: Option<Uid>,
    /// `status.readyToUse`; absent means not yet.
    pub ready: bool,
    /// Annotation `snapshot.storage.kubernetes.io/volumesnapshot-being-created` is present.
    pub being_created: bool,
    /// `spec.deletionPolicy`.
    pub deletion_policy: Option<Text>,
    /// `status.snapshotHandle`, else that of the source: its handle at the storage system.
    pub handle: Option<Box<str>>,
    /// `status.restoreSize`, in bytes.
    pub size: Option<Bytes>,
}

impl SnapshotContent {
    /// Whether the storage backend may still be reading the source volume.
    pub fn in_progress(&self) -> bool {
        !self.ready || self.being_created
    }

    /// Returns the backend volumes that it was, or is being, taken from.
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

    /// The reference that reports print.
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
    /// Its namespace.
    pub namespace: Text,
    /// `spec.source.persistentVolumeClaimName`; `None` when it is of an existing content.
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
    /// The reference that reports print.
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
    /// `deletionPolicy`: `Delete` or `Retain`, which the contents of its snapshots get.
    pub deletion_policy: Option<Text>,
    /// Annotation `snapshot.storage.kubernetes.io/is-default-class` is `true`.
    pub is_default: bool,
}

impl SnapshotClass {
    /// The reference that reports print.
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

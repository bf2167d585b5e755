//! `VolumeSnapshot`, `VolumeSnapshotContent` and `VolumeGroupSnapshotContent`. Custom resources are
//! served as JSON only; the tags are those of external-snapshotter's types.

use super::meta::ObjectReference;
use super::slim::slim;
use super::{Folded, Folder, ObjectMeta, SlimObject, meta, unshared};
use crate::model::{
    self, Bytes, Kind, Row, SNAPSHOT_CLAIM_UID, SnapshotContent, SnapshotSource, Text, Uid,
};

slim! {
    /// A `VolumeSnapshot` (v1).
    pub struct VolumeSnapshot {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: VolumeSnapshotSpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: VolumeSnapshotStatus,
    }

    /// `spec` of a `VolumeSnapshot`.
    pub struct VolumeSnapshotSpec {
        /// The source of the snapshot.
        #[prost(message, required, tag = "1")]
        pub source: VolumeSnapshotSource,
    }

    /// The source of a `VolumeSnapshot`: one of these fields is set.
    pub struct VolumeSnapshotSource {
        /// The claim of which the snapshot is taken.
        #[prost(string, optional, tag = "1")]
        pub persistent_volume_claim_name: Option<String>,
        /// The `VolumeSnapshotContent` that exists already.
        #[prost(string, optional, tag = "2")]
        pub volume_snapshot_content_name: Option<String>,
    }

    /// `status` of a `VolumeSnapshot`.
    pub struct VolumeSnapshotStatus {
        /// The `VolumeSnapshotContent` of the snapshot.
        #[prost(string, optional, tag = "1")]
        pub bound_volume_snapshot_content_name: Option<String>,
        /// Whether a volume can be restored from the snapshot.
        #[prost(bool, optional, tag = "3")]
        pub ready_to_use: Option<bool>,
        /// The last error.
        #[prost(message, optional, tag = "5")]
        pub error: Option<VolumeSnapshotError>,
    }

    /// The last error of a snapshot.
    pub struct VolumeSnapshotError {
        /// The message.
        #[prost(string, optional, tag = "2")]
        pub message: Option<String>,
    }

    /// A `VolumeSnapshotContent` (v1).
    pub struct VolumeSnapshotContent {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: VolumeSnapshotContentSpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: SnapshotStatus,
    }

    /// `spec` of a `VolumeSnapshotContent`.
    pub struct VolumeSnapshotContentSpec {
        /// The `VolumeSnapshot` to which the content belongs.
        #[prost(message, optional, tag = "1")]
        pub volume_snapshot_ref: Option<ObjectReference>,
        /// Policy for the deletion of the `VolumeSnapshot`: `Delete` or `Retain`.
        #[prost(string, tag = "2")]
        pub deletion_policy: String,
        /// The driver.
        #[prost(string, tag = "3")]
        pub driver: String,
        /// The source of the snapshot.
        #[prost(message, required, tag = "5")]
        pub source: VolumeSnapshotContentSource,
    }

    /// The source of a `VolumeSnapshotContent`: one of these fields is set.
    pub struct VolumeSnapshotContentSource {
        /// The volume handle of the volume of which the snapshot is taken.
        #[prost(string, optional, tag = "1")]
        pub volume_handle: Option<String>,
        /// The handle of a snapshot that exists already.
        #[prost(string, optional, tag = "2")]
        pub snapshot_handle: Option<String>,
    }

    /// `status` of a `VolumeSnapshotContent` or `VolumeGroupSnapshotContent`.
    pub struct SnapshotStatus {
        /// The handle of the snapshot at the storage backend.
        #[prost(string, optional, tag = "1")]
        pub snapshot_handle: Option<String>,
        /// The smallest size of a volume that is restored from the snapshot, in bytes.
        #[prost(int64, optional, tag = "3")]
        pub restore_size: Option<i64>,
        /// Whether a volume can be restored from the snapshot.
        #[prost(bool, optional, tag = "4")]
        pub ready_to_use: Option<bool>,
    }

    /// A `VolumeGroupSnapshotContent`. The fields that are read are the same in v1beta1, v1beta2
    /// and v1.
    pub struct VolumeGroupSnapshotContent {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: VolumeGroupSnapshotContentSpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: SnapshotStatus,
    }

    /// `spec` of a `VolumeGroupSnapshotContent`.
    pub struct VolumeGroupSnapshotContentSpec {
        /// The `VolumeGroupSnapshot` to which the content belongs.
        #[prost(message, optional, tag = "1")]
        pub volume_group_snapshot_ref: Option<ObjectReference>,
        /// Policy for the deletion of the `VolumeGroupSnapshot`: `Delete` or `Retain`.
        #[prost(string, tag = "2")]
        pub deletion_policy: String,
        /// The driver.
        #[prost(string, tag = "3")]
        pub driver: String,
        /// The source of the snapshot.
        #[prost(message, required, tag = "5")]
        pub source: VolumeGroupSnapshotContentSource,
    }

    /// The source of a `VolumeGroupSnapshotContent`: one of these fields is set.
    pub struct VolumeGroupSnapshotContentSource {
        /// The volume handles of the volumes of which the snapshot is taken.
        #[prost(string, repeated, tag = "1")]
        pub volume_handles: Vec<String>,
        /// The handles of a group snapshot that exists already.
        #[prost(message, optional, tag = "2")]
        pub group_snapshot_handles: Option<super::slim::Present>,
    }
}

slim! {
    /// A `VolumeSnapshotClass` (v1). Its parameters are not read: they can name Secrets.
    pub struct VolumeSnapshotClass {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The driver that takes snapshots of the class.
        #[prost(string, tag = "2")]
        pub driver: String,
        /// Deletion policy: `Delete` or `Retain`.
        #[prost(string, tag = "4")]
        pub deletion_policy: String,
    }
}

impl SlimObject for VolumeSnapshotClass {
    fn lacks(&self) -> Option<&'static str> {
        self.driver.is_empty().then_some("driver")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, driver, deletion_policy } = self;
        let row = model::SnapshotClass {
            metadata: metadata.fold(folder),
            driver: folder.text(driver),
            deletion_policy: folder.non_empty(deletion_policy),
            is_default: metadata.annotation(meta::DEFAULT_SNAPSHOT_CLASS) == Some("true"),
        };
        Folded::Row(Row::SnapshotClass(Box::new(row)))
    }
}

impl SlimObject for VolumeSnapshotContent {
    fn lacks(&self) -> Option<&'static str> {
        self.spec.driver.is_empty().then_some("spec.driver")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, spec, status } = self;
        let row = SnapshotContent {
            kind: Kind::VolumeSnapshotContent,
            metadata: metadata.fold(folder),
            driver: folder.text(&spec.driver),
            source: match (&spec.source.volume_handle, &spec.source.snapshot_handle) {
                (None, Some(_)) => SnapshotSource::Existing,
                (volume, _) => SnapshotSource::Volumes(handles(volume)),
            },
            snapshot: belongs_to(spec.volume_snapshot_ref.as_ref(), folder),
            snapshot_uid: uid_of(spec.volume_snapshot_ref.as_ref()),
            ready: status.ready_to_use == Some(true),
            being_created: metadata.annotation(meta::SNAPSHOT_BEING_CREATED).is_some(),
            deletion_policy: folder.non_empty(&spec.deletion_policy),
            handle: status
                .snapshot_handle
                .as_ref()
                .or(spec.source.snapshot_handle.as_ref())
                .map(|handle| handle.as_str().into()),
            size: size(status),
        };
        Folded::Row(Row::Snapshot(Box::new(row)))
    }
}

impl SlimObject for VolumeGroupSnapshotContent {
    fn lacks(&self) -> Option<&'static str> {
        self.spec.driver.is_empty().then_some("spec.driver")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, spec, status } = self;
        let exists = spec.source.group_snapshot_handles.is_some();
        let row = SnapshotContent {
            kind: Kind::VolumeGroupSnapshotContent,
            metadata: metadata.fold(folder),
            driver: folder.text(&spec.driver),
            source: if exists && spec.source.volume_handles.is_empty() {
                SnapshotSource::Existing
            } else {
                SnapshotSource::Volumes(handles(&spec.source.volume_handles))
            },
            snapshot: belongs_to(spec.volume_group_snapshot_ref.as_ref(), folder),
            snapshot_uid: uid_of(spec.volume_group_snapshot_ref.as_ref()),
            ready: status.ready_to_use == Some(true),
            being_created: metadata.annotation(meta::GROUP_BEING_CREATED).is_some(),
            deletion_policy: folder.non_empty(&spec.deletion_policy),
            handle: None,
            size: size(status),
        };
        Folded::Row(Row::Snapshot(Box::new(row)))
    }
}

impl SlimObject for VolumeSnapshot {
    fn lacks(&self) -> Option<&'static str> {
        let source = &self.spec.source;
        let names = source.persistent_volume_claim_name.is_some()
            || source.volume_snapshot_content_name.is_some();
        (!names).then_some("spec.source")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, spec, status } = self;
        let kept = |text: &Option<String>| text.as_deref().and_then(unshared);
        let row = model::VolumeSnapshot {
            metadata: metadata.fold(folder),
            namespace: folder.text(&metadata.namespace),
            source_claim: kept(&spec.source.persistent_volume_claim_name),
            content: kept(&status.bound_volume_snapshot_content_name),
            ready: status.ready_to_use == Some(true),
            error: status.error.as_ref().and_then(|error| kept(&error.message)),
            taken_of: metadata.annotation(SNAPSHOT_CLAIM_UID).and_then(Uid::parse),
        };
        Folded::Row(Row::VolumeSnapshot(Box::new(row)))
    }
}

fn size(status: &SnapshotStatus) -> Option<Bytes> {
    status.restore_size.and_then(|size| Bytes::try_from(size).ok())
}

fn handles<'a>(handles: impl IntoIterator<Item = &'a String>) -> Box<[Box<str>]> {
    handles.into_iter().map(|handle| handle.as_str().into()).collect()
}

fn belongs_to(
    reference: Option<&ObjectReference>,
    folder: &mut Folder,
) -> Option<(Text, Box<str>)> {
    let reference = reference.filter(|reference| !reference.name.is_empty())?;
    Some((folder.text(&reference.namespace), reference.name.as_str().into()))
}

fn uid_of(reference: Option<&ObjectReference>) -> Option<Uid> {
    reference.and_then(|reference| Uid::parse(&reference.uid))
}

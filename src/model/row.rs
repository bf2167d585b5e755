//! Rows: objects, reduced to what judgements rest on, and the other things of which a cluster consists.

use super::{
    AdmissionObject, Answer, Attachment, AttributesClass, Autoscaler, Claim, CsiDriver, CsiNode,
    Event, InventoryDisk, KeptBackend, Kind, Lease, Metadata, Namespace, Node, ObjectKey, PodUse,
    Question, Sighting, SnapshotClass, SnapshotContent, StatefulSet, StorageClass, Text, Uid,
    Volume, VolumeSnapshot, Workload,
};

/// The place of a row in its table.
pub type ObjectId = u32;

/// Calls a macro with one line for each type of row that is an object: the name of its table, its
/// variant of [`Row`], its type, its kinds, and its fields that hold namespace and name.
///
/// A new kind of object begins with a line here. The compiler then asks for what has to be decided
/// about it: `cluster::rows` says by which indexes its rows are found, and which subjects they bear
/// on.
macro_rules! for_each_row {
    ($call:ident) => {
        $call! {
            volumes: Volume(Volume) [PersistentVolume] metadata;
            claims: Claim(Claim) [PersistentVolumeClaim] namespace metadata;
            pods: Pod(PodUse) [Pod] namespace name;
            workloads: Workload(Workload) [
                StatefulSet Deployment ReplicaSet DaemonSet ReplicationController Job CronJob
            ] namespace name;
            autoscalers: Autoscaler(Autoscaler) [HorizontalPodAutoscaler] namespace name;
            nodes: Node(Node) [Node] metadata;
            classes: Class(StorageClass) [StorageClass] metadata;
            attributes_classes: AttributesClass(AttributesClass) [VolumeAttributesClass] metadata;
            csi_drivers: CsiDriver(CsiDriver) [CsiDriver] metadata;
            csi_nodes: CsiNode(CsiNode) [CsiNode] metadata;
            attachments: Attachment(Attachment) [VolumeAttachment] metadata;
            leases: Lease(Lease) [Lease] namespace metadata;
            events: Event(Event) [Event] namespace name;
            volume_snapshots: VolumeSnapshot(VolumeSnapshot) [VolumeSnapshot] namespace metadata;
            snapshots: Snapshot(SnapshotContent) [
                VolumeSnapshotContent VolumeGroupSnapshotContent
            ] metadata;
            snapshot_classes: SnapshotClass(SnapshotClass) [VolumeSnapshotClass] metadata;
            namespaces: Namespace(Namespace) [Namespace] metadata;
            admission_objects: AdmissionObject(AdmissionObject) [
                ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
            ] metadata;
            inventory_disks: InventoryDisk(InventoryDisk) [
                LonghornVolume LvmVolume ZfsVolume TopoLvmVolume LegacyTopoLvmVolume DirectPvVolume
                TridentVolume
            ] scoped name;
        }
    };
}
pub(crate) use for_each_row;

/// A row that is an object: it has a kind and a name, and for most kinds a namespace.
pub trait NamedRow {
    /// Returns the kind of the object.
    fn kind(&self) -> Kind;

    /// Returns the namespace of the object, `None` for cluster-wide kinds.
    fn namespace(&self) -> Option<&Text>;

    /// Returns the name of the object.
    fn name(&self) -> &str;

    /// Returns the metadata of the object, for types of row that keep it.
    fn metadata(&self) -> Option<&Metadata>;

    /// Returns kind, namespace (empty for cluster-wide kinds) and name, as tables and indexes compare them.
    fn identity(&self) -> (Kind, &str, &str) {
        (self.kind(), self.namespace().map_or("", |namespace| namespace), self.name())
    }

    /// Returns kind, namespace and name.
    fn object_key(&self) -> ObjectKey {
        ObjectKey {
            kind: self.kind(),
            namespace: self.namespace().cloned(),
            name: self.name().into(),
        }
    }
}

/// Implements [`NamedRow`] for a row by its kinds and the fields that name it.
macro_rules! identify {
    ($row:ident [$($kind:ident)+] $($field:ident)+) => {
        impl NamedRow for $row {
            fn kind(&self) -> Kind {
                identify!(kind of self: $($kind)+)
            }

            fn namespace(&self) -> Option<&Text> {
                identify!(namespace of self: $($field)+)
            }

            fn name(&self) -> &str {
                identify!(name of self: $($field)+)
            }

            fn metadata(&self) -> Option<&Metadata> {
                identify!(metadata of self: $($field)+)
            }
        }
    };
    (kind of $row:ident: $kind:ident) => { Kind::$kind };
    (kind of $row:ident: $($kind:ident)+) => { $row.kind };
    (namespace of $row:ident: namespace $name:ident) => { Some(&$row.namespace) };
    (namespace of $row:ident: scoped $name:ident) => { $row.namespace.as_ref() };
    (namespace of $row:ident: $name:ident) => { None };
    (name of $row:ident: $(namespace)? metadata) => { &$row.metadata.name };
    (name of $row:ident: $(namespace)? $(scoped)? name) => { &$row.name };
    (metadata of $row:ident: $(namespace)? metadata) => { Some(&$row.metadata) };
    (metadata of $row:ident: $(namespace)? $(scoped)? name) => { None };
}

// It has no table: it is part of the row of its workload.
identify!(StatefulSet [StatefulSet] namespace metadata);

macro_rules! declare_rows {
    ($($table:ident: $variant:ident($row:ident) [$($kind:ident)+] $($field:ident)+;)+) => {
        /// One object, reduced to what judgements rest on, or one answer or record.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Row {
            $($variant(Box<$row>),)+
            /// The answer to a question about a single object.
            Answer(Question, Answer),
            /// An absent controller, as an earlier run recorded it.
            Sighting(Sighting),
            /// A kept backend volume, as one of its records describes it.
            Kept(Box<KeptBackend>),
            /// A finalizer that this tool added to a volume, according to the journal.
            AddedFinalizer(Uid, Text),
        }

        impl Row {
            /// Returns kind, namespace and name of the object; `None` for answers and records.
            pub fn key(&self) -> Option<ObjectKey> {
                match self {
                    $(Self::$variant(row) => Some(row.object_key()),)+
                    Self::Answer(..)
                    | Self::Sighting(_)
                    | Self::Kept(_)
                    | Self::AddedFinalizer(..) => None,
                }
            }
        }

        $(identify!($row [$($kind)+] $($field)+);)+
    };
}

for_each_row!(declare_rows);

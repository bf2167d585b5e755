//! The disks of storage systems that keep their inventory in the cluster. Custom resources are served as JSON only; the
//! tags are ours.
//!
//! A state that is not known to mean that a disk is free means that it is held.

use super::slim::{Quantity, Timestamp, slim};
use super::{Folded, Folder, ObjectMeta, SlimObject, unshared};
use crate::model::{
    Attributes, Bytes, ClaimKey, InventoryDisk, Kind, Metadata, Row, Text, parse_quantity,
};

slim! {
    /// A `Volume` of Longhorn (v1beta2; of v1beta1 these fields are the same).
    pub struct LonghornVolume {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: LonghornSpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: LonghornStatus,
    }

    /// `spec` of a volume of Longhorn.
    pub struct LonghornSpec {
        /// Bytes, as a text.
        #[prost(message, required, tag = "1")]
        pub size: Quantity,
        /// The node to which it is to be attached.
        #[prost(string, tag = "2")]
        #[serde(rename = "nodeID")]
        pub node_id: String,
        /// The node to which it is to be migrated.
        #[prost(string, tag = "3")]
        #[serde(rename = "migrationNodeID")]
        pub migration_node_id: String,
        /// Whether it follows the backups of another cluster.
        #[prost(bool, tag = "4")]
        #[serde(rename = "Standby")]
        pub standby: bool,
        /// The backup from which it was restored.
        #[prost(string, tag = "5")]
        pub from_backup: String,
        /// What it was cloned from: `vol://VOLUME` or `snap://VOLUME/SNAPSHOT`.
        #[prost(string, tag = "6")]
        pub data_source: String,
    }

    /// `status` of a volume of Longhorn.
    pub struct LonghornStatus {
        /// Whether it is attached.
        #[prost(string, tag = "1")]
        pub state: String,
        /// The node to which it is attached.
        #[prost(string, tag = "2")]
        #[serde(rename = "currentNodeID")]
        pub current_node_id: String,
        /// The node that looks after it.
        #[prost(string, tag = "3")]
        #[serde(rename = "ownerID")]
        pub owner_id: String,
        /// Whether it follows the backups of another cluster.
        #[prost(bool, tag = "4")]
        pub is_standby: bool,
        /// Whether its data has yet to be restored.
        #[prost(bool, tag = "5")]
        pub restore_required: bool,
        /// The progress of its cloning.
        #[prost(message, required, tag = "6")]
        pub clone_status: LonghornClone,
        /// The objects for which it was made.
        #[prost(message, required, tag = "7")]
        pub kubernetes_status: LonghornUse,
    }

    /// The progress of a clone.
    pub struct LonghornClone {
        /// Empty where it was not cloned.
        #[prost(string, tag = "1")]
        pub state: String,
    }

    /// The objects for which a volume of Longhorn was made.
    pub struct LonghornUse {
        /// The `PersistentVolume`; empty once that is deleted.
        #[prost(string, tag = "1")]
        pub pv_name: String,
        /// The namespace of the claim.
        #[prost(string, tag = "2")]
        pub namespace: String,
        /// The claim.
        #[prost(string, tag = "3")]
        pub pvc_name: String,
        /// The time at which the last pod ended that used it.
        #[prost(message, required, tag = "4")]
        pub last_pod_ref_at: Timestamp,
    }

    /// An `LVMVolume` of OpenEBS.
    pub struct LvmVolume {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: OpenEbsSpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: OpenEbsStatus,
    }

    /// A `ZFSVolume` of OpenEBS.
    pub struct ZfsVolume {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: OpenEbsSpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: OpenEbsStatus,
    }

    /// `spec` of an `LVMVolume` or a `ZFSVolume`.
    pub struct OpenEbsSpec {
        /// The node that has it.
        #[prost(string, tag = "1")]
        #[serde(rename = "ownerNodeID")]
        pub owner_node_id: String,
        /// Its volume group.
        #[prost(string, tag = "2")]
        pub vol_group: String,
        /// Its pool, or a dataset in that.
        #[prost(string, tag = "3")]
        pub pool_name: String,
        /// Bytes, as a text.
        #[prost(message, required, tag = "4")]
        pub capacity: Quantity,
        /// What it was cloned from: `VOLUME@SNAPSHOT`.
        #[prost(string, tag = "5")]
        pub snapname: String,
    }

    /// `status` of an `LVMVolume` or a `ZFSVolume`.
    pub struct OpenEbsStatus {
        /// Whether it was made.
        #[prost(string, tag = "1")]
        pub state: String,
    }

    /// `spec` of a `LogicalVolume`.
    pub struct TopoLvmSpec {
        /// The node that has it.
        #[prost(string, tag = "1")]
        pub node_name: String,
        /// The class of its volume group.
        #[prost(string, tag = "2")]
        pub device_class: String,
        /// Its size.
        #[prost(message, required, tag = "3")]
        pub size: Quantity,
        /// The name of the `LogicalVolume` of which it is a snapshot.
        #[prost(string, tag = "4")]
        pub source: String,
        /// `ro` of a snapshot, and `rw` of a clone.
        #[prost(string, tag = "5")]
        pub access_type: String,
    }

    /// `status` of a `LogicalVolume`.
    pub struct TopoLvmStatus {
        /// The handle; empty until it was made.
        #[prost(string, tag = "1")]
        #[serde(rename = "volumeID")]
        pub volume_id: String,
        /// The size that it has.
        #[prost(message, required, tag = "2")]
        pub current_size: Quantity,
    }

    /// A `LogicalVolume` of TopoLVM.
    pub struct TopoLvmVolume {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: TopoLvmSpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: TopoLvmStatus,
    }

    /// A `LogicalVolume` of TopoLVM under its first name.
    pub struct LegacyTopoLvmVolume {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: TopoLvmSpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: TopoLvmStatus,
    }

    /// A `DirectPVVolume`, which has no `spec`.
    pub struct DirectPvVolume {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The observed state.
        #[prost(message, required, tag = "2")]
        pub status: DirectPvStatus,
    }

    /// `status` of a `DirectPVVolume`.
    pub struct DirectPvStatus {
        /// The path at which a node has staged it.
        #[prost(string, tag = "1")]
        pub staging_target_path: String,
        /// The path at which a pod has it.
        #[prost(string, tag = "2")]
        pub target_path: String,
        /// Its size in bytes.
        #[prost(message, required, tag = "3")]
        pub total_capacity: Quantity,
        /// Whether it was made.
        #[prost(string, tag = "4")]
        pub status: String,
    }

    /// A `TridentVolume`.
    pub struct TridentVolume {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// What was asked for.
        #[prost(message, required, tag = "2")]
        pub config: TridentConfig,
        /// Its backend.
        #[prost(string, tag = "3")]
        #[serde(rename = "backendUUID")]
        pub backend_uuid: String,
        /// The pool in which it was made.
        #[prost(string, tag = "4")]
        pub pool: String,
        /// Whether its backend does not show it.
        #[prost(bool, tag = "5")]
        pub orphaned: bool,
        /// What becomes of it.
        #[prost(string, tag = "6")]
        pub state: String,
    }

    /// `config` of a `TridentVolume`.
    pub struct TridentConfig {
        /// The handle.
        #[prost(string, tag = "1")]
        pub name: String,
        /// Its name at the backend.
        #[prost(string, tag = "2")]
        pub internal_name: String,
        /// Its size in bytes, as a text.
        #[prost(message, required, tag = "3")]
        pub size: Quantity,
        /// The protocol by which nodes use it.
        #[prost(string, tag = "4")]
        pub protocol: String,
        /// The volume from which it was cloned.
        #[prost(string, tag = "5")]
        pub clone_source_volume: String,
        /// The volume of which it is a view.
        #[prost(string, tag = "6")]
        pub share_source_volume: String,
        /// The name that it had before it was imported.
        #[prost(string, tag = "7")]
        pub import_original_name: String,
        /// Whether Trident does not delete it.
        #[prost(bool, tag = "8")]
        pub import_not_managed: bool,
        /// Whether it is a copy that follows another volume.
        #[prost(bool, tag = "9")]
        pub mirror_destination: bool,
        /// The namespace of the claim.
        #[prost(string, tag = "10")]
        pub namespace: String,
        /// The claim.
        #[prost(string, tag = "11")]
        pub request_name: String,
    }
}

/// Begins the row of a disk.
fn disk(kind: Kind, metadata: &ObjectMeta, size: &Quantity, folder: &mut Folder) -> InventoryDisk {
    let Metadata { created, deleting, .. } = metadata.fold(folder);
    InventoryDisk {
        kind,
        namespace: folder.non_empty(&metadata.namespace).filter(|_| kind.is_namespaced()),
        name: metadata.name.as_str().into(),
        handle: None,
        size: bytes(size),
        created,
        node: None,
        pool: None,
        held: deleting.map(|_| "being deleted".into()),
        is_imported: false,
        volume: None,
        source: None,
        claim: None,
        used_until: None,
        attributes: Attributes::default(),
    }
}

/// A size that cannot be read is unknown.
fn bytes(size: &Quantity) -> Option<Bytes> {
    parse_quantity(&size.string)
}

/// Returns the first reason for which a disk is held.
fn first(reasons: &[(bool, &str)]) -> Option<Text> {
    reasons.iter().find(|it| it.0).map(|it| it.1.into())
}

fn claim(namespace: &str, name: &str, folder: &mut Folder) -> Option<ClaimKey> {
    let namespace = folder.non_empty(namespace)?;
    unshared(name).map(|name| ClaimKey { namespace, name })
}

fn row(disk: InventoryDisk) -> Folded {
    Folded::Row(Row::InventoryDisk(Box::new(disk)))
}

impl SlimObject for LonghornVolume {
    fn lacks(&self) -> Option<&'static str> {
        self.spec.size.string.is_empty().then_some("spec.size")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, spec, status } = self;
        let of = &status.kubernetes_status;
        let begun = disk(Kind::LonghornVolume, metadata, &spec.size, folder);
        let source = spec.data_source.split_once("://").map_or("", |it| it.1);
        let clone = &*status.clone_status.state;
        // It may be a volume that was restored by hand, under its old name and before its PersistentVolume.
        let held = first(&[
            (spec.standby || status.is_standby, "standby"),
            (status.restore_required, "restoring"),
            (!spec.from_backup.is_empty(), "restored from a backup"),
            (!matches!(clone, "" | "completed"), "being cloned"),
            (status.state != "detached", word(&status.state)),
            (!spec.node_id.is_empty() || !spec.migration_node_id.is_empty(), "attaching"),
            (!status.current_node_id.is_empty(), "attached"),
        ]);
        row(InventoryDisk {
            node: folder.non_empty(&status.owner_id),
            held: begun.held.or(held),
            volume: unshared(&of.pv_name),
            source: source.split('/').next().and_then(unshared),
            claim: claim(&of.namespace, &of.pvc_name, folder),
            used_until: of.last_pod_ref_at.fold("status.kubernetesStatus.lastPodRefAt", folder),
            ..begun
        })
    }
}

/// A state, for messages.
fn word(state: &str) -> &str {
    if state.is_empty() { "in an unknown state" } else { state }
}

fn open_ebs(
    kind: Kind,
    metadata: &ObjectMeta,
    spec: &OpenEbsSpec,
    status: &OpenEbsStatus,
    folder: &mut Folder,
) -> Folded {
    let begun = disk(kind, metadata, &spec.capacity, folder);
    // A clone without a snapshot of its own has its source as a label (ZFSSrcVolKey).
    let label = metadata.labels.get("openebs.io/source-volume");
    let source = spec.snapname.split('@').next().filter(|it| !it.is_empty()).or(label);
    let held = first(&[(status.state != "Ready", word(&status.state))]);
    let pool = [&*spec.vol_group, &spec.pool_name].into_iter().find(|it| !it.is_empty());
    row(InventoryDisk {
        node: folder.non_empty(&spec.owner_node_id),
        pool: pool.and_then(|it| folder.non_empty(it)),
        held: begun.held.or(held),
        source: source.and_then(unshared),
        ..begun
    })
}

impl SlimObject for LvmVolume {
    fn lacks(&self) -> Option<&'static str> {
        self.spec.owner_node_id.is_empty().then_some("spec.ownerNodeID")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        open_ebs(Kind::LvmVolume, &self.metadata, &self.spec, &self.status, folder)
    }
}

impl SlimObject for ZfsVolume {
    fn lacks(&self) -> Option<&'static str> {
        self.spec.owner_node_id.is_empty().then_some("spec.ownerNodeID")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        open_ebs(Kind::ZfsVolume, &self.metadata, &self.spec, &self.status, folder)
    }
}

fn topolvm(
    kind: Kind,
    metadata: &ObjectMeta,
    spec: &TopoLvmSpec,
    status: &TopoLvmStatus,
    folder: &mut Folder,
) -> Folded {
    let begun = disk(kind, metadata, &spec.size, folder);
    let held = first(&[
        (status.volume_id.is_empty(), "not made yet"),
        (spec.access_type == "ro", "a snapshot"),
    ]);
    row(InventoryDisk {
        handle: Some(status.volume_id.as_str().into()),
        size: bytes(&status.current_size).or(begun.size),
        node: folder.non_empty(&spec.node_name),
        pool: folder.non_empty(&spec.device_class),
        held: begun.held.or(held),
        source: unshared(&spec.source),
        ..begun
    })
}

impl SlimObject for TopoLvmVolume {
    fn lacks(&self) -> Option<&'static str> {
        self.spec.node_name.is_empty().then_some("spec.nodeName")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        topolvm(Kind::TopoLvmVolume, &self.metadata, &self.spec, &self.status, folder)
    }
}

impl SlimObject for LegacyTopoLvmVolume {
    fn lacks(&self) -> Option<&'static str> {
        self.spec.node_name.is_empty().then_some("spec.nodeName")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        topolvm(Kind::LegacyTopoLvmVolume, &self.metadata, &self.spec, &self.status, folder)
    }
}

impl SlimObject for DirectPvVolume {
    fn lacks(&self) -> Option<&'static str> {
        self.status.total_capacity.string.is_empty().then_some("status.totalCapacity")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, status } = self;
        let begun = disk(Kind::DirectPvVolume, metadata, &status.total_capacity, folder);
        let label = |name: &str| metadata.labels.get(&format!("directpv.min.io/{name}"));
        let held = first(&[
            (!status.target_path.is_empty(), "published"),
            (!status.staging_target_path.is_empty(), "staged"),
            // A person keeps it from its pods until its drive is repaired.
            (label("suspend") == Some("true"), "suspended"),
            // It is Pending until a node stages it for the first time.
            (!matches!(&*status.status, "Ready" | "Pending"), word(&status.status)),
        ]);
        row(InventoryDisk {
            node: label("node").and_then(|it| folder.non_empty(it)),
            pool: label("drive-name").and_then(|it| folder.non_empty(it)),
            held: begun.held.or(held),
            ..begun
        })
    }
}

impl SlimObject for TridentVolume {
    fn lacks(&self) -> Option<&'static str> {
        self.config.name.is_empty().then_some("config.name")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, config, backend_uuid, pool, orphaned, state } = self;
        let begun = disk(Kind::TridentVolume, metadata, &config.size, folder);
        // A volume that is deleted while it has snapshots or views stays until the last of them is gone.
        let held = first(&[
            (!config.share_source_volume.is_empty(), "a view of another volume"),
            (config.mirror_destination, "a mirror"),
            (*orphaned, "not shown by its backend"),
            (state != "online", word(state)),
        ]);
        let source = [&*config.clone_source_volume, &config.share_source_volume];
        let attributes = [
            ("internalName", &config.internal_name),
            ("backendUUID", backend_uuid),
            ("protocol", &config.protocol),
        ];
        let attributes = attributes.into_iter().filter(|it| !it.1.is_empty());
        row(InventoryDisk {
            handle: (config.name != metadata.name).then(|| config.name.as_str().into()),
            pool: folder.non_empty(pool),
            held: begun.held.or(held),
            is_imported: config.import_not_managed || !config.import_original_name.is_empty(),
            source: source.into_iter().find_map(unshared),
            claim: claim(&config.namespace, &config.request_name, folder),
            attributes: attributes.map(|(key, it)| (folder.text(key), folder.text(it))).collect(),
            ..begun
        })
    }
}

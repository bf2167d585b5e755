//! Sources of the data of volumes: `PersistentVolumeSource`, the source `csi` of volumes and pods, and
//! `spec.nodeAffinity`.

use std::collections::BTreeMap;

use bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, message, skip_field, string};
use prost::{DecodeError, Message};
use serde::{Deserialize, Serialize};

use super::Folder;
use super::meta::ObjectReference;
use super::slim::Quantity;
use super::slim::{AllowList, Entries};
use super::slim::{Present, is_default, only_objects, or_default, slim};
use crate::drivers;
use crate::drivers::PUBLISH_SECRET;
use crate::model::{Attributes, BackendKey, NodeAffinity, NodeRequirement, NodeTerm};

/// Declares both forms of `spec` from one list of sources.
macro_rules! sources {
    ($($field:ident: $type:ty = $tag:tt, $json:tt;)*) => {
        slim! {
            /// Source of the data of a volume: one of these fields is set.
            pub struct PersistentVolumeSource {
                $(
                    #[doc = concat!("`", $json, "`.")]
                    #[serde(rename = $json)]
                    #[prost(message, optional, tag = $tag)]
                    pub $field: Option<$type>,
                )*
            }
        }

        impl PersistentVolumeSource {
            /// Returns the name of the field that is set.
            pub(super) fn field(&self) -> Option<&'static str> {
                $(if self.$field.is_some() {
                    return Some($json);
                })*
                None
            }
        }

        /// `spec` as JSON writes it. `#[serde(flatten)]` would buffer unknown fields.
        #[derive(Default, Serialize, Deserialize)]
        #[serde(default, rename_all = "camelCase", remote = "Self")]
        struct FlatSpec {
            #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
            capacity: BTreeMap<String, Quantity>,
            $(
                #[serde(rename = $json, skip_serializing_if = "is_default")]
                $field: Option<$type>,
            )*
            #[serde(skip_serializing_if = "is_default")]
            claim_ref: Option<ObjectReference>,
            #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
            access_modes: Vec<String>,
            #[serde(skip_serializing_if = "is_default")]
            volume_mode: Option<String>,
            #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
            persistent_volume_reclaim_policy: String,
            #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
            storage_class_name: String,
            #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
            node_affinity: VolumeNodeAffinity,
            #[serde(skip_serializing_if = "is_default")]
            volume_attributes_class_name: Option<String>,
        }

        only_objects!(FlatSpec);

        impl From<FlatSpec> for PersistentVolumeSpec {
            fn from(flat: FlatSpec) -> Self {
                Self {
                    capacity: flat.capacity,
                    source: PersistentVolumeSource { $($field: flat.$field,)* },
                    access_modes: flat.access_modes,
                    volume_mode: flat.volume_mode,
                    claim_ref: flat.claim_ref,
                    persistent_volume_reclaim_policy: flat.persistent_volume_reclaim_policy,
                    storage_class_name: flat.storage_class_name,
                    node_affinity: flat.node_affinity,
                    volume_attributes_class_name: flat.volume_attributes_class_name,
                }
            }
        }

        impl From<PersistentVolumeSpec> for FlatSpec {
            fn from(spec: PersistentVolumeSpec) -> Self {
                Self {
                    capacity: spec.capacity,
                    $($field: spec.source.$field,)*
                    access_modes: spec.access_modes,
                    volume_mode: spec.volume_mode,
                    claim_ref: spec.claim_ref,
                    persistent_volume_reclaim_policy: spec.persistent_volume_reclaim_policy,
                    storage_class_name: spec.storage_class_name,
                    node_affinity: spec.node_affinity,
                    volume_attributes_class_name: spec.volume_attributes_class_name,
                }
            }
        }
    };
}

sources! {
    csi: Csi = "22", "csi";
    host_path: NodePath = "3", "hostPath";
    local: NodePath = "20", "local";
    nfs: Nfs = "5", "nfs";
    iscsi: Iscsi = "7", "iscsi";
    fc: Fc = "10", "fc";
    aws_elastic_block_store: VolumeId = "2", "awsElasticBlockStore";
    gce_persistent_disk: GcePersistentDisk = "1", "gcePersistentDisk";
    azure_disk: AzureDisk = "16", "azureDisk";
    azure_file: AzureFile = "13", "azureFile";
    cinder: VolumeId = "8", "cinder";
    vsphere_volume: VsphereVolume = "14", "vsphereVolume";
    portworx_volume: VolumeId = "18", "portworxVolume";
    glusterfs: Glusterfs = "4", "glusterfs";
    rbd: Rbd = "6", "rbd";
    cephfs: Cephfs = "9", "cephfs";
    flocker: Present = "11", "flocker";
    flex_volume: FlexVolume = "12", "flexVolume";
    quobyte: Present = "15", "quobyte";
    photon_persistent_disk: Present = "17", "photonPersistentDisk";
    scale_io: Present = "19", "scaleIO";
    storageos: Present = "21", "storageos";
}

/// `spec` of a persistent volume.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(from = "FlatSpec", into = "FlatSpec")]
pub struct PersistentVolumeSpec {
    /// Capacity, under `storage`.
    #[prost(btree_map = "string, message", tag = "1")]
    pub capacity: BTreeMap<String, Quantity>,
    /// Source of the volume's data.
    #[prost(message, required, tag = "2")]
    pub source: PersistentVolumeSource,
    /// The ways in which nodes may mount the volume.
    #[prost(string, repeated, tag = "3")]
    pub access_modes: Vec<String>,
    /// `Block` or `Filesystem`, the default.
    #[prost(string, optional, tag = "8")]
    pub volume_mode: Option<String>,
    /// The claim to which the volume is bound, or for which it is reserved.
    #[prost(message, optional, tag = "4")]
    pub claim_ref: Option<ObjectReference>,
    /// The action of the volume's controller after the claim is deleted.
    #[prost(string, tag = "5")]
    pub persistent_volume_reclaim_policy: String,
    /// Class.
    #[prost(string, tag = "6")]
    pub storage_class_name: String,
    /// The nodes that can reach the volume.
    #[prost(message, required, tag = "9")]
    pub node_affinity: VolumeNodeAffinity,
    /// Volume attributes class.
    #[prost(string, optional, tag = "10")]
    pub volume_attributes_class_name: Option<String>,
}

slim! {
    /// Sources `hostPath` and `local`.
    pub struct NodePath {
        /// The path on the node.
        #[prost(string, tag = "1")]
        pub path: String,
    }

    /// Source `nfs`.
    pub struct Nfs {
        /// The server.
        #[prost(string, tag = "1")]
        pub server: String,
        /// The path that the server exports.
        #[prost(string, tag = "2")]
        pub path: String,
    }

    /// Source `iscsi`.
    pub struct Iscsi {
        /// Address of the portal.
        #[prost(string, tag = "1")]
        pub target_portal: String,
        /// Name of the target.
        #[prost(string, tag = "2")]
        pub iqn: String,
        /// Number of the unit.
        #[prost(int32, tag = "3")]
        pub lun: i32,
    }

    /// Source `fc`: names and unit, or identifiers.
    pub struct Fc {
        /// World wide names of the targets.
        #[serde(rename = "targetWWNs")]
        #[prost(string, repeated, tag = "1")]
        pub target_wwns: Vec<String>,
        /// Number of the unit.
        #[prost(int32, optional, tag = "2")]
        pub lun: Option<i32>,
        /// World wide identifiers of the volume.
        #[prost(string, repeated, tag = "5")]
        pub wwids: Vec<String>,
    }

    /// Sources `awsElasticBlockStore`, `cinder` and `portworxVolume`.
    pub struct VolumeId {
        /// The id.
        #[serde(rename = "volumeID")]
        #[prost(string, tag = "1")]
        pub volume_id: String,
    }

    /// Source `gcePersistentDisk`.
    pub struct GcePersistentDisk {
        /// The name of the disk, unique in its project and zone.
        #[prost(string, tag = "1")]
        pub pd_name: String,
    }

    /// Source `azureDisk`.
    pub struct AzureDisk {
        /// The disk's URI.
        #[serde(rename = "diskURI")]
        #[prost(string, tag = "2")]
        pub disk_uri: String,
    }

    /// Source `azureFile`.
    pub struct AzureFile {
        /// The `Secret` with the name and key of the storage account.
        #[prost(string, tag = "1")]
        pub secret_name: String,
        /// The name of the share, unique in its storage account.
        #[prost(string, tag = "2")]
        pub share_name: String,
        /// The namespace of the `Secret`, by default that of the claim.
        #[prost(string, optional, tag = "4")]
        pub secret_namespace: Option<String>,
    }

    /// Source `rbd`.
    pub struct Rbd {
        /// Addresses of the monitors.
        #[prost(string, repeated, tag = "1")]
        pub monitors: Vec<String>,
        /// The image.
        #[prost(string, tag = "2")]
        pub image: String,
        /// Pool; `rbd` where none is written.
        #[prost(string, tag = "4")]
        pub pool: String,
    }

    /// Source `cephfs`.
    pub struct Cephfs {
        /// Addresses of the monitors.
        #[prost(string, repeated, tag = "1")]
        pub monitors: Vec<String>,
        /// The directory; the root where none is written.
        #[prost(string, tag = "2")]
        pub path: String,
    }

    /// Source `glusterfs`.
    pub struct Glusterfs {
        /// The name of the Endpoints object.
        #[prost(string, tag = "1")]
        pub endpoints: String,
        /// The Gluster volume, and a directory in it.
        #[prost(string, tag = "2")]
        pub path: String,
    }

    /// Source `flexVolume`, without its options.
    pub struct FlexVolume {
        /// The driver.
        #[prost(string, tag = "1")]
        pub driver: String,
    }

    /// Source `vsphereVolume`.
    pub struct VsphereVolume {
        /// The path of the disk.
        #[prost(string, tag = "1")]
        pub volume_path: String,
    }
}

/// The attribute that csi-provisioner sets on every volume that it provisions.
pub(super) const PROVISIONER_IDENTITY: &str = "storage.kubernetes.io/csiProvisionerIdentity";

/// Source `csi` of a persistent volume. Its protobuf form is written by hand, since most attributes are not stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct Csi {
    /// The driver.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub driver: String,
    /// The volume handle.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub volume_handle: String,
    /// The file system.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub fs_type: String,
    /// The attributes that prove dynamic provisioning or decide what is mounted.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub volume_attributes: Entries<VolumeAttributes>,
    /// The Secret with which nodes mount the volume, and some drivers delete it.
    #[serde(skip_serializing_if = "is_default")]
    pub node_publish_secret_ref: Option<SecretReference>,
}

slim! {
    /// A reference to a Secret in any namespace.
    pub struct SecretReference {
        /// Name.
        #[prost(string, tag = "1")]
        pub name: String,
        /// Namespace.
        #[prost(string, tag = "2")]
        pub namespace: String,
    }
}

/// Source `csi` of a pod's volume, which has no handle.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct InlineCsi {
    /// The driver.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub driver: String,
    /// The attributes that decide what is mounted.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub volume_attributes: Entries<VolumeAttributes>,
}

only_objects!(Csi);
only_objects!(InlineCsi);

/// List that allows the attribute that proves dynamic provisioning, and those that decide what any known driver mounts.
/// Others may hold secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumeAttributes;

impl AllowList for VolumeAttributes {
    fn allows(key: &str) -> bool {
        key == PROVISIONER_IDENTITY || key != PUBLISH_SECRET && drivers::is_attribute(key)
    }
}

impl Csi {
    /// Returns the attributes that decide what a volume references.
    pub(super) fn attributes(&self, backend: &BackendKey, folder: &mut Folder) -> Attributes {
        let secret = self.node_publish_secret_ref.as_ref();
        let secret = secret.map(|it| format!("{}/{}", it.namespace, it.name));
        let secret = secret.as_deref().map(|it| (PUBLISH_SECRET, it));
        deciding(self.volume_attributes.iter().chain(secret), backend, folder)
    }
}

impl InlineCsi {
    /// Returns the attributes that decide what a pod's volume references.
    pub(super) fn attributes(&self, backend: &BackendKey, folder: &mut Folder) -> Attributes {
        deciding(self.volume_attributes.iter(), backend, folder)
    }
}

fn deciding<'a>(
    attributes: impl Iterator<Item = (&'a str, &'a str)>,
    backend: &BackendKey,
    folder: &mut Folder,
) -> Attributes {
    let pairs = attributes.filter(|(key, _)| *key != PROVISIONER_IDENTITY);
    let pairs = pairs.map(|(key, value)| (folder.text(key), value.into()));
    drivers::attributes_that_matter(backend, pairs.collect())
}

impl Message for InlineCsi {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        string::encode(1, &self.driver, buf);
        self.volume_attributes.encode(4, buf);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            1 => string::merge(wire_type, &mut self.driver, buf, ctx),
            4 => self.volume_attributes.merge(wire_type, buf, ctx),
            _ => skip_field(wire_type, tag, buf, ctx),
        }
    }

    fn encoded_len(&self) -> usize {
        string::encoded_len(1, &self.driver) + self.volume_attributes.encoded_len(4)
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Message for Csi {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        string::encode(1, &self.driver, buf);
        string::encode(2, &self.volume_handle, buf);
        string::encode(4, &self.fs_type, buf);
        self.volume_attributes.encode(5, buf);
        if let Some(secret) = &self.node_publish_secret_ref {
            message::encode(8, secret, buf);
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
            1 => string::merge(wire_type, &mut self.driver, buf, ctx),
            2 => string::merge(wire_type, &mut self.volume_handle, buf, ctx),
            4 => string::merge(wire_type, &mut self.fs_type, buf, ctx),
            5 => self.volume_attributes.merge(wire_type, buf, ctx),
            8 => {
                let secret = self.node_publish_secret_ref.get_or_insert_default();
                message::merge(wire_type, secret, buf, ctx)
            }
            _ => skip_field(wire_type, tag, buf, ctx),
        }
    }

    fn encoded_len(&self) -> usize {
        let secret = self.node_publish_secret_ref.as_ref();
        string::encoded_len(1, &self.driver)
            + string::encoded_len(2, &self.volume_handle)
            + string::encoded_len(4, &self.fs_type)
            + self.volume_attributes.encoded_len(5)
            + secret.map_or(0, |it| message::encoded_len(8, it))
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

slim! {
    /// `spec.nodeAffinity`.
    pub struct VolumeNodeAffinity {
        /// The nodes that can reach the volume.
        #[prost(message, optional, tag = "1")]
        pub required: Option<NodeSelector>,
    }

    /// Terms, of which a node must match one.
    pub struct NodeSelector {
        /// The terms.
        #[prost(message, repeated, tag = "1")]
        pub node_selector_terms: Vec<NodeSelectorTerm>,
    }

    /// One term, of which a node must match every requirement.
    pub struct NodeSelectorTerm {
        /// Requirements on labels.
        #[prost(message, repeated, tag = "1")]
        pub match_expressions: Vec<NodeSelectorRequirement>,
        /// Requirements on fields.
        #[prost(message, repeated, tag = "2")]
        pub match_fields: Vec<NodeSelectorRequirement>,
    }

    /// One requirement.
    pub struct NodeSelectorRequirement {
        /// The label or field.
        #[prost(string, tag = "1")]
        pub key: String,
        /// `In`, `NotIn`…
        #[prost(string, tag = "2")]
        pub operator: String,
        /// The values.
        #[prost(string, repeated, tag = "3")]
        pub values: Vec<String>,
    }
}

impl NodeSelector {
    pub(super) fn fold(&self, folder: &mut Folder) -> NodeAffinity {
        let mut all = |requirements: &[NodeSelectorRequirement]| {
            let one = |requirement: &NodeSelectorRequirement| NodeRequirement {
                key: folder.text(&requirement.key),
                operator: folder.text(&requirement.operator),
                values: folder.texts(&requirement.values),
            };
            requirements.iter().map(one).collect()
        };
        let term = |term: &NodeSelectorTerm| NodeTerm {
            labels: all(&term.match_expressions),
            fields: all(&term.match_fields),
        };
        NodeAffinity { terms: self.node_selector_terms.iter().map(term).collect() }
    }
}

//! A pod's volume: a claim, or storage that the pod names itself.

use serde::{Deserialize, Serialize};

use super::{
    Folder, ManagedMeta, backend,
    csi_source::{Csi, InlineCsi},
    slim::{Present, is_default, only_objects, or_default, slim},
    volume_source::{
        AzureDisk, AzureFile, Cephfs, Fc, FlexVolume, GcePersistentDisk, Glusterfs, Iscsi, Nfs,
        NodePath, PersistentVolumeSource, PersistentVolumeSpec, Rbd, VolumeId, VsphereVolume,
    },
};
use crate::{
    drivers::INLINE,
    model::{InlineVolume, MountedClaim},
};

/// Declares both forms of a pod's volume from one list of sources.
macro_rules! pod_volume_sources {
    ($($field:ident: $type:ty = $tag:tt, $json:tt;)*) => {
        slim! {
            /// Where a pod's volume comes from: one of these fields is set.
            pub struct PodVolumeSource {
                $(
                    #[doc = concat!("`", $json, "`.")]
                    #[serde(rename = $json)]
                    #[prost(message, optional, tag = $tag)]
                    pub $field: Option<$type>,
                )*
            }
        }

        /// A pod's volume as JSON writes it. `#[serde(flatten)]` would buffer unknown fields.
        #[derive(Default, Serialize, Deserialize)]
        #[serde(default, rename_all = "camelCase", remote = "Self")]
        struct FlatVolume {
            #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
            name: String,
            $(
                #[serde(rename = $json, skip_serializing_if = "is_default")]
                $field: Option<$type>,
            )*
        }

        only_objects!(FlatVolume);

        impl From<FlatVolume> for PodVolume {
            fn from(flat: FlatVolume) -> Self {
                Self { name: flat.name, source: PodVolumeSource { $($field: flat.$field,)* } }
            }
        }

        impl From<PodVolume> for FlatVolume {
            fn from(volume: PodVolume) -> Self {
                Self { name: volume.name, $($field: volume.source.$field,)* }
            }
        }
    };
}

pod_volume_sources! {
    host_path: NodePath = "1", "hostPath";
    gce_persistent_disk: GcePersistentDisk = "3", "gcePersistentDisk";
    aws_elastic_block_store: VolumeId = "4", "awsElasticBlockStore";
    nfs: Nfs = "7", "nfs";
    iscsi: Iscsi = "8", "iscsi";
    glusterfs: Glusterfs = "9", "glusterfs";
    persistent_volume_claim: ClaimName = "10", "persistentVolumeClaim";
    rbd: Rbd = "11", "rbd";
    flex_volume: FlexVolume = "12", "flexVolume";
    cinder: VolumeId = "13", "cinder";
    cephfs: Cephfs = "14", "cephfs";
    fc: Fc = "17", "fc";
    azure_file: AzureFile = "18", "azureFile";
    vsphere_volume: VsphereVolume = "20", "vsphereVolume";
    azure_disk: AzureDisk = "22", "azureDisk";
    portworx_volume: VolumeId = "24", "portworxVolume";
    csi: InlineCsi = "28", "csi";
    ephemeral: Present = "29", "ephemeral";
}

slim! {
    /// A reference to a claim.
    pub struct ClaimName {
        /// Its name.
        #[prost(string, tag = "1")]
        pub claim_name: String,
    }
}

/// A pod's volume, which JSON writes as one object and protobuf as two.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(from = "FlatVolume", into = "FlatVolume")]
pub struct PodVolume {
    /// Its name in the pod.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its source.
    #[prost(message, required, tag = "2")]
    pub source: PodVolumeSource,
}

impl PodVolume {
    /// Returns the name of the claim that it references.
    pub(super) fn claim(&self) -> Option<&str> {
        Some(&self.source.persistent_volume_claim.as_ref()?.claim_name)
    }

    /// Returns the path on the node that it mounts.
    pub(super) fn host_path(&self) -> Option<&NodePath> {
        self.source.host_path.as_ref()
    }

    /// Returns the claim that it uses. The claim of an ephemeral volume is named after the pod and
    /// the volume.
    pub(super) fn mounted(&self, pod: &str) -> Option<MountedClaim> {
        if let Some(claim) = self.claim() {
            Some(MountedClaim { claim: claim.into(), ephemeral: false })
        } else if self.source.ephemeral.is_some() {
            Some(MountedClaim { claim: format!("{pod}-{}", self.name).into(), ephemeral: true })
        } else {
            None
        }
    }

    /// Returns the storage that it names without a claim. Paths are on the node of the pod; where
    /// that is empty, on a node that is not known.
    pub(super) fn inline(&self, node: &str, folder: &mut Folder) -> Option<InlineVolume> {
        let spec = PersistentVolumeSpec {
            source: self.source.of_volume(),
            ..PersistentVolumeSpec::default()
        };
        let mut backend = backend::key(&ManagedMeta::default(), &spec, folder)?;
        if let Some(path) = &self.source.host_path {
            backend.handle = backend::path_on_node(&path.path, node).into();
        }
        let attributes = self.source.csi.as_ref().map(|csi| csi.attributes(&backend, folder));
        Some(InlineVolume {
            name: folder.text(&self.name),
            backend,
            attributes: attributes.unwrap_or_default(),
        })
    }
}

impl PodVolumeSource {
    /// The same source as a PersistentVolume would write it.
    fn of_volume(&self) -> PersistentVolumeSource {
        let csi = self.csi.as_ref().map(|csi| Csi {
            driver: csi.driver.clone(),
            // An ephemeral volume has no handle: its attributes say what it names, if anything.
            volume_handle: INLINE.to_owned(),
            volume_attributes: csi.volume_attributes.clone(),
            node_publish_secret_ref: None,
        });
        PersistentVolumeSource {
            csi,
            host_path: self.host_path.clone(),
            gce_persistent_disk: self.gce_persistent_disk.clone(),
            aws_elastic_block_store: self.aws_elastic_block_store.clone(),
            nfs: self.nfs.clone(),
            iscsi: self.iscsi.clone(),
            glusterfs: self.glusterfs.clone(),
            rbd: self.rbd.clone(),
            flex_volume: self.flex_volume.clone(),
            cinder: self.cinder.clone(),
            cephfs: self.cephfs.clone(),
            fc: self.fc.clone(),
            azure_file: self.azure_file.clone(),
            vsphere_volume: self.vsphere_volume.clone(),
            azure_disk: self.azure_disk.clone(),
            portworx_volume: self.portworx_volume.clone(),
            ..PersistentVolumeSource::default()
        }
    }
}

//! All families of drivers, in one file for those that are read together.

mod basis;
mod cloud_disks;
mod node_disks;
mod buckets;
mod aws_ebs;
mod aws_efs;
mod aws_fsx;
mod azure_disk;
mod azure_shares;
mod gce_pd;
mod gcp_filestore;
mod alibaba_nas;
mod cloud_shares;
mod lustre;
mod vsphere;
mod nfs;
mod smb;
mod ceph;
mod longhorn;
mod node_path;
mod trident;
mod democratic_csi;
mod dell;
mod arrays;
mod juicefs;
mod seaweedfs;
mod without_deleter;
mod unknown;

use super::Family;

pub use unknown::UNKNOWN;

/// All families, in the order in which documents list them.
pub static FAMILIES: &[&Family] = &[
    &aws_ebs::AWS_EBS,
    &aws_ebs::AWS_EBS_AUTO,
    &gce_pd::GCE_PD,
    &aws_efs::AWS_EFS,
    &aws_fsx::AWS_FSX_LUSTRE,
    &aws_fsx::AWS_FSX_OPENZFS,
    &buckets::AWS_S3,
    &gcp_filestore::GCP_FILESTORE,
    &lustre::GCP_LUSTRE,
    &buckets::GCS_FUSE,
    &azure_disk::AZURE_DISK,
    &azure_shares::AZURE_FILE,
    &azure_shares::AZURE_BLOB,
    &lustre::AZURE_LUSTRE,
    &vsphere::VSPHERE,
    &cloud_disks::CINDER,
    &cloud_shares::MANILA,
    &cloud_disks::DIGITALOCEAN,
    &cloud_disks::HETZNER,
    &cloud_disks::LINODE,
    &cloud_disks::SCALEWAY,
    &cloud_disks::OCI_BLOCK,
    &cloud_shares::OCI_FSS,
    &lustre::OCI_LUSTRE,
    &cloud_disks::IBM_VPC_BLOCK,
    &cloud_shares::IBM_VPC_FILE,
    &cloud_disks::ALIBABA_DISK,
    &alibaba_nas::ALIBABA_NAS,
    &buckets::ALIBABA_OSS,
    &cloud_disks::TENCENT_CBS,
    &cloud_shares::TENCENT_CFS,
    &lustre::TENCENT_CFSTURBO,
    &buckets::TENCENT_BUCKETS,
    &cloud_disks::OUTSCALE,
    &cloud_disks::EXOSCALE,
    &cloud_disks::HUAWEI_EVS,
    &buckets::HUAWEI_OBS,
    &cloud_shares::HUAWEI_SFS,
    &nfs::NFS_CSI,
    &nfs::NFS_SUBDIR,
    &nfs::NFS_GANESHA,
    &nfs::NFS_IN_TREE,
    &smb::SMB,
    &ceph::CEPH_RBD,
    &ceph::CEPHFS,
    &ceph::CEPH_NFS,
    &longhorn::LONGHORN,
    &node_path::LOCAL_PATH,
    &node_path::LOCAL_STATIC,
    &node_path::MINIKUBE,
    &node_disks::CSI_HOSTPATH,
    &node_path::NODE_PATH,
    &node_path::OPENEBS_HOSTPATH,
    &node_disks::OPENEBS_LVM,
    &node_disks::OPENEBS_ZFS,
    &node_disks::MAYASTOR,
    &node_disks::CSTOR,
    &node_disks::JIVA,
    &node_disks::TOPOLVM,
    &node_disks::DIRECTPV,
    &node_disks::LINSTOR,
    &trident::TRIDENT,
    &democratic_csi::DEMOCRATIC_CSI,
    &arrays::TRUENAS,
    &arrays::SYNOLOGY,
    &arrays::HPE,
    &dell::POWERSCALE,
    &dell::POWERSTORE,
    &dell::UNITY,
    &arrays::WEKA,
    &dell::POWERFLEX,
    &arrays::PORTWORX,
    &juicefs::JUICEFS,
    &seaweedfs::SEAWEEDFS,
    &without_deleter::BLOCK_IN_TREE,
    &without_deleter::GLUSTERFS,
    &without_deleter::FLEX_VOLUME,
    &without_deleter::SECRETS_STORE,
];

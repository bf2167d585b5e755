//! The families, one file for each.

/// Declares the files of the families and the list of them.
macro_rules! families {
    ($($family:ident)+) => {
        $(mod $family;)+

        /// All families, in the order in which documents list them.
        pub static FAMILIES: &[&super::Family] = &[$(&$family::FAMILY),+];
    };
}

families! {
    aws_ebs
    aws_ebs_auto
    gce_pd
    aws_efs
    aws_fsx_lustre
    aws_fsx_openzfs
    aws_s3
    gcp_filestore
    gcp_lustre
    gcs_fuse
    azure_disk
    azure_file
    azure_blob
    azure_lustre
    vsphere
    cinder
    manila
    digitalocean
    hetzner
    linode
    scaleway
    oci_block
    oci_fss
    oci_lustre
    ibm_vpc_block
    ibm_vpc_file
    alibaba_disk
    alibaba_nas
    alibaba_oss
    tencent_cbs
    tencent_cfs
    tencent_cfsturbo
    tencent_buckets
    outscale
    exoscale
    huawei_evs
    huawei_obs
    huawei_sfs
    nfs_csi
    nfs_subdir
    nfs_ganesha
    nfs_in_tree
    smb
    ceph_rbd
    cephfs
    ceph_nfs
    longhorn
    local_path
    local_static
    minikube
    csi_hostpath
    node_path
    openebs_hostpath
    openebs_lvm
    openebs_zfs
    mayastor
    cstor
    jiva
    topolvm
    directpv
    linstor
    trident
    democratic_csi
    truenas
    synology
    hpe
    powerscale
    powerstore
    unity
    weka
    powerflex
    portworx
    juicefs
    seaweedfs
    block_in_tree
    glusterfs
    flex_volume
    secrets_store
}

mod cloud;
mod basis;
mod unknown;

pub use unknown::FAMILY as UNKNOWN;

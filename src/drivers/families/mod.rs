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
    powerflex
    portworx
    juicefs
    seaweedfs
    block_in_tree
    glusterfs
    flex_volume
    secrets_store
}

mod common;
mod unknown;

pub use unknown::FAMILY as UNKNOWN;

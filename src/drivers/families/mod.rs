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
    nfs_in_tree
    ceph_rbd
    longhorn
    local_path
    node_path
}

mod common;
mod unknown;

pub use unknown::FAMILY as UNKNOWN;

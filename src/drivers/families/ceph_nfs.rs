//! NFS exports of CephFS: `nfs.csi.ceph.com`, also under the names that Rook gives.

use super::{
    cephfs,
    basis::{SHARE, nfs},
};
use crate::drivers::{Family, Fate, Name, Place, Provisioner, Reference, Snapshots};

/// ceph-csi NFS.
pub static FAMILY: Family = Family {
    id: "ceph-nfs",
    title: "CephFS over NFS (ceph-csi, Rook)",
    names: &[Name::EndsWith("nfs.csi.ceph.com")],
    identity: "the CephFS subvolume of a composed handle, which CephFS volumes may reference too, \
               and the NFS export server:share",
    attributes: &["clusterID", "fsName", "subvolumePath", "server", "share"],
    used,
    deletion: |it| cephfs::destroyed(it, "the NFS export and the CephFS subvolume"),
    destroys: "the NFS export, and the subvolume with everything in it",
    answers_ok: &[
        "a file system that does not exist",
        "a subvolume without its entry in the journal of the file system",
    ],
    refuses: &[
        "a subvolume with snapshots, where Ceph cannot retain them",
        "a handle that was not composed by ceph-csi",
    ],
    snapshots: Snapshots::all(
        Fate::Independent,
        "they are retained when their subvolume is removed, or its removal is refused",
    ),
    provisioner: Provisioner::csi(&["csi-nfsplugin-provisioner"], &["cephcsi"]),
    sources: &["ceph/ceph-csi v3.12: internal/nfs/controller/controllerserver.go"],
    ..SHARE
};

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mut places = cephfs::used(reference);
    if let Some((server, share)) = reference.attribute("server").zip(reference.attribute("share")) {
        places.push(nfs(server, share));
    }
    places
}

#[cfg(test)]
mod tests {
    use crate::drivers::{
        Destruction,
        tests::{Case, destruction, lies, places},
    };

    #[test]
    fn a_subvolume_is_one_through_nfs_and_through_cephfs() {
        let handle = "0001-0009-rook-ceph-0000000000000001-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
        let export = [("server", "rook-ceph-nfs-a"), ("share", "/exports/a")];
        let mine = places("rook-ceph.nfs.csi.ceph.com", handle, &export);
        assert_eq!(lies(&mine, &places("cephfs.csi.ceph.com", handle, &[])), "equal");
        assert_eq!(lies(&mine, &places("nfs", "rook-ceph-nfs-a:/exports", &[])), "around");
        assert_eq!(lies(&mine, &places("nfs", "rook-ceph-nfs-a:/exports/b", &[])), "apart");
        let driver = "nfs.csi.ceph.com";
        let case = Case { driver, handle, attributes: &export, ..Case::default() };
        let Destruction::Storage { places, .. } = destruction(&case) else { panic!("it deletes it") };
        assert_eq!(places, mine);
    }
}

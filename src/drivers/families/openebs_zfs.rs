//! OpenEBS ZFS-LocalPV: `zfs.csi.openebs.io`.

use super::basis::{BLOCK, deletes_named, named};
use crate::drivers::{Family, Fate, Name, Provisioner, Snapshots};

/// zfs-localpv.
pub static FAMILY: Family = Family {
    id: "openebs-zfs",
    title: "OpenEBS ZFS-LocalPV",
    names: &[Name::Is("zfs.csi.openebs.io")],
    identity: "the name of the ZFSVolume, in lower case; its pool and node are in that object",
    used: |reference| named("ZFSVolume", reference),
    deletion: |it| deletes_named(it, "the dataset, with all its snapshots, of ZFSVolume"),
    destroys: "the dataset with what lies beneath it and all its snapshots, after the object of the \
               volume is deleted already",
    answers_ok: &[
        "a ZFSVolume that does not exist or is Terminating",
        "every volume, before its dataset is destroyed: a failure shows only on the ZFSVolume",
    ],
    refuses: &["a volume that is still being created"],
    deletes_on_node: Some(true),
    snapshots: Snapshots {
        volume_of_handle: Some(|handle| Some(handle.split_once('@')?.0)),
        ..Snapshots::all(
            Fate::Dies,
            "zfs destroy -r destroys them, while their VolumeSnapshots remain",
        )
    },
    clones: Fate::Blocks,
    provisioner: Provisioner::csi(&["openebs-zfs-controller", "openebs-zfs-localpv-controller"], &["zfs-driver"]),
    sources: &["openebs/zfs-localpv 2.6.2: pkg/driver/controller.go, pkg/zfs/zfs_util.go"],
    ..BLOCK
};

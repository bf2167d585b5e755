//! OpenEBS LVM-LocalPV: `local.csi.openebs.io`.

use super::basis::{BLOCK, deletes_named, named};
use crate::drivers::{Family, Fate, Name, Provisioner, Snapshots};

/// lvm-localpv.
pub static FAMILY: Family = Family {
    id: "openebs-lvm",
    title: "OpenEBS LVM-LocalPV",
    names: &[Name::Is("local.csi.openebs.io")],
    identity: "the name of the LVMVolume, in lower case; its volume group and node are in that object",
    used: |reference| named("LVMVolume", reference),
    deletion: |it| deletes_named(it, "the logical volume of LVMVolume"),
    destroys: "the signature of the file system, and the logical volume",
    answers_ok: &["an LVMVolume or a logical volume that does not exist"],
    refuses: &["a volume with snapshots", "a volume on a node that does not answer: it waits"],
    deletes_on_node: Some(true),
    snapshots: Snapshots {
        volume_of_handle: Some(|handle| Some(handle.split_once('@')?.0)),
        ..Snapshots::all(Fate::Blocks, "the driver refuses to delete a volume with LVMSnapshots")
    },
    provisioner: Provisioner::csi(&["openebs-lvm-controller", "openebs-lvm-localpv-controller"], &["lvm-driver"]),
    sources: &[
        "openebs/lvm-localpv 1.5: pkg/driver/controller.go, pkg/lvm/lvm_util.go; issue 413",
    ],
    ..BLOCK
};

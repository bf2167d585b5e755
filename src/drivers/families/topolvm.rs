//! TopoLVM: `topolvm.io`, earlier `topolvm.cybozu.com`.

use super::basis::{BLOCK, deletes_named, named};
use crate::drivers::{Family, Fate, Name, ObjectDropped, Provisioner, Snapshots};

/// TopoLVM.
pub static FAMILY: Family = Family {
    id: "topolvm",
    title: "TopoLVM",
    names: &[Name::Is("topolvm.io"), Name::Is("topolvm.cybozu.com")],
    identity: "status.volumeID of the LogicalVolume, under both names of the driver; device class and \
               node are in that object",
    used: |reference| named("TopoLVM volume", reference),
    deletion: |it| deletes_named(it, "the logical volume"),
    destroys: "the LogicalVolume and the logical volume of LVM",
    answers_ok: &["a LogicalVolume that does not exist"],
    refuses: &["a volume on a node that does not answer: it waits"],
    deletes_on_node: Some(true),
    snapshots: Snapshots::all(
        Fate::Unknown,
        "unknown whether they are destroyed with their volume",
    ),
    clones: Fate::Unknown,
    object_dropped: Some(ObjectDropped::Notice(
        "deleting a Node deletes every claim on it, unless --skip-node-finalize is set",
    )),
    provisioner: Provisioner::csi(&["topolvm-controller"], &["topolvm-with-sidecar", "topolvm"]).without_leader(),
    sources: &[
        "topolvm/topolvm 2026-08: constants.go, internal/driver/controller.go, \
         internal/controller/node_controller.go; issue 397",
    ],
    ..BLOCK
};

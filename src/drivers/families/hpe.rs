//! HPE CSI driver: `csi.hpe.com`.

use super::basis::{BLOCK, deletes_named, named};
use crate::drivers::{Family, Fate, Name, Provisioner, Snapshots};

/// HPE CSI driver.
pub static FAMILY: Family = Family {
    id: "hpe",
    title: "HPE CSI driver",
    names: &[Name::Is("csi.hpe.com")],
    identity: "the id of the volume on the array; a volume for several nodes has the uid of its claim \
               instead, and its data on a second volume, which an NFS server in hpe-nfs mounts",
    used: |reference| named("HPE volume", reference),
    deletion: |it| {
        deletes_named(it, "the array volume, or the NFS server and its volume, of")
    },
    destroys: "the volume; one for several nodes, with the NFS server and the volume that it mounts",
    answers_ok: &["an id that does not exist"],
    refuses: &["a volume that is published", "a volume with snapshots"],
    snapshots: Snapshots::all(Fate::Blocks, "the driver refuses to delete a volume with snapshots"),
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["hpe-csi-controller"], &["csi-driver"]).without_leader(),
    sources: &[
        "hpe-storage/csi-driver v3.2: pkg/driver/controller_server.go, pkg/flavor/kubernetes/nfs.go",
        "hpe-storage/co-deployments: yaml/csi-driver/v3.2.0",
    ],
    ..BLOCK
};

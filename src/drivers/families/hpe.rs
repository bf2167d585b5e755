//! HPE CSI driver: `csi.hpe.com`.

use super::{
    basis::{BLOCK, NFS, deletes_named, named},
    cloud::{is_uuid, server},
};
use crate::drivers::{Family, Fate, Name, Place, Provisioner, Reference, Snapshots};

/// HPE CSI driver.
pub static FAMILY: Family = Family {
    id: "hpe",
    title: "HPE CSI driver",
    names: &[Name::Is("csi.hpe.com")],
    identity: "the id of the volume on the array; a volume for several nodes has the uid of its claim \
               instead, and its data on a second volume, which an NFS server in hpe-nfs mounts",
    used,
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

/// The NFS server of a volume for several nodes has the uid of its claim, and exports one directory.
fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mut places = named("HPE volume", reference);
    if is_uuid(reference.handle) {
        let server = server(format!("HPE NFS server {}", reference.handle), None);
        places.push(Place::directory(NFS, "/export").of(server));
    }
    places
}

//! MinIO DirectPV: `directpv-min-io`.

use super::basis::{BLOCK, deletes_named, named};
use crate::drivers::{Family, Fate, INLINE, Name, Provisioner, Snapshots};

/// DirectPV.
pub static FAMILY: Family = Family {
    id: "directpv",
    title: "MinIO DirectPV",
    names: &[Name::Is("directpv-min-io")],
    identity: "the name of the DirectPVVolume; drive and path are in that object",
    // The volume that a pod describes itself is made for it and deleted with it.
    used: |reference| match reference.handle {
        INLINE => Vec::new(),
        _ => named("DirectPVVolume", reference),
    },
    deletion: |it| deletes_named(it, "the directory of DirectPVVolume"),
    destroys: "the directory on its drive: renamed to NAME.deleted at once, removed later",
    answers_ok: &["a DirectPVVolume that does not exist"],
    refuses: &["a volume that is staged or published on a node"],
    deletes_on_node: Some(true),
    snapshots: Snapshots::all(Fate::None, "there are none"),
    // Its Deployment is called `controller`, as those of many others are.
    provisioner: Provisioner::csi(&[], &["directpv"]),
    sources: &[
        "minio/directpv v4.1.6: pkg/csi/controller/server.go, pkg/volume/event.go, pkg/admin/installer",
    ],
    ..BLOCK
};

//! Portworx: `pxd.portworx.com`, and the in-tree volumes that were migrated to it.

use super::basis::{BLOCK, deletes_named, named};
use crate::drivers::{Family, Fate, Name, Provisioner, Snapshots};

/// Portworx.
pub static FAMILY: Family = Family {
    id: "portworx",
    title: "Portworx",
    names: &[Name::Is("pxd.portworx.com"), Name::Is("kubernetes.io/portworx-volume")],
    identity: "the id of the Portworx volume, shared with in-tree portworxVolume",
    used: |reference| named("Portworx volume", reference),
    deletion: |it| deletes_named(it, "the Portworx volume"),
    destroys: "the volume with its replicas",
    answers_ok: &["an id that does not exist"],
    refuses: &["a volume that its Secret does not own"],
    snapshots: Snapshots::all(
        Fate::Unknown,
        "unknown whether they are destroyed with their volume",
    ),
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["px-csi-ext"], &[]),
    sources: &[
        "libopenstorage/openstorage 2025-03: csi/controller.go, api/server/sdk/volume_ops.go",
        "kubernetes/csi-translation-lib plugins/portworx.go",
    ],
    ..BLOCK
};

//! NFS without a driver: volumes and pods with the source `nfs`.

use std::borrow::Cow;

use super::basis::{NFS, SHARE, nfs, undecided};
use crate::drivers::{Destruction, Family, Fate, Name, Place, Provisioner, Reference, Snapshots};

/// The source `nfs`.
pub static FAMILY: Family = Family {
    id: "nfs-in-tree",
    title: "NFS without a driver (source nfs)",
    names: &[Name::Is("nfs")],
    identity: "server and path; servers that are spelled differently may be one",
    used,
    deletion: |_| Destruction::Fails(Cow::Borrowed("no controller deletes volumes of source nfs")),
    destroys: "nothing, unless a provisioner of its own created the volume",
    snapshots: Snapshots::all(Fate::None, "there are none"),
    provisioner: Provisioner::NOBODY,
    sources: &["kubernetes v1.36.3: pkg/volume/nfs/nfs.go has no deleter"],
    ..SHARE
};

/// Reads `SERVER:PATH`.
pub(super) fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let place = match reference.handle.split_once(":/") {
        Some((server, path)) if !server.is_empty() => nfs(server, path),
        _ => undecided(NFS, reference),
    };
    vec![place]
}

//! Drivers of which nothing is known.

use std::borrow::Cow;

use super::basis::{BLOCK, what_it_uses};
use crate::drivers::{
    Destruction, Family, Fate, INLINE, Letters, Place, Provisioner, Snapshots, own_space,
};

/// The family of every driver that no other family names.
///
/// Whether its handles identify anything depends on the other volumes of the driver; see
/// `facts::identity`.
pub static FAMILY: Family = Family {
    id: "unknown",
    title: "Unknown drivers",
    identity: "driver and volume handle, if the driver attaches its volumes, none of them is a \
               file system that several nodes mount, and no handle is the beginning of another one \
               (split at / # and :); otherwise it is unknown what a handle references",
    used: |reference| {
        if reference.handle.is_empty() {
            let why = "it has no volume handle";
            return vec![Place::undecided(own_space(reference.driver), "", why)];
        }
        let space = own_space(reference.driver);
        if reference.handle == INLINE {
            let why = "unknown what a pod's own volume of this driver references";
            return vec![Place::undecided(space, reference.handle, why)];
        }
        vec![Place::device(space, reference.handle).letters(Letters::Unclear)]
    },
    deletion: |deletion| match deletion.reference.handle {
        "" => Destruction::Undecided(Cow::Borrowed("it has no volume handle")),
        handle => what_it_uses(deletion, format!("the backend volume {handle}")),
    },
    destroys: "what the handle references; unknown what else is deleted with it",
    snapshots: Snapshots::all(
        Fate::Unknown,
        "unknown whether they are destroyed with their \
                                              volume",
    ),
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&[], &[]).without_leader(),
    sources: &["container-storage-interface/spec, message Volume, field volume_id"],
    ..BLOCK
};

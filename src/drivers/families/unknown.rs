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
    title: "Drivers of which nothing is known",
    identity: "driver and volume handle, if the driver attaches its volumes, none of them is a \
               file system that several nodes mount, and no handle is the beginning of another one \
               (split at / # and :); otherwise what a handle names cannot be told",
    used: |reference| {
        if reference.handle.is_empty() {
            let why = "it has no volume handle";
            return vec![Place::undecided(own_space(reference.driver), "", why)];
        }
        let space = own_space(reference.driver);
        if reference.handle == INLINE {
            let why = "what a pod's own volume of this driver names is not known";
            return vec![Place::undecided(space, reference.handle, why)];
        }
        vec![Place::device(space, reference.handle).letters(Letters::Unclear)]
    },
    deletion: |deletion| match deletion.reference.handle {
        "" => Destruction::Undecided(Cow::Borrowed("it has no volume handle")),
        handle => what_it_uses(deletion, format!("the backend volume {handle}")),
    },
    destroys: "what the handle names; what else goes with it is not known",
    snapshots: Snapshots::all(Fate::Unknown, "whether they die with their volume is not known"),
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&[], &[]).without_leader(),
    sources: &["container-storage-interface/spec, message Volume, field volume_id"],
    ..BLOCK
};

//! FlexVolumes: the source `flexVolume`, with a driver that is a program on the node.

use std::borrow::Cow;

use super::common::BLOCK;
use crate::drivers::{Destruction, Family, Fate, Name, Place, Provisioner, Snapshots};

/// The source `flexVolume`.
pub static FAMILY: Family = Family {
    id: "flex-volume",
    title: "FlexVolume (source flexVolume)",
    names: &[Name::Is("flexVolume")],
    identity: "nothing that is read: its options say what is meant, and may contain secrets",
    // The handle is the name of the driver: two of one driver cannot be told apart.
    used: |reference| {
        let why = "the options of a flexVolume, which say what it names, are not read";
        let space = format!("flexVolume {}", reference.handle);
        vec![Place::undecided(space, reference.handle, why)]
    },
    deletion: |_| {
        let why = "no controller of Kubernetes deletes volumes of source flexVolume";
        Destruction::Fails(Cow::Borrowed(why))
    },
    destroys: "nothing",
    snapshots: Snapshots::all(Fate::None, "there are none"),
    clones: Fate::None,
    provisioner: Provisioner::NOBODY,
    sources: &["kubernetes v1.36.3: pkg/volume/flexvolume has no deleter"],
    ..BLOCK
};

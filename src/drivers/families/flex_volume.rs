//! FlexVolumes: the source `flexVolume`, with a driver that is a program on the node.

use std::borrow::Cow;

use super::basis::BLOCK;
use crate::drivers::{Destruction, Family, Fate, Name, Place, Provisioner, Snapshots};

/// The source `flexVolume`.
pub static FAMILY: Family = Family {
    id: "flex-volume",
    title: "FlexVolume (source flexVolume)",
    names: &[Name::Is("flexVolume")],
    identity: "nothing that is read: its options identify the storage, and may contain secrets",
    // The handle is the name of the driver: two volumes of one driver may be one, and need not be.
    used: |reference| {
        let why = "the options of a flexVolume, which identify its storage, are not read";
        let space = format!("flexVolume {}", reference.handle);
        vec![Place::directory(space, "").somewhere_within(why)]
    },
    deletion: |_| {
        let why = "no controller of Kubernetes deletes volumes of source flexVolume";
        Destruction::Fails(Cow::Borrowed(why))
    },
    destroys: "nothing",
    deletes_on_node: None,
    snapshots: Snapshots::all(Fate::None, "there are none"),
    clones: Fate::None,
    provisioner: Provisioner::NOBODY,
    sources: &["kubernetes v1.36.3: pkg/volume/flexvolume has no deleter"],
    ..BLOCK
};

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{lies, places};

    #[test]
    fn two_of_one_driver_may_be_one() {
        let volume = |driver| places("flexVolume", driver, &[]);
        assert_eq!(lies(&volume("example.com/lvm"), &volume("example.com/lvm")), "equal?");
        assert_eq!(lies(&volume("example.com/lvm"), &volume("example.com/cifs")), "apart");
    }
}

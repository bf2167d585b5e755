//! NetApp Trident: `csi.trident.netapp.io`.

use super::basis::{BLOCK, deletes_named, named};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Part, Place, Provisioner, Reference, Snapshots,
};

/// Trident.
pub static FAMILY: Family = Family {
    id: "trident",
    title: "NetApp Trident",
    names: &[Name::Is("csi.trident.netapp.io")],
    identity: "the name of the TridentVolume, and internalName at the backend: a volume that was \
               imported twice has two names",
    attributes: &["internalName", "backendUUID"],
    used,
    deletion,
    destroys: "the FlexVol, the LUN or the qtree",
    answers_ok: &[
        "a TridentVolume that does not exist, or whose backend was removed",
        "a volume that was imported as not managed",
        "a volume with snapshots or subordinate volumes: it is deleted with the last of them",
    ],
    snapshots: Snapshots {
        volume_of_handle: Some(|handle| Some(handle.split_once('/')?.0)),
        ..Snapshots::all(
            Fate::Blocks,
            "while there are any, the driver answers OK and keeps the volume until the last of \
             them is deleted",
        )
    },
    provisioner: Provisioner::csi(&["trident-controller"], &["trident"]).without_leader(),
    sources: &[
        "NetApp/trident 26.06: core/orchestrator_core.go deleteVolume, core/concurrent_core.go, \
         frontend/csi/controller_server.go; issues 742, 813",
    ],
    ..BLOCK
};

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mut places = named("TridentVolume", reference);
    if let Some(name) = reference.attribute("internalName") {
        let backend = match reference.attribute("backendUUID") {
            Some(uuid) => Part::Named(uuid.into()),
            None => Part::Unknown("the backend of one of them is unknown"),
        };
        places.push(Place::device("Trident backend volume", name).of(backend));
    }
    places
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    deletes_named(deletion, "the backend volume of TridentVolume")
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{lies, places};

    #[test]
    fn one_backend_volume_may_have_two_names() {
        let volume = |handle, name, backend| {
            let pairs = [("internalName", name), ("backendUUID", backend)];
            places("csi.trident.netapp.io", handle, &pairs)
        };
        let mine = volume("pvc-a", "data", "b1");
        for (name, backend, expected) in
            [("data", "b1", "equal"), ("data", "b2", "equal?"), ("data2", "b1", "apart")]
        {
            assert_eq!(lies(&mine, &volume("pvc-b", name, backend)), expected, "{name} {backend}");
        }
    }
}

//! NetApp Trident: `csi.trident.netapp.io`.

use std::borrow::Cow;

use super::basis::{BASE, NFS, deletes_named, named};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Part, Place, Provisioner, Reference, Snapshots,
};

/// Trident.
pub(super) static TRIDENT: Family = Family {
    id: "trident",
    title: "NetApp Trident",
    names: &[Name::Is("csi.trident.netapp.io")],
    identity: "the name of the TridentVolume, and internalName at the backend: a volume that was \
               imported twice has two names. A file volume is exported at /internalName, a qtree at \
               /FLEXVOL/QTREE, from an address that only Trident knows. Without an internalName it \
               shares the FlexVol of another one",
    attributes: &["internalName", "internalID", "backendUUID", "protocol"],
    telling: &[&["internalName", "backendUUID"]],
    used,
    exports_elsewhere: |reference| !is_block(reference),
    deletion,
    destroys: "the FlexVol, the LUN or the qtree",
    answers_ok: &[
        "a TridentVolume that does not exist, or whose backend was removed",
        "a volume that was imported as not managed",
        "a volume with snapshots or subordinate volumes (shareFromPVC): it is deleted with the last of them",
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
    ..BASE
};

/// The space of volumes that others may share: a subordinate volume is on the backend of its source.
const SHARED: &str = "Trident source volume";

fn is_block(reference: &Reference<'_>) -> bool {
    reference.attribute("protocol").is_some_and(|it| it.eq_ignore_ascii_case("block"))
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let attribute = |key| reference.attribute(key);
    let mut places = named("TridentVolume", reference);
    let unknown = Part::Unknown("the backend of one of them is unknown");
    let backend = attribute("backendUUID");
    let source = |place: Place<'a>| {
        place.of(backend.map_or_else(|| unknown.clone(), |uuid| Part::Is(uuid.into())))
    };
    let Some(name) = attribute("internalName") else { return places };
    if name.is_empty() {
        let why = "one of them has no internalName: it may share the FlexVol of the other one";
        places.push(source(Place::undecided(SHARED, reference.handle, why)));
        return places;
    }
    places.push(source(Place::device(SHARED, name)));
    let backend = backend.map_or(unknown, |uuid| Part::Named(uuid.into()));
    places.push(Place::device("Trident backend volume", name).of(backend));
    if !is_block(reference) {
        let server = Part::Unknown("only Trident knows at which address the volume is exported");
        let qtree = attribute("internalID").and_then(qtree);
        places.extend(qtree.map(|(volume, qtree)| {
            Place::directory(NFS, volume).descend(qtree).of(server.clone())
        }));
        places.push(Place::directory(NFS, name).of(server));
    }
    places
}

/// Reads the `FlexVol` and the qtree in `/svm/SVM/flexvol/FLEXVOL/qtree/QTREE`.
fn qtree(id: &str) -> Option<(&str, &str)> {
    match id.split('/').collect::<Vec<_>>()[..] {
        ["", "svm", _, "flexvol", volume, "qtree", qtree] => Some((volume, qtree)),
        _ => None,
    }
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    if deletion.reference.attribute("internalName") == Some("") {
        return Destruction::Undecided(Cow::Borrowed(
            "it has no internalName: it shares the FlexVol of another volume, which may go with it",
        ));
    }
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
        // A subordinate volume has no name of its own, and lies on the backend of its source.
        for (one, other, backend, expected) in
            [("", "", "b1", "equal?"), ("data", "", "b1", "equal?"), ("data", "", "b2", "apart")]
        {
            let (one, other) = (volume("pvc-a", one, "b1"), volume("pvc-b", other, backend));
            assert_eq!(lies(&one, &other), expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn a_file_volume_may_be_mounted_by_its_path() {
        let id = "/svm/svm1/flexvol/trident_qtree_pool_a/qtree/data";
        let volume = |protocol| {
            let pairs = [("internalName", "data"), ("protocol", protocol), ("internalID", id)];
            places("csi.trident.netapp.io", "pvc-a", &pairs)
        };
        for (path, expected) in [
            ("svm:/data", "equal?"),
            ("svm:/data/sub", "inside?"),
            ("svm:/trident_qtree_pool_a/data", "equal?"),
            ("svm:/trident_qtree_pool_a", "around?"),
            ("svm:/trident_qtree_pool_a/logs", "apart"),
        ] {
            let plain = places("nfs", path, &[]);
            assert_eq!(lies(&volume("file"), &plain), expected, "{path}");
            assert_eq!(lies(&volume("block"), &plain), "apart", "{path}");
        }
    }
}

//! OpenEBS Mayastor (Replicated PV): `io.openebs.csi-mayastor`.

use std::borrow::Cow;

use super::basis::{BLOCK, deletes_named, device, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, ObjectDropped, Place, Provisioner, Reference,
    Snapshots,
};

/// Mayastor.
pub static FAMILY: Family = Family {
    id: "mayastor",
    title: "OpenEBS Mayastor (Replicated PV)",
    names: &[Name::Is("io.openebs.csi-mayastor")],
    identity: "the uuid of the volume, which is that of the claim",
    used,
    deletion,
    destroys: "the volume with its replicas",
    answers_ok: &["a uuid that does not exist"],
    refuses: &["a handle that is not a UUID"],
    deletes_on_node: Some(true),
    snapshots: Snapshots::all(
        Fate::Unknown,
        "unknown whether they are destroyed with their volume",
    ),
    clones: Fate::Unknown,
    object_dropped: Some(ObjectDropped::Destroys(
        "up to v2.7 its controller destroys every volume without a PersistentVolume called pvc-UUID, \
         also under Retain, unless started without that garbage collector; later versions only with \
         enableDangerousRetainGC",
    )),
    provisioner: Provisioner::csi(&["openebs-csi-controller", "mayastor-csi-controller"], &["mayastor-csi-controller"]),
    defects: &[
        "up to v2.7 a PersistentVolume that is restored late or under another name has lost its data \
         (openebs/mayastor#1787)",
    ],
    sources: &[
        "openebs/mayastor-control-plane v2.7: control-plane/csi-driver/src/bin/controller/controller.rs, \
         pvwatcher.rs; pull request 919",
    ],
    ..BLOCK
};

/// The space of Mayastor's volumes.
const SPACE: &str = "Mayastor volume";

fn is_uuid(handle: &str) -> bool {
    let groups: Vec<_> = handle.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12] && handle.bytes().all(|it| it.is_ascii_hexdigit() || it == b'-')
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    vec![match reference.handle {
        uuid if is_uuid(uuid) => device(SPACE, uuid),
        _ => undecided(SPACE, reference),
    }]
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    if is_uuid(deletion.reference.handle) {
        return deletes_named(deletion, "the Mayastor volume");
    }
    Destruction::Fails(Cow::Borrowed("its handle is not a UUID"))
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn a_volume_is_a_uuid() {
        let driver = "io.openebs.csi-mayastor";
        let one = "8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
        let other = "8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b01";
        assert_eq!(lies(&places(driver, one, &[]), &places(driver, one, &[])), "equal");
        assert_eq!(lies(&places(driver, one, &[]), &places(driver, other, &[])), "apart");
        assert_eq!(lies(&places(driver, one, &[]), &places(driver, "data", &[])), "equal?");
        let case = Case { driver, handle: "data", ..Case::default() };
        assert_eq!(answer(&case), "fails: its handle is not a UUID");
    }
}

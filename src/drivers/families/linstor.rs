//! LINSTOR and Piraeus: `linstor.csi.linbit.com`.

use std::borrow::Cow;

use super::basis::{BLOCK, deletes_named, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Name, Place, Provisioner, Reference, Snapshots,
};

/// linstor-csi.
pub static FAMILY: Family = Family {
    id: "linstor",
    title: "LINSTOR (Piraeus)",
    names: &[Name::Is("linstor.csi.linbit.com")],
    identity: "the resource definition and the number of the volume in it: RESOURCE is RESOURCE/0; \
               volumes of a consistency group share the resource",
    used,
    deletion,
    destroys: "the volume definition; with its last one the resources, and the resource definition \
               unless it has snapshots",
    answers_ok: &["a resource definition that does not exist"],
    refuses: &["a resource that is in use: it waits", "a handle that does not parse"],
    deletes_on_node: Some(true),
    snapshots: Snapshots::all(
        Fate::Independent,
        "the resource definition remains as long as it has snapshots",
    ),
    provisioner: Provisioner::csi(&["linstor-csi-controller"], &["linstor-csi", "piraeus-csi"]),
    sources: &[
        "piraeusdatastore/linstor-csi v1.12: pkg/volume/volume.go ParseVolumeId, pkg/client/linstor.go \
         Delete, pkg/driver/driver.go",
    ],
    ..BLOCK
};

/// The space of volume definitions.
const SPACE: &str = "LINSTOR volume";

/// Splits `RESOURCE[/NUMBER]`.
fn read(handle: &str) -> Option<(&str, u16)> {
    let (resource, number) = match handle.split_once('/') {
        Some((resource, number)) => (resource, number.parse().ok()?),
        None => (handle, 0),
    };
    (!resource.is_empty() && handle != INLINE).then_some((resource, number))
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    vec![match read(reference.handle) {
        Some((resource, number)) => Place::device(SPACE, format!("{resource}/{number}")),
        None => undecided(SPACE, reference),
    }]
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match read(deletion.reference.handle) {
        Some(_) => deletes_named(deletion, "the LINSTOR volume"),
        None => Destruction::Fails(Cow::Borrowed("it cannot read the handle")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn volumes_of_a_resource_are_numbered_from_zero() {
        let driver = "linstor.csi.linbit.com";
        let mine = places(driver, "pvc-a", &[]);
        for (handle, expected) in [
            ("pvc-a/0", "equal"),
            ("pvc-a/1", "apart"),
            ("pvc-b", "apart"),
            ("PVC-a", "equal?"),
            ("pvc-a/x", "equal?"),
        ] {
            assert_eq!(lies(&mine, &places(driver, handle, &[])), expected, "{handle}");
        }
        let odd = answer(&Case { driver, handle: "pvc-a/x", ..Case::default() });
        assert_eq!(odd, "fails: it cannot read the handle");
    }
}

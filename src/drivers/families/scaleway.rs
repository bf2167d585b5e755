//! Scaleway block storage: `csi.scaleway.com`.

use std::borrow::Cow;

use super::{
    cloud::{disk_with, is_uuid},
    basis::{BLOCK, device},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reference, Snapshots,
};

/// Scaleway block storage.
pub static FAMILY: Family = Family {
    id: "scaleway",
    title: "Scaleway block storage",
    names: &[Name::Is("csi.scaleway.com")],
    identity: "the UUID of the volume, with or without its zone before it",
    used,
    deletion,
    destroys: "the volume",
    answers_ok: &["a handle that is not a UUID", "a volume that does not exist in the zone of the handle"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown what happens to them"),
    provisioner: Provisioner::csi(&[], &["scaleway-csi"])
        .without_leader()
        .hidden("Kapsule and Kosmos install it; unknown what is visible there"),
    sources: &[
        "scaleway/scaleway-csi e2edd7a: pkg/driver/helpers.go ExtractIDAndZone, pkg/driver/controller.go DeleteVolume",
    ],
    ..BLOCK
};

/// The space of volumes.
const SPACE: &str = "Scaleway volume";

/// The UUID, after a zone or alone.
pub(super) fn uuid(handle: &str) -> Option<&str> {
    let id = match handle.split_once('/') {
        Some((_, id)) => id,
        None => handle,
    };
    is_uuid(id).then_some(id)
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    disk_with(SPACE, uuid(reference.handle), reference)
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match uuid(deletion.reference.handle) {
        Some(id) => Destruction::of(
            device(SPACE, id).into_owned(),
            format!("the Scaleway volume {id}"),
        ),
        None => Destruction::Nothing(Cow::Borrowed("its handle is not the id of a volume")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "csi.scaleway.com";
    const ID: &str = "0a1b2c3d-0000-4000-8000-000000000001";

    #[test]
    fn the_zone_is_no_part_of_the_name() {
        let one = places(DRIVER, &format!("fr-par-1/{ID}"), &[]);
        for (handle, expected) in [
            (ID, "equal"),
            ("fr-par-1/0a1b2c3d-0000-4000-8000-000000000002", "apart"),
            ("fr-par-1", "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, &[])), expected, "{handle}");
        }
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer(ID), format!("deletes the Scaleway volume {ID}"));
        assert!(answer("fr-par-1").starts_with("does nothing"));
    }
}

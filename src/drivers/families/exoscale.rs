//! Exoscale block storage: `csi.exoscale.com`.

use std::borrow::Cow;

use super::{
    cloud::{disk_with, is_uuid},
    basis::{BLOCK, device},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reference, Snapshots,
};

/// Exoscale block storage.
pub static FAMILY: Family = Family {
    id: "exoscale",
    title: "Exoscale block storage",
    names: &[Name::Is("csi.exoscale.com")],
    identity: "the UUID of the volume, after its zone: ZONE/UUID",
    used,
    deletion,
    destroys: "the volume",
    answers_ok: &["a volume that does not exist"],
    refuses: &["a handle that does not parse"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown what happens to them"),
    provisioner: Provisioner::csi(&["exoscale-csi-controller"], &[]),
    sources: &[
        "exoscale/exoscale-csi-driver 6206a6f: driver/controller.go DeleteVolume, driver/helpers.go getExoscaleID, \
         deployment/0.29.6/controller.yaml",
    ],
    ..BLOCK
};

/// The space of volumes.
const SPACE: &str = "Exoscale volume";

fn uuid(handle: &str) -> Option<&str> {
    let (_, id) = handle.split_once('/')?;
    is_uuid(id).then_some(id)
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    disk_with(SPACE, uuid(reference.handle), reference)
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match uuid(deletion.reference.handle) {
        Some(id) => Destruction::of(
            device(SPACE, id).into_owned(),
            format!("the Exoscale volume {id}"),
        ),
        None => Destruction::Fails(Cow::Borrowed("it cannot read the handle")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "csi.exoscale.com";
    const ID: &str = "0a1b2c3d-0000-4000-8000-000000000001";

    #[test]
    fn volumes_are_told_apart_by_their_uuid() {
        let one = places(DRIVER, &format!("ch-gva-2/{ID}"), &[]);
        for (handle, expected) in [
            ("ch-gva-2/0A1B2C3D-0000-4000-8000-000000000001", "equal"),
            ("ch-gva-2/0a1b2c3d-0000-4000-8000-000000000002", "apart"),
            (ID, "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, &[])), expected, "{handle}");
        }
        let whole = format!("ch-gva-2/{ID}");
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer(&whole), format!("deletes the Exoscale volume {ID}"));
        assert!(answer(ID).starts_with("fails"));
    }
}

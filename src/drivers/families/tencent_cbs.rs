//! Tencent Cloud Block Storage: `com.tencent.cloud.csi.cbs`.

use std::borrow::Cow;

use super::basis::{BLOCK, device, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Name, Place, Provisioner, Reference, Snapshots,
};

/// Tencent Cloud Block Storage.
pub static FAMILY: Family = Family {
    id: "tencent-cbs",
    title: "Tencent Cloud Block Storage",
    names: &[Name::Is("com.tencent.cloud.csi.cbs")],
    identity: "the ids disk-… of the disks, separated by commas: one volume may be several disks",
    used,
    deletion,
    destroys: "every disk of the list",
    answers_ok: &["parts of the list that do not begin with disk-"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown what happens to them"),
    provisioner: Provisioner::csi(&["csi-cbs-controller"], &["csi-tencentcloud-cbs"]),
    sources: &["TencentCloud/kubernetes-csi-tencentcloud defc12d: driver/cbs/controller.go DeleteVolume, deploy/cbs"],
    ..BLOCK
};

/// The space of disks.
const SPACE: &str = "Tencent disk";

/// The disks of a list; the driver drops what is none.
fn disks(handle: &str) -> impl Iterator<Item = &str> {
    handle.split(',').map(str::trim).filter(|part| part.starts_with("disk-"))
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    if reference.handle == INLINE {
        return Vec::new();
    }
    let places: Vec<_> = disks(reference.handle).map(|id| device(SPACE, id)).collect();
    if places.is_empty() { vec![undecided(SPACE, reference)] } else { places }
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let ids: Vec<_> = disks(deletion.reference.handle).collect();
    match ids[..] {
        [] => Destruction::Undecided(Cow::Borrowed("its handle contains no disk")),
        [id] => Destruction::of(device(SPACE, id).into_owned(), format!("the disk {id}")),
        _ => Destruction::Storage {
            places: ids.iter().map(|id| device(SPACE, (*id).to_owned())).collect(),
            what: format!("all of the disks {}", ids.join(", ")).into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "com.tencent.cloud.csi.cbs";

    #[test]
    fn a_volume_may_be_several_disks() {
        let one = places(DRIVER, "disk-a,disk-b", &[]);
        for (handle, expected) in
            [("disk-b", "equal"), ("disk-b,disk-c", "equal"), ("disk-c", "apart"), ("x", "equal?")]
        {
            assert_eq!(lies(&one, &places(DRIVER, handle, &[])), expected, "{handle}");
        }
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer("disk-a"), "deletes the disk disk-a");
        assert_eq!(answer("disk-a,disk-b"), "deletes all of the disks disk-a, disk-b");
        assert!(answer("x").starts_with("undecided"));
    }
}

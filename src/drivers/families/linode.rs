//! Linode block storage: `linodebs.csi.linode.com`.

use std::borrow::Cow;

use super::basis::{BLOCK, device, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Name, Place, Provisioner, Reference, Snapshots,
};

/// Linode block storage.
pub static FAMILY: Family = Family {
    id: "linode",
    title: "Linode block storage",
    names: &[Name::Is("linodebs.csi.linode.com")],
    identity: "the number before the first dash; the label after it may differ",
    used,
    deletion,
    destroys: "the volume; it makes a number of any other text, and deletes the volume that has it",
    answers_ok: &["a volume that does not exist"],
    refuses: &["a volume that is attached anywhere"],
    snapshots: Snapshots::all(Fate::None, "there are none"),
    provisioner: Provisioner::csi(&["csi-linode-controller"], &["linode-blockstorage-csi-driver"])
        .without_leader(),
    sources: &[
        "linode/linode-blockstorage-csi-driver def6be4: pkg/linode-volumes/utils.go VolumeIdAsInt, \
         internal/driver/controllerserver.go",
    ],
    ..BLOCK
};

/// The space of volumes.
const SPACE: &str = "Linode volume";

fn number(handle: &str) -> Option<&str> {
    let (number, label) = handle.split_once('-')?;
    let plain = number.bytes().all(|it| it.is_ascii_digit()) && !number.starts_with('0');
    (plain && !number.is_empty() && !label.is_empty()).then_some(number)
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    match (reference.handle, number(reference.handle)) {
        (INLINE, _) => Vec::new(),
        (_, Some(number)) => vec![device(SPACE, number)],
        (_, None) => vec![undecided(SPACE, reference)],
    }
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match number(deletion.reference.handle) {
        Some(it) => {
            Destruction::of(device(SPACE, it).into_owned(), format!("the Linode volume {it}"))
        }
        None => Destruction::Undecided(Cow::Borrowed(
            "the driver makes a number of its handle, and deletes the volume that has this number",
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "linodebs.csi.linode.com";

    #[test]
    fn only_the_number_counts() {
        let one = places(DRIVER, "17-pvc1", &[]);
        for (handle, expected) in
            [("17-other", "equal"), ("18-pvc1", "apart"), ("17", "equal?"), ("pvc-17", "equal?")]
        {
            assert_eq!(lies(&one, &places(DRIVER, handle, &[])), expected, "{handle}");
        }
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer("17-pvc1"), "deletes the Linode volume 17");
        assert!(answer("17").starts_with("undecided"));
    }
}

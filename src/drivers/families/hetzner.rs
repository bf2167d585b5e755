//! Hetzner Cloud volumes: `csi.hetzner.cloud`.

use std::borrow::Cow;

use super::{
    cloud::disk,
    basis::{BLOCK, undecided, what_it_uses},
};
use crate::drivers::{Deletion, Destruction, Family, Fate, Name, Provisioner, Snapshots};

/// Hetzner Cloud.
pub static FAMILY: Family = Family {
    id: "hetzner",
    title: "Hetzner Cloud",
    names: &[Name::Is("csi.hetzner.cloud")],
    identity: "the number of the volume",
    // The driver reads a number, which may be written in several ways.
    used: |reference| match reference.handle.parse::<i64>() {
        Ok(number) if number.to_string() != reference.handle => {
            vec![undecided(SPACE, reference)]
        }
        _ => disk(SPACE, reference),
    },
    deletion,
    destroys: "the volume, which it first detaches from whichever server has it",
    answers_ok: &["a handle that is not a number", "a volume that does not exist"],
    snapshots: Snapshots::all(Fate::None, "there are none"),
    provisioner: Provisioner::csi(&["hcloud-csi-controller"], &["hcloud-csi-driver"])
        .without_leader(),
    sources: &[
        "hetznercloud/csi-driver 53ead0b: internal/volumes/idempotency.go, internal/volsrv/volume.go, \
         chart/templates/controller/deployment.yaml",
    ],
    ..BLOCK
};

/// The space of volumes.
const SPACE: &str = "Hetzner volume";

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let id = deletion.reference.handle;
    if id.parse::<i64>().is_err() {
        return Destruction::Nothing(Cow::Borrowed("its handle is not a number"));
    }
    what_it_uses(deletion, format!("the volume {id}, which it first detaches from its server"))
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer};

    #[test]
    fn a_number_is_detached_and_deleted() {
        let answer =
            |handle| answer(&Case { driver: "csi.hetzner.cloud", handle, ..Case::default() });
        assert_eq!(answer("17"), "deletes the volume 17, which it first detaches from its server");
        assert_eq!(answer("pvc-17"), "does nothing: its handle is not a number");
        assert!(answer("017").starts_with("undecided"));
    }
}

//! Outscale BSU: `bsu.csi.outscale.com`.

use super::{
    cloud::{deletes_disk, disk},
    basis::BLOCK,
};
use crate::drivers::{Family, Fate, Name, Provisioner, Snapshots};

/// Outscale BSU.
pub static FAMILY: Family = Family {
    id: "outscale",
    title: "Outscale BSU",
    names: &[Name::Is("bsu.csi.outscale.com")],
    identity: "the id vol-…, which is not an id of Amazon",
    used: |reference| disk("Outscale volume", reference),
    deletion: |deletion| deletes_disk(deletion, "the BSU volume"),
    destroys: "the volume",
    answers_ok: &["a volume that does not exist"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown what happens to them"),
    provisioner: Provisioner::csi(&["osc-csi-controller"], &["osc-bsu-csi-driver"]),
    sources: &["outscale/osc-bsu-csi-driver a0f01887: pkg/driver/controller.go DeleteVolume"],
    ..BLOCK
};

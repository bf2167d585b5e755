//! `DigitalOcean` volumes: `dobs.csi.digitalocean.com`.

use super::{
    cloud::{deletes_disk, disk},
    basis::BLOCK,
};
use crate::drivers::{Family, Fate, Name, Provisioner, Snapshots};

/// `DigitalOcean` volumes.
pub static FAMILY: Family = Family {
    id: "digitalocean",
    title: "DigitalOcean volumes",
    names: &[Name::Is("dobs.csi.digitalocean.com")],
    identity: "the UUID of the volume",
    used: |reference| disk("DigitalOcean volume", reference),
    deletion: |deletion| deletes_disk(deletion, "the DigitalOcean volume"),
    destroys: "the volume",
    answers_ok: &["a volume that does not exist"],
    refuses: &["a volume that is attached anywhere"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown what happens to them"),
    provisioner: Provisioner::csi(&["csi-do-controller"], &["do-csi-plugin"])
        .without_leader()
        .hidden("DOKS runs it in the control plane: no object in the cluster shows it"),
    sources: &["digitalocean/csi-digitalocean 0711283d: driver/controller.go"],
    ..BLOCK
};

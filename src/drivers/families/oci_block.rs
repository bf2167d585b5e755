//! Oracle block volumes: `blockvolume.csi.oraclecloud.com`.

use super::{
    cloud::{deletes_disk, disk},
    basis::BLOCK,
};
use crate::drivers::{Family, Fate, Name, Provisioner, Snapshots};

/// Oracle block volumes.
pub static FAMILY: Family = Family {
    id: "oci-block",
    title: "Oracle block volumes",
    names: &[Name::Is("blockvolume.csi.oraclecloud.com")],
    identity: "the OCID of the volume",
    used: |reference| disk("Oracle block volume", reference),
    deletion: |deletion| deletes_disk(deletion, "the block volume"),
    destroys: "the volume",
    answers_ok: &["a volume that does not exist"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown what happens to its backups"),
    provisioner: Provisioner::csi(&["csi-oci-controller"], &["cloud-provider-oci"])
        .hidden("OKE may run it in the control plane; unknown what is visible then"),
    sources: &["oracle/oci-cloud-controller-manager 1100ac362: pkg/csi/driver/bv_controller.go"],
    ..BLOCK
};

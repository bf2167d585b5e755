//! IBM VPC block storage: `vpc.block.csi.ibm.io`.

use super::{
    cloud::{deletes_disk, disk},
    basis::BLOCK,
};
use crate::drivers::{Family, Fate, Name, Provisioner, Snapshots};

/// IBM VPC block storage.
pub static FAMILY: Family = Family {
    id: "ibm-vpc-block",
    title: "IBM VPC block storage",
    names: &[Name::Is("vpc.block.csi.ibm.io")],
    identity: "the id of the volume",
    used: |reference| disk("IBM VPC volume", reference),
    deletion: |deletion| deletes_disk(deletion, "the VPC volume"),
    destroys: "the volume",
    answers_ok: &["a volume that does not exist"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown what happens to them"),
    provisioner: Provisioner::csi(&["ibm-vpc-block-csi-controller"], &["ibm-vpc-block-csi-driver"])
        .without_leader(),
    sources: &["kubernetes-sigs/ibm-vpc-block-csi-driver eb450134: pkg/ibmcsidriver/controller.go, deploy/kubernetes"],
    ..BLOCK
};

//! OpenEBS cStor, which is archived: `cstor.csi.openebs.io`.

use super::basis::{BLOCK, deletes_named, named};
use crate::drivers::{Family, Fate, Name, Provisioner, Snapshots};

/// cstor-csi.
pub static FAMILY: Family = Family {
    id: "cstor",
    title: "OpenEBS cStor (archived)",
    names: &[Name::Is("cstor.csi.openebs.io")],
    identity: "the name of the CStorVolumeConfig",
    used: |reference| named("CStorVolumeConfig", reference),
    deletion: |it| deletes_named(it, "the replicas of CStorVolumeConfig"),
    destroys: "the CStorVolumeConfig with its replicas, after the object of the volume is deleted \
               already",
    answers_ok: &["a CStorVolumeConfig that does not exist or is Terminating"],
    deletes_on_node: Some(true),
    snapshots: Snapshots::all(
        Fate::Unknown,
        "unknown whether they are destroyed with their volume",
    ),
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["openebs-cstor-csi-controller"], &["cstor-csi-driver"]).without_leader(),
    sources: &["openebs/cstor-csi 2023-12: pkg/driver/controller.go, deploy/csidriver.yaml"],
    ..BLOCK
};

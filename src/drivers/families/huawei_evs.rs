//! Huawei EVS: `evs.csi.huaweicloud.com`.

use super::{
    cloud::{deletes_disk, disk},
    basis::BLOCK,
};
use crate::drivers::{Family, Fate, Name, Provisioner, Snapshots};

/// Huawei EVS.
pub static FAMILY: Family = Family {
    id: "huawei-evs",
    title: "Huawei EVS",
    names: &[Name::Is("evs.csi.huaweicloud.com")],
    identity: "the UUID of the volume; the volume that a pod describes itself is a new disk",
    used: |reference| disk("Huawei EVS volume", reference),
    deletion: |deletion| deletes_disk(deletion, "the EVS volume"),
    destroys: "the volume",
    answers_ok: &["a volume that does not exist"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown what happens to them"),
    provisioner: Provisioner::csi(&["csi-evs-controller"], &["evs-csi-plugin"]),
    sources: &["huaweicloud/huaweicloud-csi-driver 06c6079: pkg/evs/controllerserver.go DeleteVolume, pkg/evs/nodeserver.go"],
    ..BLOCK
};

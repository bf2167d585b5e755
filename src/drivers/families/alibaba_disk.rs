//! Alibaba Cloud disks: `diskplugin.csi.alibabacloud.com`.

use super::{
    cloud::disk,
    basis::{BLOCK, what_it_uses},
};
use crate::drivers::{Family, Fate, Name, Provisioner, Snapshots};

/// Alibaba Cloud disks.
pub static FAMILY: Family = Family {
    id: "alibaba-disk",
    title: "Alibaba Cloud disks",
    names: &[Name::Is("diskplugin.csi.alibabacloud.com")],
    identity: "the id d-… of the disk",
    used: |reference| disk("Alibaba disk", reference),
    deletion: |deletion| {
        let id = deletion.reference.handle;
        let detaches = match deletion.flag("DISK_DETACH_BEFORE_DELETE") {
            Some("false") => "",
            _ => ", which it first detaches from its node",
        };
        what_it_uses(deletion, format!("the disk {id}{detaches}"))
    },
    destroys: "the disk, which it first detaches from the instance that uses it, unless DISK_DETACH_BEFORE_DELETE is false",
    answers_ok: &["a disk that does not exist"],
    refuses: &["a disk that an elastic container instance uses"],
    snapshots: Snapshots::all(
        Fate::Independent,
        "manual snapshots remain; a setting of the disk decides about automatic ones",
    ),
    provisioner: Provisioner::csi(&["csi-provisioner"], &[])
        .hidden("ACK may run it in the control plane; unknown what is visible then"),
    sources: &[
        "kubernetes-sigs/alibaba-cloud-csi-driver 8aacf9009: pkg/disk/controllerserver.go DeleteVolume",
        "alibabacloud.com/help/en/ecs/api-deletedisk",
    ],
    ..BLOCK
};

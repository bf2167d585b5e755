//! Disks that lie in a cluster as objects of its storage system, and the table of the systems.

use super::{Bytes, ClaimKey, Kind, Text, Time};

/// A storage system whose inventory lies in the cluster.
#[derive(Debug, PartialEq, Eq)]
pub struct InventorySystem {
    /// The kind of its disks.
    pub kind: Kind,
    /// The driver of its volumes.
    pub driver: &'static str,
    /// Drivers under whose names it has had the same disks.
    pub formerly: &'static [&'static str],
    /// Whether another cluster can use the backend of a disk.
    pub is_shared: bool,
    /// Whether a disk, or a `VolumeAttachment`, tells that a node has it.
    pub tells_use: bool,
    /// The commands with which a user looks at a disk, keeps a copy of it and deletes it; empty where no command does
    /// that. `RESOURCE`, `NAME` and `WITHIN` are those
    /// of the object, `POOL` is what the disk is in.
    pub commands: [&'static str; 3],
}

const LOOK: &str = "kubectl get RESOURCE NAME -o yaml";
const LOOK_IN: &str = "kubectl get RESOURCE NAME -n WITHIN -o yaml";
const DELETE: &str = "kubectl delete RESOURCE NAME";
const DELETE_IN: &str = "kubectl delete RESOURCE NAME -n WITHIN";

/// Every storage system whose inventory is read, where its kind is served.
pub static INVENTORY_SYSTEMS: [InventorySystem; 7] = [
    // longhorn-manager: k8s/pkg/apis/longhorn/v1beta2/volume.go; csi/controller_server.go DeleteVolume.
    InventorySystem {
        kind: Kind::LonghornVolume,
        driver: "driver.longhorn.io",
        formerly: &[],
        is_shared: false,
        tells_use: true,
        commands: [LOOK_IN, "", DELETE_IN],
    },
    // lvm-localpv: pkg/apis/openebs.io/lvm/v1alpha1/lvmvolume.go; pkg/lvm/lvm_util.go DestroyVolume. The node agent
    // erases the signature of the file system before it removes the logical volume.
    InventorySystem {
        kind: Kind::LvmVolume,
        driver: "local.csi.openebs.io",
        formerly: &[],
        is_shared: false,
        tells_use: false,
        commands: [LOOK_IN, "dd if=/dev/POOL/NAME of=NAME.img bs=4M conv=sparse", DELETE_IN],
    },
    // zfs-localpv: pkg/apis/openebs.io/zfs/v1/zfsvolume.go; pkg/zfs/zfs_util.go. Its snapshots are destroyed with a volume.
    InventorySystem {
        kind: Kind::ZfsVolume,
        driver: "zfs.csi.openebs.io",
        formerly: &[],
        is_shared: false,
        tells_use: false,
        commands: [
            LOOK_IN,
            "zfs snapshot POOL/NAME@copy && zfs send POOL/NAME@copy > NAME.zfs",
            DELETE_IN,
        ],
    },
    // topolvm: api/v1/logicalvolume_types.go; internal/driver/internal/k8s/logicalvolume_service.go.
    InventorySystem {
        kind: Kind::TopoLvmVolume,
        driver: "topolvm.io",
        formerly: &["topolvm.cybozu.com"],
        is_shared: false,
        tells_use: false,
        commands: [LOOK, "", DELETE],
    },
    // topolvm: api/legacy/v1, which is served with USE_LEGACY.
    InventorySystem {
        kind: Kind::LegacyTopoLvmVolume,
        driver: "topolvm.cybozu.com",
        formerly: &["topolvm.io"],
        is_shared: false,
        tells_use: false,
        commands: [LOOK, "", DELETE],
    },
    // directpv: pkg/apis/directpv.min.io/v1beta1/volume.go; `clean` removes volumes without a PersistentVolume, whose
    // finalizer a plain deletion would wait for. What was migrated keeps the driver of DirectCSI.
    InventorySystem {
        kind: Kind::DirectPvVolume,
        driver: "directpv-min-io",
        formerly: &["direct-csi-min-io"],
        is_shared: false,
        tells_use: true,
        commands: [LOOK, "", "kubectl directpv clean NAME"],
    },
    // trident: persistent_store/crd/apis/netapp/v1/types.go, storage/volume.go. Its volumes are on an appliance: the
    // Trident of another cluster can have imported one.
    InventorySystem {
        kind: Kind::TridentVolume,
        driver: "csi.trident.netapp.io",
        formerly: &[],
        is_shared: true,
        tells_use: true,
        commands: [LOOK_IN, "", "tridentctl delete volume NAME -n WITHIN"],
    },
];

impl InventorySystem {
    /// Returns the system whose disks are of this kind.
    pub fn of_kind(kind: Kind) -> Option<&'static Self> {
        INVENTORY_SYSTEMS.iter().find(|it| it.kind == kind)
    }

    /// Returns the system with this driver.
    pub fn of_driver(driver: &str) -> Option<&'static Self> {
        INVENTORY_SYSTEMS.iter().find(|it| it.driver == driver)
    }
}

/// A disk of a storage system, as its object in the cluster shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoryDisk {
    /// The kind of the object.
    pub kind: Kind,
    /// The namespace of the object, for kinds that have one.
    pub namespace: Option<Text>,
    /// The name of the object.
    pub name: Box<str>,
    /// The handle, where it is not the name; empty where the disk does not exist yet.
    pub handle: Option<Box<str>>,
    /// The size.
    pub size: Option<Bytes>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Time>,
    /// The node that has the disk.
    pub node: Option<Text>,
    /// What the disk is in: a volume group, a pool, a drive.
    pub pool: Option<Text>,
    /// Why the disk is in use, or may be wanted again, by the object itself.
    pub held: Option<Text>,
    /// Whether people made the disk, and the system took it over.
    pub is_imported: bool,
    /// The `PersistentVolume` that names the disk, as the system says.
    pub volume: Option<Box<str>>,
    /// The disk of the same system from which it was made.
    pub source: Option<Box<str>>,
    /// The claim for which it was made, as the system says.
    pub claim: Option<ClaimKey>,
    /// The time until which a pod used it, as the system says.
    pub used_until: Option<Time>,
    /// The attributes that a `PersistentVolume` of the disk has.
    pub attributes: super::Attributes,
}

impl InventoryDisk {
    /// Returns the handle by which a `PersistentVolume` names the disk.
    pub fn handle(&self) -> &str {
        self.handle.as_deref().unwrap_or(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_an_inventory_has_one_system() {
        let kinds: Vec<_> = Kind::ALL.into_iter().filter(|it| it.is_inventory()).collect();
        let systems: Vec<_> = INVENTORY_SYSTEMS.iter().map(|it| it.kind).collect();
        assert_eq!(systems, kinds);
        for system in &INVENTORY_SYSTEMS {
            assert_eq!(InventorySystem::of_driver(system.driver), Some(system));
            let namespaced = system.kind.is_namespaced();
            assert_eq!(system.commands[0].contains("WITHIN"), namespaced, "{}", system.driver);
        }
    }
}

//! Disks that drivers make of those of the cluster's nodes.

use std::borrow::Cow;

use super::basis::{
    BASE, NO_SNAPSHOTS, UNKNOWN_SNAPSHOTS, deletes_named, device, disk, is_uuid, named, undecided,
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Name, ObjectDropped, Place, Provisioner, Reach,
    Reference, Snapshots,
};

/// lvm-localpv.
pub(super) static OPENEBS_LVM: Family = Family {
    id: "openebs-lvm",
    title: "OpenEBS LVM-LocalPV",
    names: &[Name::Is("local.csi.openebs.io")],
    identity: "the name of the LVMVolume, in lower case; its volume group and node are in that object",
    reach: Reach::Cluster,
    used: |it| named("LVMVolume", it),
    deletion: |it| deletes_named(it, "the logical volume of LVMVolume"),
    destroys: "the signature of the file system, and the logical volume",
    answers_ok: &["an LVMVolume or a logical volume that does not exist"],
    refuses: &["a volume with snapshots", "a volume on a node that does not answer: it waits"],
    deletes_on_node: Some(true),
    snapshots: Snapshots {
        volume_of_handle: Some(|handle| Some(handle.split_once('@')?.0)),
        ..Snapshots::all(Fate::Blocks, "the driver refuses to delete a volume with LVMSnapshots")
    },
    provisioner: Provisioner::csi(
        &["openebs-lvm-controller", "openebs-lvm-localpv-controller"],
        &["lvm-driver"],
    ),
    sources: &["openebs/lvm-localpv 1.5: pkg/driver/controller.go, pkg/lvm/lvm_util.go; issue 413"],
    ..BASE
};

/// zfs-localpv.
pub(super) static OPENEBS_ZFS: Family = Family {
    id: "openebs-zfs",
    title: "OpenEBS ZFS-LocalPV",
    names: &[Name::Is("zfs.csi.openebs.io")],
    identity: "the name of the ZFSVolume, in lower case; its pool and node are in that object",
    reach: Reach::Cluster,
    used: |it| named("ZFSVolume", it),
    deletion: |it| deletes_named(it, "the dataset, with all its snapshots, of ZFSVolume"),
    destroys: "the dataset with what lies beneath it and all its snapshots, after the object of the \
               volume is deleted already",
    answers_ok: &[
        "a ZFSVolume that does not exist or is Terminating",
        "every volume, before its dataset is destroyed: a failure shows only on the ZFSVolume",
    ],
    refuses: &["a volume that is still being created"],
    deletes_on_node: Some(true),
    snapshots: Snapshots {
        volume_of_handle: Some(|handle| Some(handle.split_once('@')?.0)),
        ..Snapshots::all(
            Fate::Dies,
            "zfs destroy -r destroys them, while their VolumeSnapshots remain",
        )
    },
    clones: Fate::Blocks,
    provisioner: Provisioner::csi(
        &["openebs-zfs-controller", "openebs-zfs-localpv-controller"],
        &["zfs-driver"],
    ),
    sources: &["openebs/zfs-localpv 2.6.2: pkg/driver/controller.go, pkg/zfs/zfs_util.go"],
    ..BASE
};

/// Mayastor.
pub(super) static MAYASTOR: Family = Family {
    id: "mayastor",
    title: "OpenEBS Mayastor (Replicated PV)",
    names: &[Name::Is("io.openebs.csi-mayastor")],
    identity: "the uuid of the volume, which is that of the claim",
    reach: Reach::Cluster,
    used: mayastor_used,
    deletion: mayastor_deletion,
    destroys: "the volume with its replicas",
    answers_ok: &["a uuid that does not exist"],
    refuses: &["a handle that is not a UUID"],
    deletes_on_node: Some(true),
    snapshots: UNKNOWN_SNAPSHOTS,
    clones: Fate::Unknown,
    object_dropped: Some(ObjectDropped::Destroys(
        "up to v2.7 its controller destroys every volume without a PersistentVolume called pvc-UUID, \
         also under Retain, unless started without that garbage collector; later versions only with \
         enableDangerousRetainGC",
    )),
    provisioner: Provisioner::csi(
        &["openebs-csi-controller", "mayastor-csi-controller"],
        &["mayastor-csi-controller"],
    ),
    defects: &[
        "up to v2.7 a PersistentVolume that is restored late or under another name has lost its data \
         (openebs/mayastor#1787)",
    ],
    sources: &[
        "openebs/mayastor-control-plane v2.7: control-plane/csi-driver/src/bin/controller/controller.rs, \
         pvwatcher.rs; pull request 919",
    ],
    ..BASE
};

/// The space of Mayastor's volumes.
const MAYASTOR_SPACE: &str = "Mayastor volume";

fn mayastor_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    vec![match reference.handle {
        uuid if is_uuid(uuid) => device(MAYASTOR_SPACE, uuid),
        _ => undecided(MAYASTOR_SPACE, reference),
    }]
}

fn mayastor_deletion(deletion: &Deletion<'_>) -> Destruction {
    if is_uuid(deletion.reference.handle) {
        return deletes_named(deletion, "the Mayastor volume");
    }
    Destruction::Fails(Cow::Borrowed("its handle is not a UUID"))
}

/// cstor-csi.
pub(super) static CSTOR: Family = Family {
    id: "cstor",
    title: "OpenEBS cStor (archived)",
    names: &[Name::Is("cstor.csi.openebs.io")],
    identity: "the name of the CStorVolumeConfig",
    reach: Reach::Cluster,
    used: |it| named("CStorVolumeConfig", it),
    deletion: |it| deletes_named(it, "the replicas of CStorVolumeConfig"),
    destroys: "the CStorVolumeConfig with its replicas, after the object of the volume is deleted \
               already",
    answers_ok: &["a CStorVolumeConfig that does not exist or is Terminating"],
    deletes_on_node: Some(true),
    snapshots: UNKNOWN_SNAPSHOTS,
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["openebs-cstor-csi-controller"], &["cstor-csi-driver"])
        .without_leader(),
    sources: &["openebs/cstor-csi 2023-12: pkg/driver/controller.go, deploy/csidriver.yaml"],
    ..BASE
};

/// jiva-operator.
pub(super) static JIVA: Family = Family {
    id: "jiva",
    title: "OpenEBS Jiva (archived)",
    names: &[Name::Is("jiva.csi.openebs.io")],
    identity: "the name of the JivaVolume, in lower case; its replicas are on volumes of another class",
    reach: Reach::Cluster,
    used: |it| named("JivaVolume", it),
    deletion: |it| deletes_named(it, "the replicas, with their claims, of JivaVolume"),
    destroys: "the JivaVolume with its replicas and the claims of these, after the object of the \
               volume is deleted already",
    answers_ok: &["a JivaVolume that does not exist or is Terminating"],
    deletes_on_node: Some(true),
    snapshots: UNKNOWN_SNAPSHOTS,
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["openebs-jiva-csi-controller"], &["jiva-csi"]).without_leader(),
    sources: &["openebs/jiva-operator 2023-12: pkg/driver/controller.go, deploy/helm"],
    ..BASE
};

/// TopoLVM.
pub(super) static TOPOLVM: Family = Family {
    id: "topolvm",
    title: "TopoLVM",
    names: &[Name::Is("topolvm.io"), Name::Is("topolvm.cybozu.com")],
    identity: "status.volumeID of the LogicalVolume, under both names of the driver; device class and \
               node are in that object",
    reach: Reach::Cluster,
    used: |it| named("TopoLVM volume", it),
    deletion: |it| deletes_named(it, "the logical volume"),
    destroys: "the LogicalVolume and the logical volume of LVM",
    answers_ok: &["a LogicalVolume that does not exist"],
    refuses: &["a volume on a node that does not answer: it waits"],
    deletes_on_node: Some(true),
    snapshots: UNKNOWN_SNAPSHOTS,
    clones: Fate::Unknown,
    object_dropped: Some(ObjectDropped::Notice(
        "deleting a Node deletes every claim on it, unless --skip-node-finalize is set",
    )),
    provisioner: Provisioner::csi(&["topolvm-controller"], &["topolvm-with-sidecar", "topolvm"])
        .without_leader(),
    sources: &["topolvm/topolvm 2026-08: constants.go, internal/driver/controller.go, \
         internal/controller/node_controller.go; issue 397"],
    ..BASE
};

/// DirectPV.
pub(super) static DIRECTPV: Family = Family {
    id: "directpv",
    title: "MinIO DirectPV",
    names: &[Name::Is("directpv-min-io")],
    identity: "the name of the DirectPVVolume; drive and path are in that object",
    reach: Reach::Cluster,
    // The volume that a pod describes itself is made for it and deleted with it.
    used: |it| disk("DirectPVVolume", it),
    deletion: |it| deletes_named(it, "the directory of DirectPVVolume"),
    destroys: "the directory on its drive: renamed to NAME.deleted at once, removed later",
    answers_ok: &["a DirectPVVolume that does not exist"],
    refuses: &["a volume that is staged or published on a node"],
    deletes_on_node: Some(true),
    snapshots: NO_SNAPSHOTS,
    // Its Deployment is called `controller`, as those of many others are.
    provisioner: Provisioner::csi(&[], &["directpv"]),
    sources: &[
        "minio/directpv v4.1.6: pkg/csi/controller/server.go, pkg/volume/event.go, pkg/admin/installer",
    ],
    ..BASE
};

/// linstor-csi.
pub(super) static LINSTOR: Family = Family {
    id: "linstor",
    title: "LINSTOR (Piraeus)",
    names: &[Name::Is("linstor.csi.linbit.com")],
    identity: "the resource definition and the number of the volume in it: RESOURCE is RESOURCE/0; \
               volumes of a consistency group share the resource",
    used: linstor_used,
    deletion: linstor_deletion,
    destroys: "the volume definition; with its last one the resources, and the resource definition \
               unless it has snapshots",
    answers_ok: &["a resource definition that does not exist"],
    refuses: &["a resource that is in use: it waits", "a handle that does not parse"],
    deletes_on_node: Some(true),
    snapshots: Snapshots::all(
        Fate::Independent,
        "the resource definition remains as long as it has snapshots",
    ),
    provisioner: Provisioner::csi(&["linstor-csi-controller"], &["linstor-csi", "piraeus-csi"]),
    sources: &[
        "piraeusdatastore/linstor-csi v1.12: pkg/volume/volume.go ParseVolumeId, pkg/client/linstor.go \
         Delete, pkg/driver/driver.go",
    ],
    ..BASE
};

/// The space of volume definitions.
const LINSTOR_SPACE: &str = "LINSTOR volume";

/// Splits `RESOURCE[/NUMBER]`.
fn read(handle: &str) -> Option<(&str, u16)> {
    let (resource, number) = match handle.split_once('/') {
        Some((resource, number)) => (resource, number.parse().ok()?),
        None => (handle, 0),
    };
    (!resource.is_empty() && handle != INLINE).then_some((resource, number))
}

fn linstor_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    vec![match read(reference.handle) {
        Some((resource, number)) => Place::device(LINSTOR_SPACE, format!("{resource}/{number}")),
        None => undecided(LINSTOR_SPACE, reference),
    }]
}

fn linstor_deletion(deletion: &Deletion<'_>) -> Destruction {
    match read(deletion.reference.handle) {
        Some(_) => deletes_named(deletion, "the LINSTOR volume"),
        None => Destruction::Fails(Cow::Borrowed("it cannot read the handle")),
    }
}

/// csi-driver-host-path.
pub(super) static CSI_HOSTPATH: Family = Family {
    id: "csi-hostpath",
    title: "CSI host path driver (also an addon of minikube)",
    names: &[Name::Is("hostpath.csi.k8s.io")],
    identity: "the id that the driver keeps in a file on one node",
    reach: Reach::Cluster,
    // The volume that a pod describes itself is made for it and deleted with it.
    used: |it| disk("CSI host path volume", it),
    deletion: |it| deletes_named(it, "the directory or disk image of"),
    destroys: "the directory or the disk image, also while it is mounted",
    answers_ok: &["an id that its state file does not have: all of them if that file is lost"],
    deletes_on_node: Some(true),
    snapshots: Snapshots::all(Fate::Independent, "they are files of their own"),
    provisioner: Provisioner::csi(&["csi-hostpathplugin"], &["hostpathplugin"]).without_leader(),
    sources: &["kubernetes-csi/csi-driver-host-path v1.18: pkg/hostpath/controllerserver.go, \
         pkg/hostpath/hostpath.go, deploy"],
    ..BASE
};

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn a_volume_is_a_uuid() {
        let driver = "io.openebs.csi-mayastor";
        let one = "8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
        let other = "8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b01";
        assert_eq!(lies(&places(driver, one, &[]), &places(driver, one, &[])), "equal");
        assert_eq!(lies(&places(driver, one, &[]), &places(driver, other, &[])), "apart");
        assert_eq!(lies(&places(driver, one, &[]), &places(driver, "data", &[])), "equal?");
        let case = Case { driver, handle: "data", ..Case::default() };
        assert_eq!(answer(&case), "fails: its handle is not a UUID");
    }

    #[test]
    fn volumes_of_a_resource_are_numbered_from_zero() {
        let driver = "linstor.csi.linbit.com";
        let mine = places(driver, "pvc-a", &[]);
        for (handle, expected) in [
            ("pvc-a/0", "equal"),
            ("pvc-a/1", "apart"),
            ("pvc-b", "apart"),
            ("PVC-a", "equal?"),
            ("pvc-a/x", "equal?"),
        ] {
            assert_eq!(lies(&mine, &places(driver, handle, &[])), expected, "{handle}");
        }
        let odd = answer(&Case { driver, handle: "pvc-a/x", ..Case::default() });
        assert_eq!(odd, "fails: it cannot read the handle");
    }
}

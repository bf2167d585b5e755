//! Storage systems of other vendors: TrueNAS, Synology, HPE, WEKA and Portworx.

use std::borrow::Cow;

use super::{
    basis::{
        BASE, NFS, UNKNOWN_SNAPSHOTS, deletes_named, device, is_uuid, named, nfs, server,
        undecided, what_it_uses,
    },
    smb, without_deleter,
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Name, Part, Place, Provisioner, Reference,
    Snapshots,
};

/// truenas-csi.
pub(super) static TRUENAS: Family = Family {
    id: "truenas",
    title: "TrueNAS CSI driver",
    names: &[Name::Is("csi.truenas.io")],
    identity: "the dataset POOL/PATH, which contains those beneath it; and the NFS share or the LUN \
               that nodes mount",
    attributes: &["nfsServer", "nfsPath", "targetPortal", "targetIQN", "lun"],
    used: truenas_used,
    deletion: truenas_deletion,
    destroys: "the iSCSI target or NFS share, and the dataset with its snapshots and everything beneath \
               it",
    answers_ok: &["a handle that does not parse", "a dataset that does not exist"],
    refuses: &["a dataset with clones elsewhere"],
    snapshots: Snapshots {
        volume_of_handle: Some(|handle| Some(handle.split_once('@')?.0)),
        ..Snapshots::all(Fate::Dies, "the dataset is destroyed with its snapshots")
    },
    clones: Fate::Blocks,
    provisioner: Provisioner::csi(&["truenas-csi-controller"], &["truenas-csi-driver"]),
    sources: &[
        "truenas/truenas-csi 2026-02: pkg/driver/controller.go, deploy/truenas-csi-driver.yaml",
    ],
    ..BASE
};

/// The space of datasets of TrueNAS.
const TRUENAS_SPACE: &str = "TrueNAS dataset";

fn is_dataset(handle: &str) -> bool {
    handle.split_once('/').is_some_and(|(pool, path)| !pool.is_empty() && !path.is_empty())
}

fn truenas_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mut places = vec![if is_dataset(reference.handle) {
        Place::directory(TRUENAS_SPACE, reference.handle)
    } else {
        undecided(TRUENAS_SPACE, reference)
    }];
    let attribute = |key| reference.attribute(key);
    let share = attribute("nfsServer").zip(attribute("nfsPath"));
    places.extend(share.map(|(server, path)| nfs(server, path)));
    places.extend(attribute("targetIQN").map(|target| {
        let portal = attribute("targetPortal").unwrap_or_default();
        without_deleter::lun(portal, target, attribute("lun").unwrap_or("0"))
    }));
    places
}

fn truenas_deletion(deletion: &Deletion<'_>) -> Destruction {
    let dataset = deletion.reference.handle;
    if !is_dataset(dataset) {
        return Destruction::Nothing(Cow::Borrowed("it cannot read the handle"));
    }
    what_it_uses(deletion, format!("the dataset {dataset} with everything beneath it"))
}

/// synology-csi.
pub(super) static SYNOLOGY: Family = Family {
    id: "synology",
    title: "Synology CSI driver",
    names: &[Name::Is("csi.san.synology.com")],
    identity: "the uuid of the LUN or of the shared folder, on whichever DSM has it; and the share that \
               nodes mount",
    attributes: &["protocol", "source", "dsm", "baseDir"],
    used: synology_used,
    deletion: |it| {
        let what = match it.reference.attribute("protocol") {
            Some("smb" | "nfs") => "the whole shared folder",
            Some("iscsi") => "the LUN",
            _ => "the LUN or the whole shared folder",
        };
        deletes_named(it, what)
    },
    destroys: "the LUN, with its target if that has no other; for SMB and NFS the whole shared folder",
    answers_ok: &["a uuid that no configured DSM has, also while that DSM does not answer"],
    snapshots: UNKNOWN_SNAPSHOTS,
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["synology-csi-controller"], &["synology-csi"]).without_leader(),
    sources: &["SynologyOpenSource/synology-csi v1.2.1: pkg/dsm/service/dsm.go, deploy"],
    ..BASE
};

fn synology_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mut places = named("Synology volume", reference);
    let attribute = |key| reference.attribute(key);
    match attribute("protocol") {
        Some("smb") => places.extend(attribute("source").and_then(|it| smb::share(it, ""))),
        Some("nfs") => {
            let mounted = attribute("dsm").zip(attribute("baseDir"));
            places.extend(mounted.map(|(server, path)| nfs(server, path)));
        }
        _ => {}
    }
    places
}

/// HPE CSI driver.
pub(super) static HPE: Family = Family {
    id: "hpe",
    title: "HPE CSI driver",
    names: &[Name::Is("csi.hpe.com")],
    identity: "the id of the volume on the array; a volume for several nodes has the uid of its claim \
               instead, and its data on a second volume, which an NFS server in hpe-nfs mounts",
    used: hpe_used,
    deletion: |it| deletes_named(it, "the array volume, or the NFS server and its volume, of"),
    destroys: "the volume; one for several nodes, with the NFS server and the volume that it mounts",
    answers_ok: &["an id that does not exist"],
    refuses: &["a volume that is published", "a volume with snapshots"],
    snapshots: Snapshots::all(Fate::Blocks, "the driver refuses to delete a volume with snapshots"),
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["hpe-csi-controller"], &["csi-driver"]).without_leader(),
    sources: &[
        "hpe-storage/csi-driver v3.2: pkg/driver/controller_server.go, pkg/flavor/kubernetes/nfs.go",
        "hpe-storage/co-deployments: yaml/csi-driver/v3.2.0",
    ],
    ..BASE
};

/// Returns the volume, and the export of its NFS server where it is for several nodes: that server has the uid of its
/// claim, and exports one directory.
fn hpe_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mut places = named("HPE volume", reference);
    if is_uuid(reference.handle) {
        let server = server(format!("HPE NFS server {}", reference.handle), None);
        places.push(Place::directory(NFS, "/export").of(server));
    }
    places
}

/// csi-wekafs.
pub(super) static WEKA: Family = Family {
    id: "weka",
    title: "WEKA CSI driver (csi-wekafs)",
    names: &[Name::Is("csi.weka.io")],
    identity: "the file system and the directory in it: dir/v1/FS/DIRECTORY, weka/v2/FS[:SNAPSHOT][/DIRECTORY]; a \
               volume that is a whole file system contains those that are directories of it",
    used: weka_used,
    deletion: weka_deletion,
    destroys: "the directory, the writable snapshot, or the whole file system",
    answers_ok: &["a directory or a file system that does not exist"],
    refuses: &["a handle that does not parse"],
    snapshots: UNKNOWN_SNAPSHOTS,
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["csi-wekafs-controller"], &["csi-wekafs"]),
    sources: &[
        "weka/csi-wekafs v2.7: docs, pkg/wekafs/volume.go, pkg/wekafs/volumeconstructors.go",
    ],
    ..BASE
};

/// The space of file systems, with what is in them.
const WEKA_SPACE: &str = "WEKA file system";

fn weka_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mut fields = reference.handle.splitn(4, '/');
    let (Some(_kind @ ("dir" | "weka" | "fssnap" | "dirsnap")), Some(_version), Some(root)) =
        (fields.next(), fields.next(), fields.next().filter(|it| !it.is_empty()))
    else {
        return vec![undecided(WEKA_SPACE, reference)];
    };
    let directory = fields.next().unwrap_or_default();
    let (file_system, snapshot) = root.split_once(':').unwrap_or((root, ""));
    let place = Place::directory(WEKA_SPACE, file_system);
    vec![match snapshot {
        "" => place.descend(directory),
        // It is a file system of its own, and goes with the one that it was taken of.
        snapshot => place.descend(".snapshots").descend(snapshot).descend(directory),
    }]
}

fn weka_deletion(deletion: &Deletion<'_>) -> Destruction {
    what_it_uses(deletion, format!("the WEKA volume {}", deletion.reference.handle))
}

/// Portworx.
pub(super) static PORTWORX: Family = Family {
    id: "portworx",
    title: "Portworx",
    names: &[Name::Is("pxd.portworx.com"), Name::Is("kubernetes.io/portworx-volume")],
    identity: "the id of the Portworx volume, shared with in-tree portworxVolume; static volumes may \
               have its name instead. A volume for several nodes is exported at /var/lib/osd/pxns/ID",
    used: portworx_used,
    deletion: |it| deletes_named(it, "the Portworx volume"),
    destroys: "the volume with its replicas",
    answers_ok: &["an id that does not exist"],
    refuses: &["a volume that its Secret does not own"],
    deletes_on_node: None,
    snapshots: UNKNOWN_SNAPSHOTS,
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["px-csi-ext"], &[]),
    sources: &[
        "libopenstorage/openstorage 2025-03: csi/controller.go, api/server/sdk/volume_ops.go",
        "kubernetes/csi-translation-lib plugins/portworx.go",
    ],
    ..BASE
};

/// The space of volumes.
const PORTWORX_SPACE: &str = "Portworx volume";

/// Returns the places of a Portworx volume: names are told apart from each other, and not from ids.
fn portworx_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    match reference.handle {
        "" | INLINE => vec![undecided(PORTWORX_SPACE, reference)],
        id if id.bytes().all(|it| it.is_ascii_digit()) => {
            let server = Part::Unknown("unknown which node exports it");
            let export = Place::directory(NFS, "/var/lib/osd/pxns").descend(id).of(server);
            vec![device(PORTWORX_SPACE, id), export]
        }
        name => {
            let why = "a Portworx volume is known by its name or by its id";
            vec![Place::undecided(PORTWORX_SPACE, name, why).of(Part::Is(name.into()))]
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn a_dataset_contains_those_beneath_it() {
        let driver = "csi.truenas.io";
        let mine = places(driver, "tank/k8s/pvc-a", &[]);
        for (handle, expected) in [
            ("tank/k8s/pvc-a", "equal"),
            ("tank/k8s", "around"),
            ("tank/k8s/pvc-ab", "apart"),
            ("tank/k8s/PVC-a", "apart"),
            ("tank", "equal?"),
        ] {
            assert_eq!(lies(&mine, &places(driver, handle, &[])), expected, "{handle}");
        }
        let pairs = [("nfsServer", "nas"), ("nfsPath", "/mnt/tank/k8s/pvc-a")];
        let shared = places(driver, "tank/k8s/pvc-a", &pairs);
        assert_eq!(lies(&shared, &places("nfs", "nas:/mnt/tank", &[])), "around");
        let odd = answer(&Case { driver, handle: "tank", ..Case::default() });
        assert_eq!(odd, "does nothing: it cannot read the handle");
    }

    #[test]
    fn a_shared_folder_may_be_mounted_by_others() {
        let driver = "csi.san.synology.com";
        let share = [("protocol", "smb"), ("source", "//nas/pvc-a")];
        let other = [("source", "//nas/pvc-a"), ("subDir", "logs")];
        let mine = places(driver, "6a3b", &share);
        assert_eq!(lies(&mine, &places("smb.csi.k8s.io", "x", &other)), "inside");
        let case = Case { driver, handle: "6a3b", attributes: &share, ..Case::default() };
        assert_eq!(answer(&case), "deletes the whole shared folder 6a3b");
    }

    #[test]
    fn a_directory_lies_in_its_file_system() {
        let volume = |handle| places("csi.weka.io", handle, &[]);
        let one = volume("dir/v1/default/0a1b-pvc-1");
        for (handle, expected) in [
            ("dir/v1/default/0a1b-pvc-1", "equal"),
            ("dir/v1/default/0a1b-pvc-2", "apart"),
            ("weka/v2/default", "around"),
            ("weka/v2/default:snap", "apart"),
            ("weka/v2/other", "apart"),
            ("weka", "equal?"),
        ] {
            assert_eq!(lies(&one, &volume(handle)), expected, "{handle}");
        }
    }

    #[test]
    fn a_name_may_be_that_of_any_id() {
        let volume = |handle| places("pxd.portworx.com", handle, &[]);
        for (one, other, expected) in [
            ("1017", "1017", "equal"),
            ("1017", "1018", "apart"),
            ("1017", "shared-data", "equal?"),
            ("shared-data", "shared-data", "equal"),
            ("shared-data", "shared-logs", "apart"),
        ] {
            assert_eq!(lies(&volume(one), &volume(other)), expected, "{one} {other}");
        }
        let mounted = places("nfs", "node-1:/var/lib/osd/pxns/1017", &[]);
        assert_eq!(lies(&volume("1017"), &mounted), "equal?");
    }
}

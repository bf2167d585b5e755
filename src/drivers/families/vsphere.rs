//! vSphere: `csi.vsphere.vmware.com`, and the in-tree volumes that were migrated to it.

use super::basis::{BASE, NFS, device, is_uuid, owned, server, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Name, ObjectDropped, Part, Place, Provisioner,
    Reach, Reference, Snapshots,
};

/// vSphere.
pub(super) static VSPHERE: Family = Family {
    id: "vsphere",
    title: "vSphere",
    names: &[Name::Is("csi.vsphere.vmware.com")],
    identity: "the id of the volume in vSphere, file:ID of a file share, or the path [DATASTORE] FOLDER/NAME.vmdk of an \
               in-tree volume; only vSphere knows which path is which id. In guest clusters the name of a claim of the \
               supervisor cluster",
    reach: Reach::Provider,
    // In a guest cluster, a handle is the name of a claim in its Supervisor.
    reach_of: |it| {
        let id = it.handle.strip_prefix("file:").unwrap_or(it.handle);
        (!is_uuid(id) && !is_path(id)).then_some(Reach::Network)
    },
    used,
    deletion,
    destroys: "the disk or the file share; in guest clusters the claim of the supervisor cluster",
    answers_ok: &["in guest clusters, a claim that does not exist"],
    refuses: &["a disk with snapshots"],
    snapshots: Snapshots {
        fate: Fate::Blocks,
        of_handle: None,
        volume_of_handle: Some(|handle| Some(handle.split_once('+')?.0)),
        note: "the driver refuses to delete a disk that has snapshots",
    },
    object_dropped: Some(ObjectDropped::Notice(
        "the syncer of the driver unregisters the disk: the vmdk remains, and no volume with this \
         id is found afterwards",
    )),
    provisioner: Provisioner::csi(&["vsphere-csi-controller"], &[]),
    defects: &["its csi-provisioner v4.0.1 runs without HonorPVReclaimPolicy: deleting a volume \
                before its claim leaks the backend volume"],
    sources: &[
        "kubernetes-sigs/vsphere-csi-driver bf8090256: pkg/csi/service/vanilla/controller.go, \
         pkg/csi/service/wcpguest/controller.go, pkg/syncer/metadatasyncer.go, pkg/csi/service/common/constants.go",
        "kubernetes/csi-translation-lib plugins/vsphere_volume.go",
    ],
    ..BASE
};

/// The space of volumes.
const SPACE: &str = "vSphere volume";

/// Whether a handle is the path of a disk.
fn is_path(handle: &str) -> bool {
    handle.to_ascii_lowercase().contains(".vmdk") || handle.starts_with('[')
}

/// Returns the places of a volume: paths are told apart from each other, and not from ids, since the path is the realm,
/// which ids do not have.
fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    match reference.handle {
        INLINE => Vec::new(),
        "" => vec![undecided(SPACE, reference)],
        path if is_path(path) => {
            let why = "a path and an id may name one disk";
            vec![Place::undecided(SPACE, path, why).of(Part::Is(path.into()))]
        }
        id => {
            // Its address and its path are known to vSphere only.
            let export = id.strip_prefix("file:").map(|share| {
                let server = server(format!("vSphere file share {share}"), None);
                Place::directory(NFS, "/").of(server)
            });
            [device(SPACE, id)].into_iter().chain(export).collect()
        }
    }
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let handle = deletion.reference.handle;
    let places = owned(used(&deletion.reference));
    if places.is_empty() || handle.is_empty() {
        return Destruction::Undecided("it has no volume handle".into());
    }
    let what = match handle.strip_prefix("file:") {
        Some(id) => format!("the vSphere file share {id}"),
        None => format!("the vSphere disk {handle}"),
    };
    Destruction::Storage { places, what: what.into() }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn a_path_may_be_any_id_and_is_no_other_path() {
        const DRIVER: &str = "csi.vsphere.vmware.com";
        const ID: &str = "0a1b2c3d-0000-4000-8000-000000000001";
        for (one, other, expected) in [
            (ID, ID, "equal"),
            (ID, "0a1b2c3d-0000-4000-8000-000000000002", "apart"),
            (ID, "[ds] kubevols/a.vmdk", "equal?"),
            ("[ds] kubevols/a.vmdk", "[ds] kubevols/a.vmdk", "equal"),
            ("[ds] kubevols/a.vmdk", "[ds] kubevols/b.vmdk", "apart"),
            ("file:a", "file:b", "apart"),
            (ID, "", "equal?"),
        ] {
            let (one, other) = (places(DRIVER, one, &[]), places(DRIVER, other, &[]));
            assert_eq!(lies(&one, &other), expected, "{one:?} {other:?}");
        }
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer(ID), format!("deletes the vSphere disk {ID}"));
        assert_eq!(answer("file:a"), "deletes the vSphere file share a");
        assert!(answer("").starts_with("undecided"));
    }
}

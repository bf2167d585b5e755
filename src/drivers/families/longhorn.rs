//! Longhorn: `driver.longhorn.io`.

use super::basis::{BASE, NFS, device, server, undecided, what_it_uses};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reach, Reference, Snapshots,
};

/// Longhorn.
pub(super) static LONGHORN: Family = Family {
    id: "longhorn",
    title: "Longhorn",
    names: &[Name::Is("driver.longhorn.io")],
    identity: "the name of the Longhorn Volume, to which every PersistentVolume with this handle \
               refers; one for several nodes is exported at /NAME by its share-manager",
    reach: Reach::Cluster,
    attributes: &["share"],
    used,
    deletion,
    destroys: "the Longhorn Volume with its replicas and its snapshots; Longhorn then also deletes the \
               objects of the volume and its claim",
    answers_ok: &["a Longhorn Volume that does not exist"],
    snapshots: Snapshots {
        fate: Fate::Unknown,
        of_handle: Some(|handle| match handle.split_once("://")?.0 {
            "snap" => Some(Fate::Dies),
            "bak" | "bi" => Some(Fate::Independent),
            _ => None,
        }),
        volume_of_handle: Some(|handle| handle.split_once("://")?.1.split('/').next()),
        note: "snapshots of type snap are destroyed with the volume, while their VolumeSnapshot \
               remains and is shown as ready (longhorn/longhorn#11267); backups (bak) and backing \
               images (bi) survive",
    },
    // Whether a linked clone outlives its source was not checked.
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["csi-provisioner"], &["longhorn-manager"]),
    sources: &[
        "longhorn/longhorn-manager v1.12.1: csi/controller_server.go DeleteVolume, controller/volume_controller.go",
    ],
    ..BASE
};

/// The space of Longhorn Volumes.
const SPACE: &str = "Longhorn volume";

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let name = reference.handle;
    if name.is_empty() {
        return vec![undecided(SPACE, reference)];
    }
    let mut places = vec![device(SPACE, name)];
    if reference.attribute("share") == Some("true") {
        // Its share-manager exports the one directory that has its name.
        let server = server(format!("Longhorn share {name}"), None);
        places.push(Place::directory(NFS, name).of(server));
    }
    places
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let name = deletion.reference.handle;
    what_it_uses(deletion, format!("the Longhorn volume {name} with its snapshots"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::tests::{lies, places};

    #[test]
    fn the_handle_of_a_snapshot_says_whether_it_dies() {
        for (handle, volume, fate) in [
            ("snap://pvc-a/s1", Some("pvc-a"), Fate::Dies),
            ("bak://pvc-a/b1", Some("pvc-a"), Fate::Independent),
            ("bi://image?x=y", Some("image?x=y"), Fate::Independent),
            ("s1", None, Fate::Unknown),
        ] {
            assert_eq!(LONGHORN.snapshots.fate_of(Some(handle)), fate, "{handle}");
            let named = LONGHORN.snapshots.volume_of_handle.and_then(|of| of(handle));
            assert_eq!(named, volume, "{handle}");
        }
        let volume = |handle| places("driver.longhorn.io", handle, &[]);
        assert_eq!(lies(&volume("pvc-a"), &volume("pvc-a")), "equal");
        assert_eq!(lies(&volume("pvc-a"), &volume("pvc-ab")), "apart");
        let shared = places("driver.longhorn.io", "pvc-a", &[("share", "true")]);
        assert_eq!(lies(&shared, &volume("pvc-a")), "equal");
        assert_eq!(lies(&shared, &places("nfs", "10.43.0.7:/pvc-a", &[])), "equal?");
        assert_eq!(lies(&shared, &places("nfs", "10.43.0.7:/pvc-b", &[])), "apart");
    }
}

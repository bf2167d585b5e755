//! WEKA: `csi.weka.io`.

use super::basis::{SHARE, undecided, what_it_uses};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reference, Snapshots,
};

/// csi-wekafs.
pub static FAMILY: Family = Family {
    id: "weka",
    title: "WEKA CSI driver (csi-wekafs)",
    names: &[Name::Is("csi.weka.io")],
    identity: "the file system and the directory in it: dir/v1/FS/DIRECTORY, weka/v2/FS[:SNAPSHOT][/DIRECTORY]; a \
               volume that is a whole file system contains those that are directories of it",
    used,
    deletion,
    destroys: "the directory, the writable snapshot, or the whole file system",
    answers_ok: &["a directory or a file system that does not exist"],
    refuses: &["a handle that does not parse"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown whether they are destroyed with their volume"),
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["csi-wekafs-controller"], &["csi-wekafs"]),
    sources: &["weka/csi-wekafs v2.7: docs, pkg/wekafs/volume.go, pkg/wekafs/volumeconstructors.go"],
    ..SHARE
};

/// The space of file systems, with what is in them.
const SPACE: &str = "WEKA file system";

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mut fields = reference.handle.splitn(4, '/');
    let (Some(_kind @ ("dir" | "weka" | "fssnap" | "dirsnap")), Some(_version), Some(root)) =
        (fields.next(), fields.next(), fields.next().filter(|it| !it.is_empty()))
    else {
        return vec![undecided(SPACE, reference)];
    };
    let directory = fields.next().unwrap_or_default();
    let (file_system, snapshot) = root.split_once(':').unwrap_or((root, ""));
    let place = Place::directory(SPACE, file_system);
    vec![match snapshot {
        "" => place.descend(directory),
        // It is a file system of its own, and goes with the one that it was taken of.
        snapshot => place.descend(".snapshots").descend(snapshot).descend(directory),
    }]
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    what_it_uses(deletion, format!("the WEKA volume {}", deletion.reference.handle))
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{lies, places};

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
}

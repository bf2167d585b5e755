//! Dell Unity XT: `csi-unity.dellemc.com`.

use super::basis::{BLOCK, NFS, undecided, what_it_uses};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Letters, Name, Part, Place, Provisioner, Reference,
    Snapshots,
};

/// csi-unity.
pub static FAMILY: Family = Family {
    id: "unity",
    title: "Dell Unity XT",
    names: &[Name::Is("csi-unity.dellemc.com")],
    identity: "the last part of the handle NAME-PROTOCOL-ARRAY-ID, such as sv_77 or fs_12, on its array; older handles \
               are this id alone. A file system is exported under its name",
    used,
    deletion,
    destroys: "the volume, or the NFS share and the file system",
    answers_ok: &["a volume that does not exist"],
    refuses: &["a volume with snapshots"],
    snapshots: Snapshots::all(Fate::Blocks, "the driver refuses to delete a volume with snapshots"),
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["unity-controller"], &["csi-unity"]),
    sources: &["dell/csi-unity v2.13: service/controller.go DeleteVolume, service/service.go getArrayIDFromVolumeContext"],
    ..BLOCK
};

/// The space of volumes and file systems.
const SPACE: &str = "Unity volume";

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mut fields = reference.handle.rsplitn(4, '-');
    let id = fields.next().filter(|it| {
        it.split_once('_').is_some_and(|(kind, number)| {
            !kind.is_empty() && number.parse::<u64>().is_ok()
        })
    });
    let Some(id) = id else { return vec![undecided(SPACE, reference)] };
    let (array, protocol, name) = (fields.next(), fields.next(), fields.next());
    let array = match array {
        Some(array) => Part::Named(array.into()),
        None => Part::Unknown("the array of one of them is unknown"),
    };
    let mut places = vec![Place::device(SPACE, id).letters(Letters::Alike).of(array)];
    if protocol.is_some_and(|it| it.eq_ignore_ascii_case("nfs"))
        && let Some(name) = name
    {
        let server = Part::Unknown("the address at which Unity exports it is unknown");
        places.push(Place::directory(NFS, name).of(server));
    }
    places
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    what_it_uses(deletion, format!("the Unity volume {}", deletion.reference.handle))
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{lies, places};

    #[test]
    fn the_last_part_is_the_volume() {
        let volume = |handle| places("csi-unity.dellemc.com", handle, &[]);
        let one = volume("csivol-1a2b3c4d5e-FC-apm00123456789-sv_77");
        for (handle, expected) in [
            ("imported-iSCSI-apm00123456789-sv_77", "equal"),
            ("csivol-1a2b3c4d5e-FC-apm00123456789-sv_78", "apart"),
            ("csivol-1a2b3c4d5e-FC-apm00000000000-sv_77", "equal?"),
            ("sv_77", "equal?"),
            ("sv_78", "apart"),
            ("other", "equal?"),
        ] {
            assert_eq!(lies(&one, &volume(handle)), expected, "{handle}");
        }
        let shared = volume("csivol-1a2b3c4d5e-NFS-apm00123456789-fs_12");
        let mounted = |path| lies(&shared, &places("nfs", path, &[]));
        assert_eq!(mounted("nas:/csivol-1a2b3c4d5e"), "equal?");
        assert_eq!(mounted("nas:/csivol-0000000000"), "apart");
    }
}

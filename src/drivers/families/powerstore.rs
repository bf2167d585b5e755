//! Dell PowerStore: `csi-powerstore.dellemc.com`.

use std::borrow::Cow;

use super::{
    basis::{BLOCK, NFS, device, undecided, what_it_uses},
    cloud::{is_uuid, server},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Part, Place, Provisioner, Reference, Snapshots,
};

/// csi-powerstore.
pub static FAMILY: Family = Family {
    id: "powerstore",
    title: "Dell PowerStore",
    names: &[Name::Is("csi-powerstore.dellemc.com")],
    identity: "the UUID in the handle UUID[/ARRAY[/PROTOCOL[:UUID/ARRAY]]], whichever way the array is written: by its \
               address or by its id; a metro volume is two. A file system is exported under the name of its volume",
    attributes: &[PV_NAME],
    used,
    deletion,
    destroys: "the volume, or the NFS export and the file system",
    answers_ok: &["a volume that does not exist"],
    refuses: &["a volume with snapshots", "a handle that does not parse"],
    snapshots: Snapshots::all(Fate::Blocks, "the driver refuses to delete a volume with snapshots"),
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["powerstore-controller"], &["csi-powerstore"]),
    sources: &[
        "dell/csi-powerstore v2.13: pkg/array/array.go ParseVolumeID, pkg/controller/controller.go DeleteVolume",
    ],
    ..BLOCK
};

/// The space of volumes and file systems.
const SPACE: &str = "PowerStore volume";

/// The attribute with the name under which it was made.
const PV_NAME: &str = "csi.storage.k8s.io/pv/name";

/// The UUIDs that a handle names, and whether it is that of a file system.
fn read(handle: &str) -> Option<(Vec<&str>, bool)> {
    let (local, remote) = handle.split_once(':').map_or((handle, None), |(it, at)| (it, Some(at)));
    let mut fields = local.split('/');
    let id = fields.next().filter(|id| is_uuid(id))?;
    let is_file_system = fields.nth(1).is_some_and(|it| it.eq_ignore_ascii_case("nfs"));
    let remote = remote.and_then(|it| it.split('/').next()).filter(|id| is_uuid(id));
    Some(([id].into_iter().chain(remote).collect(), is_file_system))
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let Some((ids, is_file_system)) = read(reference.handle) else {
        return vec![undecided(SPACE, reference)];
    };
    let mut places: Vec<_> = ids.iter().map(|id| device(SPACE, *id)).collect();
    if is_file_system {
        let unknown = Part::Unknown("the address at which PowerStore exports it is unknown");
        let exported = reference.attribute(PV_NAME).map(|it| Place::directory(NFS, it).of(unknown));
        let id = ids.first().copied().unwrap_or_default();
        let of_id = || Place::directory(NFS, "/").of(server(format!("PowerStore file system {id}"), None));
        places.push(exported.unwrap_or_else(of_id));
    }
    places
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match read(deletion.reference.handle) {
        Some((ids, is_file_system)) => {
            let what = if is_file_system { "file system" } else { "volume" };
            what_it_uses(deletion, format!("the PowerStore {what} {}", ids.join(" and ")))
        }
        None => Destruction::Fails(Cow::Borrowed("it cannot read the handle")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "csi-powerstore.dellemc.com";
    const ONE: &str = "9f840c56-96e6-4de9-b5a3-27e7c20eaa77";
    const OTHER: &str = "0e2d1b6a-96e6-4de9-b5a3-27e7c20eaa77";

    #[test]
    fn the_uuid_is_the_volume_however_its_array_is_written() {
        let volume = |handle: &str| places(DRIVER, handle, &[]);
        let one = volume(&format!("{ONE}/PS4ebb8d4e8488/scsi"));
        for (handle, expected) in [
            (format!("{ONE}/10.1.2.3/scsi"), "equal"),
            (ONE.to_owned(), "equal"),
            (format!("{OTHER}/PS4ebb8d4e8488/scsi"), "apart"),
            (format!("{OTHER}/PS1/scsi:{ONE}/PS2"), "equal"),
            ("imported".to_owned(), "equal?"),
        ] {
            assert_eq!(lies(&one, &volume(&handle)), expected, "{handle}");
        }
        let shared = places(
            DRIVER,
            &format!("{ONE}/PS1/nfs"),
            &[("csi.storage.k8s.io/pv/name", "csivol-1a2b3c4d5e")],
        );
        let mounted = |path| lies(&shared, &places("nfs", path, &[]));
        assert_eq!(mounted("10.1.2.9:/csivol-1a2b3c4d5e"), "equal?");
        assert_eq!(mounted("10.1.2.9:/csivol-0000000000"), "apart");
        let answer = |handle: &str| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer(&format!("{ONE}/PS1/scsi")), format!("deletes the PowerStore volume {ONE}"));
        assert!(answer("imported").starts_with("fails"));
    }
}

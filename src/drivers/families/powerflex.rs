//! Dell PowerFlex: `csi-vxflexos.dellemc.com`.

use std::borrow::Cow;

use super::{
    basis::{BLOCK, NFS, deletes_named, undecided},
    cloud::server,
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Letters, Name, Part, Place, Provisioner,
    Reference, Snapshots,
};

/// csi-powerflex.
pub static FAMILY: Family = Family {
    id: "powerflex",
    title: "Dell PowerFlex (VxFlex OS)",
    names: &[Name::Is("csi-vxflexos.dellemc.com")],
    identity: "the id of the volume after the last -, or of the file system after the last /, on the \
               system before it; a handle without a system is on the default one",
    attributes: &[FILE_SYSTEM],
    used,
    deletion,
    destroys: "the volume or the file system",
    answers_ok: &["a volume that does not exist", "an id that is not hexadecimal"],
    refuses: &["a volume that is mapped to a node", "a file system with snapshots or with clients"],
    snapshots: Snapshots {
        of_handle: Some(|handle| (!handle.contains('/')).then_some(Fate::Independent)),
        ..Snapshots::all(
            Fate::Blocks,
            "the driver refuses to delete a file system with snapshots; those of block volumes survive",
        )
    },
    provisioner: Provisioner::csi(&["vxflexos-controller"], &["csi-vxflexos"]).without_leader(),
    sources: &[
        "dell/csi-powerflex v2.16.1: service/controller.go, service/service.go getCSIVolume, service/node.go",
    ],
    ..BLOCK
};

/// The attribute with the name of a file system, under which it is exported.
const FILE_SYSTEM: &str = "Name";

/// The space of block volumes.
const VOLUMES: &str = "PowerFlex volume";

/// Splits a handle into its space, the system and the id.
fn read(handle: &str) -> Option<(&'static str, Option<&str>, &str)> {
    let (space, system, id) = match (handle.rsplit_once('/'), handle.rsplit_once('-')) {
        (Some((system, id)), _) => ("PowerFlex file system", Some(system), id),
        (None, Some((system, id))) => (VOLUMES, Some(system), id),
        (None, None) => (VOLUMES, None, handle),
    };
    (!id.is_empty() && handle != INLINE).then_some((space, system, id))
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let Some((space, system, id)) = read(reference.handle) else {
        return vec![undecided(VOLUMES, reference)];
    };
    let system = match system {
        Some(system) => Part::Named(system.into()),
        None => Part::Unknown("the PowerFlex system of one of them is unknown"),
    };
    let mut places = vec![Place::device(space, id).letters(Letters::Alike).of(system)];
    if space != VOLUMES {
        let nas = Part::Unknown("the address at which PowerFlex exports it is unknown");
        let exported = reference.attribute(FILE_SYSTEM).map(|it| Place::directory(NFS, it).of(nas));
        let of_id = || Place::directory(NFS, "/").of(server(format!("PowerFlex file system {id}"), None));
        places.push(exported.unwrap_or_else(of_id));
    }
    places
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match read(deletion.reference.handle) {
        None => Destruction::Undecided(Cow::Borrowed("its handle does not identify a backend \
                                                      volume")),
        Some((VOLUMES, _, id)) if !id.bytes().all(|it| it.is_ascii_hexdigit()) => {
            Destruction::Nothing(Cow::Borrowed("the id in its handle is not hexadecimal"))
        }
        Some((VOLUMES, ..)) => deletes_named(deletion, "the PowerFlex volume"),
        Some(_) => deletes_named(deletion, "the PowerFlex file system"),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn a_volume_is_an_id_on_a_system() {
        let driver = "csi-vxflexos.dellemc.com";
        let mine = places(driver, "4d4a-6a3b", &[]);
        for (handle, expected) in [
            ("4d4a-6A3B", "equal"),
            ("4d4a-6a3c", "apart"),
            ("6a3b", "equal?"),
            ("4d4b-6a3b", "equal?"),
            ("4d4a/6a3b", "apart"),
            ("4d4a-", "equal?"),
        ] {
            assert_eq!(lies(&mine, &places(driver, handle, &[])), expected, "{handle}");
        }
        let answer = |handle| answer(&Case { driver, handle, ..Case::default() });
        assert_eq!(answer("4d4a-6a3b"), "deletes the PowerFlex volume 4d4a-6a3b");
        assert_eq!(answer("my-volume"), "does nothing: the id in its handle is not hexadecimal");
        assert_eq!(answer("4d4a/6a3b"), "deletes the PowerFlex file system 4d4a/6a3b");
    }
}

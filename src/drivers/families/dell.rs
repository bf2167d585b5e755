//! Dell PowerScale, PowerStore, Unity XT and PowerFlex.

use std::borrow::Cow;

use super::basis::{
    BASE, NFS, UNKNOWN_SNAPSHOTS, deletes_named, device, is_uuid, nfs, server, undecided,
    what_it_uses,
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Letters, Name, Part, Place, Provisioner,
    Reference, Snapshots,
};

/// csi-powerscale.
pub(super) static POWERSCALE: Family = Family {
    id: "powerscale",
    title: "Dell PowerScale (Isilon)",
    names: &[Name::Is("csi-isilon.dellemc.com")],
    identity: "the export of the handle NAME=_=_=EXPORT=_=_=ZONE[=_=_=CLUSTER], and the directory Path, \
               which others may contain; many directory-backed volumes share one export",
    attributes: &["Path", "AzServiceIP", "ClusterName"],
    used: powerscale_used,
    deletion: powerscale_deletion,
    destroys: "the quota, the export and the directory that it exports, with everything in it",
    answers_ok: &["an empty handle", "an export that does not exist, also if its directory does"],
    refuses: &["a directory with several exports", "a handle that does not parse"],
    snapshots: UNKNOWN_SNAPSHOTS,
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["isilon-controller"], &["csi-isilon"]).without_leader(),
    sources: &[
        "dell/csi-powerscale v2.16: service/controller.go, common/utils/identifiers/volume.go",
    ],
    ..BASE
};

/// The space of directories of PowerScale.
const POWERSCALE_SPACE: &str = "PowerScale directory";

/// A handle, split as the driver does.
struct Handle<'a> {
    name: &'a str,
    export: u32,
    zone: &'a str,
    cluster: Option<&'a str>,
    has_own_export: bool,
}

impl<'a> Handle<'a> {
    fn read(handle: &'a str) -> Option<Self> {
        let fields: Vec<&str> = handle.split("=_=_=").collect();
        let [name, export, zone, ref rest @ ..] = fields[..] else { return None };
        let cluster = rest.first().copied().filter(|it| !it.is_empty());
        let has_own_export = rest.get(1).is_none();
        Some(Self { name, export: export.parse().ok()?, zone, cluster, has_own_export })
    }
}

fn powerscale_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let Some(handle) = Handle::read(reference.handle) else {
        return vec![undecided(POWERSCALE_SPACE, reference)];
    };
    let attribute = |key| reference.attribute(key);
    let cluster = || match handle.cluster.or(attribute("ClusterName")) {
        Some(cluster) => Part::Named(Cow::Borrowed(cluster)),
        None => Part::Unknown("the PowerScale cluster of one of them is unknown"),
    };
    let mut places = Vec::new();
    if handle.has_own_export {
        let export = format!("{}:{}", handle.zone, handle.export);
        places.push(Place::device("PowerScale export", export).of(cluster()));
    }
    let path = attribute("Path").filter(|path| !path.is_empty());
    match path {
        Some(path) => places.push(Place::directory(POWERSCALE_SPACE, path).of(cluster())),
        // Its name is unique beneath a path that is not known.
        None if !handle.has_own_export => {
            places.push(Place::device("PowerScale volume", handle.name).of(cluster()));
        }
        None => {}
    }
    let server = attribute("AzServiceIP").filter(|it| !it.is_empty());
    let unknown = "the address at which PowerScale exports it is unknown";
    places.extend(path.map(|path| match server {
        Some(server) => nfs(server, path),
        None => Place::directory(NFS, path).of(Part::Unknown(unknown)),
    }));
    places
}

fn powerscale_deletion(deletion: &Deletion<'_>) -> Destruction {
    match (deletion.reference.handle, Handle::read(deletion.reference.handle)) {
        ("", _) => Destruction::Nothing(Cow::Borrowed("its handle is empty")),
        (_, None) => Destruction::Fails(Cow::Borrowed("it cannot read the handle")),
        (_, Some(Handle { name, export, zone, has_own_export: true, .. })) => {
            let what = format!("export {export} of zone {zone} and its directory {name}");
            what_it_uses(deletion, what)
        }
        (_, Some(Handle { name, .. })) => what_it_uses(deletion, format!("the directory {name}")),
    }
}

/// csi-powerstore.
pub(super) static POWERSTORE: Family = Family {
    id: "powerstore",
    title: "Dell PowerStore",
    names: &[Name::Is("csi-powerstore.dellemc.com")],
    identity: "the UUID in the handle UUID[/ARRAY[/PROTOCOL[:UUID/ARRAY]]], whichever way the array is written: by its \
               address or by its id; a metro volume is two. A file system is exported under the name of its volume",
    attributes: &[PV_NAME],
    used: powerstore_used,
    deletion: powerstore_deletion,
    destroys: "the volume, or the NFS export and the file system",
    answers_ok: &["a volume that does not exist"],
    refuses: &["a volume with snapshots", "a handle that does not parse"],
    snapshots: Snapshots::all(Fate::Blocks, "the driver refuses to delete a volume with snapshots"),
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["powerstore-controller"], &["csi-powerstore"]),
    sources: &[
        "dell/csi-powerstore v2.13: pkg/array/array.go ParseVolumeID, pkg/controller/controller.go DeleteVolume",
    ],
    ..BASE
};

/// The space of volumes and file systems.
const POWERSTORE_SPACE: &str = "PowerStore volume";

/// The attribute with the name under which the volume was made.
const PV_NAME: &str = "csi.storage.k8s.io/pv/name";

/// Returns the UUIDs that a handle names, and whether it is that of a file system.
fn powerstore_read(handle: &str) -> Option<(Vec<&str>, bool)> {
    let (local, remote) = handle.split_once(':').map_or((handle, None), |(it, at)| (it, Some(at)));
    let mut fields = local.split('/');
    let id = fields.next().filter(|id| is_uuid(id))?;
    let is_file_system = fields.nth(1).is_some_and(|it| it.eq_ignore_ascii_case("nfs"));
    let remote = remote.and_then(|it| it.split('/').next()).filter(|id| is_uuid(id));
    Some(([id].into_iter().chain(remote).collect(), is_file_system))
}

fn powerstore_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let Some((ids, is_file_system)) = powerstore_read(reference.handle) else {
        return vec![undecided(POWERSTORE_SPACE, reference)];
    };
    let mut places: Vec<_> = ids.iter().map(|id| device(POWERSTORE_SPACE, *id)).collect();
    if is_file_system {
        let unknown = Part::Unknown("the address at which PowerStore exports it is unknown");
        let exported = reference.attribute(PV_NAME).map(|it| Place::directory(NFS, it).of(unknown));
        let id = ids.first().copied().unwrap_or_default();
        let of_id =
            || Place::directory(NFS, "/").of(server(format!("PowerStore file system {id}"), None));
        places.push(exported.unwrap_or_else(of_id));
    }
    places
}

fn powerstore_deletion(deletion: &Deletion<'_>) -> Destruction {
    match powerstore_read(deletion.reference.handle) {
        Some((ids, is_file_system)) => {
            let what = if is_file_system { "file system" } else { "volume" };
            what_it_uses(deletion, format!("the PowerStore {what} {}", ids.join(" and ")))
        }
        None => Destruction::Fails(Cow::Borrowed("it cannot read the handle")),
    }
}

/// csi-unity.
pub(super) static UNITY: Family = Family {
    id: "unity",
    title: "Dell Unity XT",
    names: &[Name::Is("csi-unity.dellemc.com")],
    identity: "the last part of the handle NAME-PROTOCOL-ARRAY-ID, such as sv_77 or fs_12, on its array; older handles \
               are this id alone. A file system is exported under its name",
    used: unity_used,
    deletion: unity_deletion,
    destroys: "the volume, or the NFS share and the file system",
    answers_ok: &["a volume that does not exist"],
    refuses: &["a volume with snapshots"],
    snapshots: Snapshots::all(Fate::Blocks, "the driver refuses to delete a volume with snapshots"),
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["unity-controller"], &["csi-unity"]),
    sources: &[
        "dell/csi-unity v2.13: service/controller.go DeleteVolume, service/service.go getArrayIDFromVolumeContext",
    ],
    ..BASE
};

/// The space of volumes and file systems.
const UNITY_SPACE: &str = "Unity volume";

fn unity_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mut fields = reference.handle.rsplitn(4, '-');
    let id = fields.next().filter(|it| {
        it.split_once('_')
            .is_some_and(|(kind, number)| !kind.is_empty() && number.parse::<u64>().is_ok())
    });
    let Some(id) = id else { return vec![undecided(UNITY_SPACE, reference)] };
    let (array, protocol, name) = (fields.next(), fields.next(), fields.next());
    let array = match array {
        Some(array) => Part::Named(array.into()),
        None => Part::Unknown("the array of one of them is unknown"),
    };
    let mut places = vec![Place::device(UNITY_SPACE, id).letters(Letters::Alike).of(array)];
    if protocol.is_some_and(|it| it.eq_ignore_ascii_case("nfs"))
        && let Some(name) = name
    {
        let server = Part::Unknown("the address at which Unity exports it is unknown");
        places.push(Place::directory(NFS, name).of(server));
    }
    places
}

fn unity_deletion(deletion: &Deletion<'_>) -> Destruction {
    what_it_uses(deletion, format!("the Unity volume {}", deletion.reference.handle))
}

/// csi-powerflex.
pub(super) static POWERFLEX: Family = Family {
    id: "powerflex",
    title: "Dell PowerFlex (VxFlex OS)",
    names: &[Name::Is("csi-vxflexos.dellemc.com")],
    identity: "the id of the volume after the last -, or of the file system after the last /, on the \
               system before it; a handle without a system is on the default one",
    attributes: &[FILE_SYSTEM],
    used: powerflex_used,
    deletion: powerflex_deletion,
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
    ..BASE
};

/// The attribute with the name of a file system, under which it is exported.
const FILE_SYSTEM: &str = "Name";

/// The space of block volumes.
const VOLUMES: &str = "PowerFlex volume";

/// Splits a handle into its space, the system and the id.
fn powerflex_read(handle: &str) -> Option<(&'static str, Option<&str>, &str)> {
    let (space, system, id) = match (handle.rsplit_once('/'), handle.rsplit_once('-')) {
        (Some((system, id)), _) => ("PowerFlex file system", Some(system), id),
        (None, Some((system, id))) => (VOLUMES, Some(system), id),
        (None, None) => (VOLUMES, None, handle),
    };
    (!id.is_empty() && handle != INLINE).then_some((space, system, id))
}

fn powerflex_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let Some((space, system, id)) = powerflex_read(reference.handle) else {
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
        let of_id =
            || Place::directory(NFS, "/").of(server(format!("PowerFlex file system {id}"), None));
        places.push(exported.unwrap_or_else(of_id));
    }
    places
}

fn powerflex_deletion(deletion: &Deletion<'_>) -> Destruction {
    match powerflex_read(deletion.reference.handle) {
        None => Destruction::Undecided(Cow::Borrowed(
            "its handle does not identify a backend \
                                                      volume",
        )),
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
    fn directories_contain_each_other_and_exports_are_numbered() {
        let driver = "csi-isilon.dellemc.com";
        let volume = |handle, path| places(driver, handle, &[("Path", path)]);
        let mine = volume("k8s-a=_=_=19=_=_=System=_=_=one", "/ifs/data/csi/k8s-a");
        for (handle, path, expected) in [
            ("k8s-b=_=_=19=_=_=System=_=_=one", "/ifs/data/csi/k8s-b", "equal"),
            ("k8s-b=_=_=20=_=_=System=_=_=one", "/ifs/data/csi/k8s-b", "apart"),
            ("k8s-b=_=_=20=_=_=System=_=_=one", "/ifs/data", "around"),
            ("k8s-b=_=_=20=_=_=System=_=_=two", "/ifs/data", "around?"),
            ("k8s-b=_=_=20", "/ifs/data", "equal?"),
            ("k8s-b=_=_=19=_=_=System=_=_=one=_=_=directory", "/ifs/data/csi/k8s-b", "apart"),
        ] {
            assert_eq!(lies(&mine, &volume(handle, path)), expected, "{handle} {path}");
        }
        let answer = |handle| answer(&Case { driver, handle, ..Case::default() });
        assert_eq!(answer("k8s-b"), "fails: it cannot read the handle");
        let whole = "deletes export 19 of zone System and its directory k8s-a";
        assert_eq!(answer("k8s-a=_=_=19=_=_=System=_=_=one"), whole);
    }

    #[test]
    fn the_uuid_is_the_volume_however_its_array_is_written() {
        const DRIVER: &str = "csi-powerstore.dellemc.com";
        const ONE: &str = "9f840c56-96e6-4de9-b5a3-27e7c20eaa77";
        const OTHER: &str = "0e2d1b6a-96e6-4de9-b5a3-27e7c20eaa77";
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
        assert_eq!(
            answer(&format!("{ONE}/PS1/scsi")),
            format!("deletes the PowerStore volume {ONE}")
        );
        assert!(answer("imported").starts_with("fails"));
    }

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

//! NFS: csi-driver-nfs, the provisioners of directories, and volumes without a driver.

use std::borrow::Cow;

use super::basis::{
    BASE, DIRECTORY_REMAINS, NFS, NO_SNAPSHOTS, OF_DIRECTORY, OnDelete, join, last_component, nfs,
    undecided,
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reference, Snapshots,
};

/// csi-driver-nfs.
pub(super) static NFS_CSI: Family = Family {
    id: "nfs-csi",
    title: "NFS CSI driver (csi-driver-nfs)",
    names: &[Name::Is("nfs.csi.k8s.io")],
    identity: "server, share and directory: nodes mount by the attributes server, share and \
               subDir, deletion reads the handle SERVER#SHARE#DIRECTORY[#UUID[#ONDELETE]]; servers \
               that are spelled differently may be one",
    attributes: &["server", "share", "subDir"],
    used: csi_used,
    deletion: csi_deletion,
    destroys: "the directory with everything in it, and its empty parents up to the share",
    answers_ok: &[
        "a handle that does not parse",
        "onDelete: retain in the handle, or --default-ondelete-policy=retain",
        "a directory that does not exist",
    ],
    snapshots: Snapshots::all(
        Fate::Independent,
        "they are archives on a share; a volume that contains their directory contains them",
    ),
    provisioner: Provisioner::csi(&["csi-nfs-controller"], &["nfsplugin"]),
    // It answers OK and does nothing.
    expansion: OF_DIRECTORY,
    defects: &[
        "v4.10.0 deletes the topmost directory of a nested subDir (kubernetes-csi/csi-driver-nfs#855)",
        "up to v4.13.4 a handle without a directory deletes everything on the share",
    ],
    sources: &[
        "kubernetes-csi/csi-driver-nfs v4.13.4: pkg/nfs/controllerserver.go, pkg/nfs/nodeserver.go",
    ],
    ..BASE
};

/// A handle, split as the driver does.
struct Handle<'a> {
    server: &'a str,
    share: &'a str,
    directory: &'a str,
    on_delete: &'a str,
}

impl<'a> Handle<'a> {
    fn read(handle: &'a str) -> Option<Self> {
        let mut fields = handle.split('#').map(|it| it.trim_matches('/'));
        if let (Some(server), Some(share), Some(directory)) =
            (fields.next(), fields.next(), fields.next())
        {
            let on_delete = fields.nth(1).unwrap_or_default();
            return (!server.is_empty()).then_some(Self { server, share, directory, on_delete });
        }
        // The old form SERVER/SHARE/DIRECTORY.
        let (server, rest) = handle.split_once('/')?;
        let (share, directory) = rest.rsplit_once('/')?;
        let whole = !server.is_empty() && !directory.is_empty();
        whole.then_some(Self { server, share, directory, on_delete: "" })
    }
}

fn csi_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mounted = reference.attribute("server").zip(reference.attribute("share"));
    let place = match (mounted, Handle::read(reference.handle)) {
        (Some((server, share)), _) => {
            let directory = reference.attribute("subDir").unwrap_or_default();
            directory_of(server, share, directory)
        }
        (None, Some(handle)) => directory_of(handle.server, handle.share, handle.directory),
        (None, None) => undecided(NFS, reference),
    };
    vec![place]
}

/// Returns the directory of a share; nodes fill in names of the claim where it has variables.
fn directory_of<'a>(server: &'a str, share: &'a str, directory: &'a str) -> Place<'a> {
    let share = nfs(server, share);
    match directory.contains("${") {
        true => share.somewhere_within("its subDir contains a variable"),
        false => share.descend(directory),
    }
}

fn csi_deletion(deletion: &Deletion<'_>) -> Destruction {
    let Some(handle) = Handle::read(deletion.reference.handle) else {
        return Destruction::Nothing(Cow::Borrowed("it cannot read the handle"));
    };
    let Handle { server, share, directory, on_delete } = handle;
    let place = directory_of(server, share, directory).into_owned();
    let policy = OnDelete::of(on_delete, deletion);
    policy.destruction(&format!("{server}:/{share}"), directory, place)
}

/// nfs-subdir-external-provisioner.
pub(super) static NFS_SUBDIR: Family = Family {
    id: "nfs-subdir",
    title: "NFS subdirectory provisioner (nfs-subdir-external-provisioner)",
    names: &[
        Name::Is("k8s-sigs.io/nfs-subdir-external-provisioner"),
        Name::Is("fuseim.pri/ifs"),
        Name::Chart("nfs-subdir-external-provisioner"),
        Name::Chart("nfs-client-provisioner"),
    ],
    identity: "server and path; with a pathPattern, paths repeat for a recreated claim, and one \
               path may contain another",
    used: in_tree_used,
    deletion: subdir_deletion,
    destroys: "the directory; or it renames it to archived-NAME, unless the StorageClass has \
               onDelete: delete or archiveOnDelete: false",
    answers_ok: &[
        "a directory that does not exist directly in NFS_PATH",
        "onDelete: retain in the class",
    ],
    refuses: &["a volume whose class does not exist"],
    class_parameters: &["onDelete", "archiveOnDelete"],
    reads_class: true,
    snapshots: NO_SNAPSHOTS,
    object_dropped: Some(DIRECTORY_REMAINS),
    expansion: OF_DIRECTORY,
    provisioner: Provisioner::external(
        &["PROVISIONER_NAME"],
        None,
        &["nfs-subdir-external-provisioner", "nfs-client-provisioner"],
        &["nfs-subdir-external-provisioner", "nfs-client-provisioner"],
    ),
    defects: &[
        "v4.0.2 deletes the directory of this name directly in NFS_PATH, wherever the volume is \
         (kubernetes-sigs/nfs-subdir-external-provisioner#91, #139)",
    ],
    sources: &["kubernetes-sigs/nfs-subdir-external-provisioner v4.0.2 and 386af3f: \
         cmd/nfs-subdir-external-provisioner/provisioner.go Delete"],
    ..BASE
};

/// Action of the provisioner on the directory, as the class says.
enum Fashion {
    Delete,
    Archive,
}

fn subdir_deletion(deletion: &Deletion<'_>) -> Destruction {
    let undecided = |why| Destruction::Undecided(Cow::Borrowed(why));
    let Some((server, path)) = deletion.reference.handle.split_once(":/") else {
        return undecided("its path cannot be read");
    };
    if deletion.class.is_none() {
        return undecided(
            "its StorageClass, which decides what happens to the directory, is \
                          unknown",
        );
    }
    let fashion = match (deletion.parameter("onDelete"), deletion.parameter("archiveOnDelete")) {
        (Some("retain"), _) => return Destruction::Nothing("onDelete is retain".into()),
        (Some("delete"), _) | (_, Some("0" | "f" | "F" | "false" | "False" | "FALSE")) => {
            Fashion::Delete
        }
        (_, None | Some("1" | "t" | "T" | "true" | "True" | "TRUE")) => Fashion::Archive,
        (_, Some(_)) => {
            return Destruction::Fails(Cow::Borrowed("its class has no valid archiveOnDelete"));
        }
    };
    let name = last_component(path);
    let parent = path.trim_end_matches('/').strip_suffix(name).unwrap_or_default();
    let root = deletion.flag("NFS_PATH").map(|it| it.trim_matches('/'));
    // Only the default layout ends in the name of the volume: no pathPattern can contain it.
    let is_default = name.ends_with(&format!("-{}", deletion.volume));
    let root = match root {
        Some(root) => root,
        None if is_default => parent.trim_matches('/'),
        None => return undecided("NFS_PATH of its provisioner was not read"),
    };
    let images = deletion.images.unwrap_or_default();
    let is_nested = root != parent.trim_matches('/');
    if is_nested && !images.iter().any(|image| image.ends_with(":v4.0.2")) {
        return undecided("which directories its provisioner deletes depends on its version");
    }
    let place = nfs(server, root).descend(name).into_owned();
    match fashion {
        Fashion::Delete => Destruction::of(
            place,
            format!("the directory {server}:{}", join(&format!("/{root}"), name)),
        ),
        Fashion::Archive => Destruction::Kept {
            places: vec![place],
            what: format!("renames the directory to archived-{name}").into(),
        },
    }
}

/// nfs-ganesha-server-and-external-provisioner.
pub(super) static NFS_GANESHA: Family = Family {
    id: "nfs-ganesha",
    title: "NFS Ganesha server and provisioner",
    names: &[Name::Is("example.com/nfs"), Name::Chart("nfs-server-provisioner")],
    identity: "server and path; the volume on which the provisioner itself keeps its exports contains \
               all of them",
    used: in_tree_used,
    deletion: ganesha_deletion,
    destroys: "the directory in its export folder that has the name of the volume, and its export",
    answers_ok: &["a directory that does not exist"],
    refuses: &[
        "a volume without its annotations Provisioner_Id and EXPORT_block",
        "silently, a volume that another instance created: the id is a file in the export folder",
    ],
    snapshots: NO_SNAPSHOTS,
    object_dropped: Some(DIRECTORY_REMAINS),
    expansion: OF_DIRECTORY,
    provisioner: Provisioner::external(
        &["-provisioner"],
        Some("example.com/nfs"),
        &["nfs-provisioner", "nfs-server-provisioner"],
        &["nfs-provisioner"],
    ),
    sources: &[
        "kubernetes-sigs/nfs-ganesha-server-and-external-provisioner 2024-01: pkg/volume/delete.go, \
         pkg/volume/provision.go, cmd/nfs-provisioner/main.go",
    ],
    ..BASE
};

fn ganesha_deletion(deletion: &Deletion<'_>) -> Destruction {
    let Some((server, path)) = deletion.reference.handle.split_once(":/") else {
        return Destruction::Undecided(Cow::Borrowed("its path cannot be read"));
    };
    let name = last_component(path);
    if name != deletion.volume {
        let why = "it deletes the directory that has the name of the volume, which is not the one \
                   that the volume uses";
        return Destruction::Undecided(Cow::Borrowed(why));
    }
    Destruction::of(nfs(server, path).into_owned(), format!("the directory {server}:/{path}"))
}

/// The source `nfs`.
pub(super) static NFS_IN_TREE: Family = Family {
    id: "nfs-in-tree",
    title: "NFS without a driver (source nfs)",
    names: &[Name::Is("nfs")],
    identity: "server and path; servers that are spelled differently may be one",
    used: in_tree_used,
    deletion: |_| Destruction::Fails(Cow::Borrowed("no controller deletes volumes of source nfs")),
    destroys: "nothing, unless a provisioner of its own created the volume",
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::NOBODY,
    expansion: OF_DIRECTORY,
    sources: &["kubernetes v1.36.3: pkg/volume/nfs/nfs.go has no deleter"],
    ..BASE
};

/// Reads `SERVER:PATH`.
pub(super) fn in_tree_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let place = match reference.handle.split_once(":/") {
        Some((server, path)) if !server.is_empty() => nfs(server, path),
        _ => undecided(NFS, reference),
    };
    vec![place]
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn what_is_mounted_is_a_directory_of_a_share() {
        const DRIVER: &str = "nfs.csi.k8s.io";
        let mine = places(DRIVER, "nas#export#team/pvc-1##", &[]);
        for (handle, server, share, directory, expected) in [
            ("nas/export/team/pvc-1", "", "", "", "equal"),
            ("nas#/export/team#pvc-1#uuid#", "", "", "", "equal"),
            ("nas#export#team##", "", "", "", "around"),
            ("nas#export#", "", "", "", "around"),
            ("nas#export#team/pvc-10##", "", "", "", "apart"),
            ("10.0.0.1#export#team/pvc-1##", "", "", "", "equal?"),
            ("x", "nas", "/export/team", "pvc-1/logs", "inside"),
            ("x", "nas", "/export", "${pvc.metadata.namespace}", "around?"),
            ("x", "", "", "", "equal?"),
        ] {
            let pairs = [("server", server), ("share", share), ("subDir", directory)];
            let given = if server.is_empty() { &[][..] } else { &pairs };
            assert_eq!(lies(&mine, &places(DRIVER, handle, given)), expected, "{handle} {share}");
        }
        assert_eq!(lies(&mine, &places("nfs", "nas:/export", &[])), "around");
    }

    #[test]
    fn the_handle_and_the_flag_decide_what_is_deleted() {
        const DRIVER: &str = "nfs.csi.k8s.io";
        for (handle, arguments, expected) in [
            ("nas#export#d##", &[][..], "deletes the directory d of nas:/export"),
            ("nas#export#d#u#retain", &[], "does nothing: onDelete is retain"),
            (
                "nas#export#d##",
                &["--default-ondelete-policy=Retain"],
                "does nothing: onDelete is retain",
            ),
            (
                "nas#export#d##",
                &["--default-ondelete-policy=$(POLICY)"],
                "undecided: its controller is started by a \
              line of a shell or with a variable, which may set --default-ondelete-policy",
            ),
            (
                "nas#export#d##",
                &["$"],
                "undecided: its controller is started by a line of a shell or with a variable, \
              which may set --default-ondelete-policy",
            ),
            ("nas#export#d#u#delete", &["$"], "deletes the directory d of nas:/export"),
            (
                "nas#export#d#u#delete",
                &["--default-ondelete-policy=retain"],
                "deletes the directory d of nas:/export",
            ),
            ("nas#export#d#u#archive", &[], "renames the directory to archived-d"),
            ("nas#export#", &[], "deletes everything on the share nas:/export"),
            ("nas", &[], "does nothing: it cannot read the handle"),
        ] {
            let case = Case { driver: DRIVER, handle, arguments, ..Case::default() };
            assert_eq!(answer(&case), expected, "{handle}");
        }
    }

    #[test]
    fn the_class_and_the_version_decide() {
        let plain = "nas:/export/shop-data-pv-1";
        let nested = "nas:/export/shop/data";
        let deletes = "deletes the directory nas:/export/shop-data-pv-1";
        let delete = Some(&[("archiveOnDelete", "false")][..]);
        let old = Some(&["registry.k8s.io/sig-storage/nfs-subdir-external-provisioner:v4.0.2"][..]);
        let path = &["NFS_PATH=/export"][..];
        for (handle, class, arguments, images, expected) in [
            (plain, delete, &[][..], None, deletes),
            (plain, Some(&[("onDelete", "delete")][..]), path, old, deletes),
            (plain, Some(&[][..]), path, None, "renames the directory to archived-shop-data-pv-1"),
            (
                plain,
                Some(&[("onDelete", "retain")][..]),
                path,
                None,
                "does nothing: onDelete is retain",
            ),
            (
                plain,
                Some(&[("archiveOnDelete", "no")][..]),
                path,
                None,
                "fails: its class has no valid archiveOnDelete",
            ),
            (
                plain,
                None,
                path,
                None,
                "undecided: its StorageClass, which decides what happens to \
                                       the directory, is unknown",
            ),
            // The directory of another volume.
            (nested, delete, path, old, "deletes the directory nas:/export/data"),
            (
                nested,
                delete,
                path,
                None,
                "undecided: which directories its provisioner deletes depends on its version",
            ),
            (nested, delete, &[][..], None, "undecided: NFS_PATH of its provisioner was not read"),
            ("nas:/export/data", delete, path, None, "deletes the directory nas:/export/data"),
        ] {
            let owner = "k8s-sigs.io/nfs-subdir-external-provisioner";
            let case =
                Case { driver: "nfs", owner, handle, class, arguments, images, ..Case::default() };
            assert_eq!(answer(&case), expected, "{handle} {class:?}");
        }
    }

    #[test]
    fn it_deletes_by_the_name_of_the_volume() {
        let answer = |handle| {
            answer(&Case { driver: "nfs", owner: "example.com/nfs", handle, ..Case::default() })
        };
        assert_eq!(answer("10.0.0.1:/export/pv-1"), "deletes the directory 10.0.0.1:/export/pv-1");
        let other = answer("10.0.0.1:/export/pv-2");
        assert!(
            other.starts_with("undecided: it deletes the directory that has the name"),
            "{other}"
        );
    }
}

//! nfs-subdir-external-provisioner, and nfs-client-provisioner before it.

use std::borrow::Cow;

use super::{
    basis::{SHARE, join, last_component, nfs},
    nfs_in_tree,
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, ObjectDropped, Provisioner, ProvisionerKind,
    Snapshots,
};

/// nfs-subdir-external-provisioner.
pub static FAMILY: Family = Family {
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
    used: nfs_in_tree::used,
    deletion,
    destroys: "the directory; or it renames it to archived-NAME, unless the StorageClass has \
               onDelete: delete or archiveOnDelete: false",
    answers_ok: &[
        "a directory that does not exist directly in NFS_PATH",
        "onDelete: retain in the class",
    ],
    refuses: &["a volume whose class does not exist"],
    class_parameters: &["onDelete", "archiveOnDelete"],
    reads_class: true,
    snapshots: Snapshots::all(Fate::None, "there are none"),
    object_dropped: Some(ObjectDropped::Notice(
        "its provisioner sets no finalizer: the directory remains, and no PersistentVolume \
         references it",
    )),
    provisioner: Provisioner {
        kind: ProvisionerKind::External {
            configured_by: &["PROVISIONER_NAME"],
            default_name: None,
        },
        workloads: &["nfs-subdir-external-provisioner", "nfs-client-provisioner"],
        images: &["nfs-subdir-external-provisioner", "nfs-client-provisioner"],
        elects_leader: false,
        hidden: None,
    },
    defects: &[
        "v4.0.2 deletes the directory of this name directly in NFS_PATH, wherever the volume is \
         (kubernetes-sigs/nfs-subdir-external-provisioner#91, #139)",
    ],
    sources: &[
        "kubernetes-sigs/nfs-subdir-external-provisioner v4.0.2 and 386af3f: \
         cmd/nfs-subdir-external-provisioner/provisioner.go Delete",
    ],
    ..SHARE
};

/// What it does with the directory, as the class says.
enum Fashion {
    Delete,
    Archive,
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let undecided = |why| Destruction::Undecided(Cow::Borrowed(why));
    let Some((server, path)) = deletion.reference.handle.split_once(":/") else {
        return undecided("its path cannot be read");
    };
    if deletion.class.is_none() {
        return undecided("its StorageClass, which decides what happens to the directory, is \
                          unknown");
    }
    let fashion = match (deletion.parameter("onDelete"), deletion.parameter("archiveOnDelete")) {
        (Some("retain"), _) => return Destruction::Nothing("onDelete is retain".into()),
        (Some("delete"), _)
        | (_, Some("0" | "f" | "F" | "false" | "False" | "FALSE")) => Fashion::Delete,
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
        Fashion::Delete => {
            Destruction::of(place, format!("the directory {server}:{}", join(&format!("/{root}"), name)))
        }
        Fashion::Archive => Destruction::Kept {
            places: vec![place],
            what: format!("renames the directory to archived-{name}").into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer};

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
            (plain, Some(&[("onDelete", "retain")][..]), path, None, "does nothing: onDelete is retain"),
            (plain, Some(&[("archiveOnDelete", "no")][..]), path, None, "fails: its class has no valid archiveOnDelete"),
            (plain, None, path, None, "undecided: its StorageClass, which decides what happens to \
                                       the directory, is unknown"),
            // The directory of another volume.
            (nested, delete, path, old, "deletes the directory nas:/export/data"),
            (nested, delete, path, None, "undecided: which directories its provisioner deletes depends on its version"),
            (nested, delete, &[][..], None, "undecided: NFS_PATH of its provisioner was not read"),
            ("nas:/export/data", delete, path, None, "deletes the directory nas:/export/data"),
        ] {
            let owner = "k8s-sigs.io/nfs-subdir-external-provisioner";
            let case = Case { driver: "nfs", owner, handle, class, arguments, images, ..Case::default() };
            assert_eq!(answer(&case), expected, "{handle} {class:?}");
        }
    }
}

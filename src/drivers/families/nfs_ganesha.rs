//! nfs-ganesha-server-and-external-provisioner.

use std::borrow::Cow;

use super::{
    basis::{SHARE, last_component, nfs},
    nfs_in_tree,
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, ObjectDropped, Provisioner, ProvisionerKind,
    Snapshots,
};

/// nfs-ganesha-server-and-external-provisioner.
pub static FAMILY: Family = Family {
    id: "nfs-ganesha",
    title: "NFS Ganesha server and provisioner",
    names: &[Name::Is("example.com/nfs"), Name::Chart("nfs-server-provisioner")],
    identity: "server and path; the volume on which the provisioner itself keeps its exports contains \
               all of them",
    used: nfs_in_tree::used,
    deletion,
    destroys: "the directory in its export folder that has the name of the volume, and its export",
    answers_ok: &["a directory that does not exist"],
    refuses: &[
        "a volume without its annotations Provisioner_Id and EXPORT_block",
        "silently, a volume that another instance created: the id is a file in the export folder",
    ],
    snapshots: Snapshots::all(Fate::None, "there are none"),
    object_dropped: Some(ObjectDropped::Notice(
        "its provisioner sets no finalizer: the directory remains, and no PersistentVolume \
         references it",
    )),
    provisioner: Provisioner {
        kind: ProvisionerKind::External {
            configured_by: &["-provisioner"],
            default_name: Some("example.com/nfs"),
        },
        workloads: &["nfs-provisioner", "nfs-server-provisioner"],
        images: &["nfs-provisioner"],
        elects_leader: false,
        hidden: None,
    },
    sources: &[
        "kubernetes-sigs/nfs-ganesha-server-and-external-provisioner 2024-01: pkg/volume/delete.go, \
         pkg/volume/provision.go, cmd/nfs-provisioner/main.go",
    ],
    ..SHARE
};

fn deletion(deletion: &Deletion<'_>) -> Destruction {
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

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer};

    #[test]
    fn it_deletes_by_the_name_of_the_volume() {
        let answer = |handle| {
            answer(&Case { driver: "nfs", owner: "example.com/nfs", handle, ..Case::default() })
        };
        assert_eq!(answer("10.0.0.1:/export/pv-1"), "deletes the directory 10.0.0.1:/export/pv-1");
        let other = answer("10.0.0.1:/export/pv-2");
        assert!(other.starts_with("undecided: it deletes the directory that has the name"), "{other}");
    }
}

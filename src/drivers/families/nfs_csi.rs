//! csi-driver-nfs: `nfs.csi.k8s.io`.

use std::borrow::Cow;

use super::common::{NFS, OnDelete, SHARE, join, nfs, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reference, Snapshots,
};

/// csi-driver-nfs.
pub static FAMILY: Family = Family {
    id: "nfs-csi",
    title: "NFS CSI driver (csi-driver-nfs)",
    names: &[Name::Is("nfs.csi.k8s.io")],
    identity: "server, share and directory: nodes mount what the attributes server, share and subDir \
               say, deletion reads the handle SERVER#SHARE#DIRECTORY[#UUID[#ONDELETE]]; servers that \
               are spelled differently may be one",
    attributes: &["server", "share", "subDir"],
    used,
    deletion,
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
    defects: &[
        "v4.10.0 deletes the topmost directory of a nested subDir (kubernetes-csi/csi-driver-nfs#855)",
        "up to v4.13.4 a handle without a directory deletes everything on the share",
    ],
    sources: &[
        "kubernetes-csi/csi-driver-nfs v4.13.4: pkg/nfs/controllerserver.go, pkg/nfs/nodeserver.go",
    ],
    ..SHARE
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
        let fields: Vec<&str> = handle.split('#').map(|it| it.trim_matches('/')).collect();
        match fields[..] {
            [server, share, directory, ref rest @ ..] => {
                let on_delete = rest.get(1).copied().unwrap_or_default();
                (!server.is_empty()).then_some(Self { server, share, directory, on_delete })
            }
            // The old form SERVER/SHARE/DIRECTORY.
            _ => {
                let (server, rest) = handle.split_once('/')?;
                let (share, directory) = rest.rsplit_once('/')?;
                let whole = !server.is_empty() && !directory.is_empty();
                whole.then_some(Self { server, share, directory, on_delete: "" })
            }
        }
    }
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
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

/// The directory of a share; nodes fill in names of the claim where it has variables.
fn directory_of<'a>(server: &'a str, share: &'a str, directory: &'a str) -> Place<'a> {
    match directory {
        "" => nfs(server, share),
        filled if filled.contains("${") => {
            nfs(server, share).somewhere_within("its subDir contains a variable")
        }
        directory => nfs(server, &join(share, directory)).into_owned(),
    }
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let Some(handle) = Handle::read(deletion.reference.handle) else {
        return Destruction::Nothing(Cow::Borrowed("it cannot read the handle"));
    };
    let Handle { server, share, directory, on_delete } = handle;
    let place = directory_of(server, share, directory).into_owned();
    let policy = OnDelete::of(on_delete, deletion);
    policy.destruction(&format!("{server}:/{share}"), directory, place)
}

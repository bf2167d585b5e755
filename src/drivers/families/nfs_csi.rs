//! csi-driver-nfs: `nfs.csi.k8s.io`.

use std::borrow::Cow;

use super::basis::{NFS, OnDelete, SHARE, nfs, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reference, Snapshots,
};

/// csi-driver-nfs.
pub static FAMILY: Family = Family {
    id: "nfs-csi",
    title: "NFS CSI driver (csi-driver-nfs)",
    names: &[Name::Is("nfs.csi.k8s.io")],
    identity: "server, share and directory: nodes mount by the attributes server, share and \
               subDir, deletion reads the handle SERVER#SHARE#DIRECTORY[#UUID[#ONDELETE]]; servers \
               that are spelled differently may be one",
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
    let share = nfs(server, share);
    match directory.contains("${") {
        true => share.somewhere_within("its subDir contains a variable"),
        false => share.descend(directory),
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

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "nfs.csi.k8s.io";

    #[test]
    fn what_is_mounted_is_a_directory_of_a_share() {
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
        for (handle, arguments, expected) in [
            ("nas#export#d##", &[][..], "deletes the directory d of nas:/export"),
            ("nas#export#d#u#retain", &[], "does nothing: onDelete is retain"),
            ("nas#export#d##", &["--default-ondelete-policy=Retain"], "does nothing: onDelete is retain"),
            ("nas#export#d##", &["--default-ondelete-policy=$(POLICY)"], "undecided: its controller is started by a \
              line of a shell or with a variable, which may set --default-ondelete-policy"),
            ("nas#export#d##", &["$"], "undecided: its controller is started by a line of a shell or with a variable, \
              which may set --default-ondelete-policy"),
            ("nas#export#d#u#delete", &["$"], "deletes the directory d of nas:/export"),
            ("nas#export#d#u#delete", &["--default-ondelete-policy=retain"], "deletes the directory d of nas:/export"),
            ("nas#export#d#u#archive", &[], "renames the directory to archived-d"),
            ("nas#export#", &[], "deletes everything on the share nas:/export"),
            ("nas", &[], "does nothing: it cannot read the handle"),
        ] {
            let case = Case { driver: DRIVER, handle, arguments, ..Case::default() };
            assert_eq!(answer(&case), expected, "{handle}");
        }
    }
}

//! The CSI driver of Synology: `csi.san.synology.com`.

use super::{
    basis::{SHARE, deletes_named, named, nfs},
    smb,
};
use crate::drivers::{Family, Fate, Name, Place, Provisioner, Reference, Snapshots};

/// synology-csi.
pub static FAMILY: Family = Family {
    id: "synology",
    title: "Synology CSI driver",
    names: &[Name::Is("csi.san.synology.com")],
    identity: "the uuid of the LUN or of the shared folder, on whichever DSM has it; and the share that \
               nodes mount",
    attributes: &["protocol", "source", "dsm", "baseDir"],
    used,
    deletion: |it| {
        let what = match it.reference.attribute("protocol") {
            Some("smb" | "nfs") => "the whole shared folder",
            Some("iscsi") => "the LUN",
            _ => "the LUN or the whole shared folder",
        };
        deletes_named(it, what)
    },
    destroys: "the LUN, with its target if that has no other; for SMB and NFS the whole shared folder",
    answers_ok: &["a uuid that no configured DSM has, also while that DSM does not answer"],
    snapshots: Snapshots::all(
        Fate::Unknown,
        "unknown whether they are destroyed with their volume",
    ),
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["synology-csi-controller"], &["synology-csi"]).without_leader(),
    sources: &["SynologyOpenSource/synology-csi v1.2.1: pkg/dsm/service/dsm.go, deploy"],
    ..SHARE
};

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mut places = named("Synology volume", reference);
    let attribute = |key| reference.attribute(key);
    match attribute("protocol") {
        Some("smb") => places.extend(attribute("source").and_then(|it| smb::share(it, ""))),
        Some("nfs") => {
            let mounted = attribute("dsm").zip(attribute("baseDir"));
            places.extend(mounted.map(|(server, path)| nfs(server, path)));
        }
        _ => {}
    }
    places
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn a_shared_folder_may_be_mounted_by_others() {
        let driver = "csi.san.synology.com";
        let share = [("protocol", "smb"), ("source", "//nas/pvc-a")];
        let other = [("source", "//nas/pvc-a"), ("subDir", "logs")];
        let mine = places(driver, "6a3b", &share);
        assert_eq!(lies(&mine, &places("smb.csi.k8s.io", "x", &other)), "inside");
        let case = Case { driver, handle: "6a3b", attributes: &share, ..Case::default() };
        assert_eq!(answer(&case), "deletes the whole shared folder 6a3b");
    }
}

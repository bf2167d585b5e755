//! democratic-csi: `org.democratic-csi.NAME`, one driver for each release of its chart.

use std::borrow::Cow;

use super::{
    basis::{BASE, nfs, undecided, what_it_uses},
    smb, without_deleter,
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Letters, Name, Part, Place, Provisioner,
    Reference, Snapshots,
};

/// democratic-csi.
pub(super) static DEMOCRATIC_CSI: Family = Family {
    id: "democratic-csi",
    title: "democratic-csi (ZFS, TrueNAS, Synology, NFS client and others)",
    names: &[Name::BeginsWith("org.democratic-csi.")],
    identity: "the name beneath the parent dataset or directory, which only the configuration of \
               the driver contains: two releases may have the same; and the share or LUN that \
               nodes mount",
    attributes: &["node_attach_driver", "server", "share", "portal", "iqn", "lun"],
    marks: &["provisioner_driver"],
    telling: &[&["node_attach_driver"], &["provisioner_driver"]],
    used,
    deletion,
    destroys: "the dataset with its snapshots and everything beneath it, or the directory",
    answers_ok: &["every volume, if its configuration has deleteStrategy: retain"],
    refuses: &["a dataset with clones elsewhere", "volumes of the driver node-manual"],
    deletes_on_node: None,
    snapshots: Snapshots {
        // VOLUME@SNAPSHOT is in the dataset; VOLUME/SNAPSHOT is a dataset of its own.
        of_handle: Some(|handle| {
            let is_detached = handle.contains('/') && !handle.contains('@');
            (is_detached || handle.contains("snapshot_driver=")).then_some(Fate::Independent)
        }),
        volume_of_handle: Some(|handle| Some(handle.split_once('@')?.0)),
        ..Snapshots::all(
            Fate::Dies,
            "the dataset is destroyed with its snapshots; only detached ones, and those of directories, \
             are copies",
        )
    },
    clones: Fate::Blocks,
    provisioner: Provisioner::csi(&[], &["democratic-csi"]).without_leader(),
    sources: &["democratic-csi/democratic-csi v1.9.4: src/driver/controller-zfs/index.js, \
         src/driver/controller-client-common/index.js, src/driver/node-manual/index.js, examples; \
         issues 456, 549"],
    ..BASE
};

/// The space of the driver's datasets and directories.
const SPACE: &str = "democratic-csi volume";

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mut places = match reference.handle {
        "" | INLINE => vec![undecided(SPACE, reference)],
        name => vec![
            Place::device(SPACE, name)
                .letters(Letters::Distinct)
                .of(Part::Named(reference.driver.into())),
        ],
    };
    let attribute = |key| reference.attribute(key);
    let mounted = match attribute("node_attach_driver") {
        Some("nfs") => {
            attribute("server").zip(attribute("share")).map(|(server, share)| nfs(server, share))
        }
        Some("smb") => attribute("server")
            .zip(attribute("share"))
            .and_then(|(server, share)| smb::share(&format!("//{server}/{share}"), "")),
        Some("iscsi") => attribute("iqn").map(|iqn| {
            let portal = attribute("portal").unwrap_or_default();
            without_deleter::lun(portal, iqn, attribute("lun").unwrap_or("0"))
        }),
        _ => None,
    };
    places.extend(mounted);
    places
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    if deletion.reference.attribute("provisioner_driver") == Some("node-manual")
        || deletion.owner.ends_with("node-manual")
    {
        return Destruction::Fails(Cow::Borrowed("the driver node-manual deletes nothing"));
    }
    let name = deletion.reference.handle;
    what_it_uses(deletion, format!("the dataset or directory {name} with everything in it"))
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn two_releases_may_have_the_same_parent() {
        let share = |driver, handle, path| {
            let pairs = [("node_attach_driver", "nfs"), ("server", "nas"), ("share", path)];
            places(driver, handle, &pairs)
        };
        let mine = share("org.democratic-csi.nfs", "pvc-a", "/mnt/tank/k8s/pvc-a");
        for (driver, handle, path, expected) in [
            ("org.democratic-csi.nfs", "pvc-b", "/mnt/tank/k8s/pvc-b", "apart"),
            ("org.democratic-csi.nfs", "pvc-b", "/mnt/tank/k8s", "around"),
            ("org.democratic-csi.two", "pvc-a", "/mnt/tank/other/pvc-a", "equal?"),
        ] {
            assert_eq!(lies(&mine, &share(driver, handle, path)), expected, "{driver} {path}");
        }
        assert_eq!(lies(&mine, &places("nfs", "nas:/mnt/tank", &[])), "around");
        let lun = |lun| {
            let pairs = [
                ("node_attach_driver", "iscsi"),
                ("portal", "nas:3260"),
                ("iqn", "iqn.a"),
                ("lun", lun),
            ];
            places("org.democratic-csi.iscsi", "pvc-c", &pairs)
        };
        assert_eq!(lies(&lun("0"), &places("iscsi", "nas:3260,iqn.a,0", &[])), "equal");
        let case =
            Case { driver: "org.democratic-csi.node-manual", handle: "x", ..Case::default() };
        assert_eq!(answer(&case), "fails: the driver node-manual deletes nothing");
    }
}

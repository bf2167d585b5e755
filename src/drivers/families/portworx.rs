//! Portworx: `pxd.portworx.com`, and the in-tree volumes that were migrated to it.

use super::basis::{BLOCK, NFS, deletes_named, device, undecided};
use crate::drivers::{
    Family, Fate, INLINE, Name, Part, Place, Provisioner, Reference, Snapshots,
};

/// Portworx.
pub static FAMILY: Family = Family {
    id: "portworx",
    title: "Portworx",
    names: &[Name::Is("pxd.portworx.com"), Name::Is("kubernetes.io/portworx-volume")],
    identity: "the id of the Portworx volume, shared with in-tree portworxVolume; static volumes may \
               have its name instead. A volume for several nodes is exported at /var/lib/osd/pxns/ID",
    used,
    deletion: |it| deletes_named(it, "the Portworx volume"),
    destroys: "the volume with its replicas",
    answers_ok: &["an id that does not exist"],
    refuses: &["a volume that its Secret does not own"],
    deletes_on_node: None,
    snapshots: Snapshots::all(
        Fate::Unknown,
        "unknown whether they are destroyed with their volume",
    ),
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["px-csi-ext"], &[]),
    sources: &[
        "libopenstorage/openstorage 2025-03: csi/controller.go, api/server/sdk/volume_ops.go",
        "kubernetes/csi-translation-lib plugins/portworx.go",
    ],
    ..BLOCK
};

/// The space of volumes.
const SPACE: &str = "Portworx volume";

/// Names are told apart from each other, and not from ids.
fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    match reference.handle {
        "" | INLINE => vec![undecided(SPACE, reference)],
        id if id.bytes().all(|it| it.is_ascii_digit()) => {
            let server = Part::Unknown("unknown which node exports it");
            let export = Place::directory(NFS, "/var/lib/osd/pxns").descend(id).of(server);
            vec![device(SPACE, id), export]
        }
        name => {
            let why = "a Portworx volume is known by its name or by its id";
            vec![Place::undecided(SPACE, name, why).of(Part::Is(name.into()))]
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{lies, places};

    #[test]
    fn a_name_may_be_that_of_any_id() {
        let volume = |handle| places("pxd.portworx.com", handle, &[]);
        for (one, other, expected) in [
            ("1017", "1017", "equal"),
            ("1017", "1018", "apart"),
            ("1017", "shared-data", "equal?"),
            ("shared-data", "shared-data", "equal"),
            ("shared-data", "shared-logs", "apart"),
        ] {
            assert_eq!(lies(&volume(one), &volume(other)), expected, "{one} {other}");
        }
        let mounted = places("nfs", "node-1:/var/lib/osd/pxns/1017", &[]);
        assert_eq!(lies(&volume("1017"), &mounted), "equal?");
    }
}

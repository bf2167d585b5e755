//! GlusterFS, whose plugin Kubernetes no longer has: the source `glusterfs`.

use std::borrow::Cow;

use super::basis::{SHARE, undecided};
use crate::drivers::{
    Destruction, Family, Fate, Name, Part, Place, Provisioner, Reference, Snapshots,
};

/// The source `glusterfs`.
pub static FAMILY: Family = Family {
    id: "glusterfs",
    title: "GlusterFS (source glusterfs)",
    names: &[Name::Is("glusterfs"), Name::Is("kubernetes.io/glusterfs")],
    identity: "the name of the Endpoints and the Gluster volume; other Endpoints may lead to the same \
               servers",
    used,
    deletion: |_| Destruction::Fails(Cow::Borrowed("no controller deletes volumes of source glusterfs")),
    destroys: "nothing",
    snapshots: Snapshots::all(Fate::None, "there are none"),
    clones: Fate::None,
    provisioner: Provisioner::NOBODY,
    sources: &["kubernetes v1.26 removed pkg/volume/glusterfs"],
    ..SHARE
};

/// The space of Gluster volumes.
const SPACE: &str = "GlusterFS";

/// Reads `ENDPOINTS:/PATH`.
fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    vec![match reference.handle.split_once(":/") {
        Some((endpoints, path)) if !endpoints.is_empty() => {
            Place::directory(SPACE, path).of(Part::Named(endpoints.into()))
        }
        _ => undecided(SPACE, reference),
    }]
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{lies, places};

    #[test]
    fn other_endpoints_may_lead_to_the_same_servers() {
        let mine = places("glusterfs", "gluster:/vol1", &[]);
        for (handle, expected) in [
            ("gluster:/vol1", "equal"),
            ("gluster:/vol1/team", "inside"),
            ("gluster2:/vol1", "equal?"),
            ("gluster:/vol2", "apart"),
            ("vol1", "equal?"),
        ] {
            assert_eq!(lies(&mine, &places("glusterfs", handle, &[])), expected, "{handle}");
        }
    }
}

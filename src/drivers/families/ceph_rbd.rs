//! Ceph block devices: `rbd.csi.ceph.com`, also under the names that Rook gives.

use std::borrow::Cow;

use super::basis::{BLOCK, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Letters, Name, Part, Place, Provisioner, Reference,
    Snapshots,
};

/// ceph-csi RBD.
pub static FAMILY: Family = Family {
    id: "ceph-rbd",
    title: "Ceph RBD (ceph-csi, Rook)",
    names: &[Name::EndsWith("rbd.csi.ceph.com"), Name::Is("rbd")],
    identity: "the image: csi-vol-UUID of a composed handle, or imageName; statically provisioned \
               volumes reference the image in their handle. One image may be known under several \
               clusters and pools",
    attributes: &["imageName", "staticVolume", "pool", "clusterID"],
    used,
    deletion,
    destroys: "the image, which is moved to the trash of its pool and removed later",
    answers_ok: &["a pool that does not exist", "an image without its entry in the pool's journal"],
    refuses: &["an image that a client has open", "a handle that was not composed by ceph-csi"],
    snapshots: Snapshots::all(Fate::Independent, "they are images of their own"),
    provisioner: Provisioner::csi(&["csi-rbdplugin-provisioner"], &["cephcsi"]),
    sources: &[
        "ceph/ceph-csi v3.12: internal/util/volid.go, internal/rbd/controllerserver.go DeleteVolume, docs/static-pvc.md",
        "rook/rook v1.20: pkg/operator/ceph/csi/config.go",
    ],
    ..BLOCK
};

/// The space of images.
const SPACE: &str = "RBD image";

/// A handle `VVVV-LLLL-CLUSTER-POOL-UUID`, as ceph-csi composes it for images and subvolumes.
pub(super) struct Composed<'a> {
    /// The cluster of the handle.
    pub(super) cluster: &'a str,
    /// The pool or the file system, as 16 hexadecimal digits.
    pub(super) location: &'a str,
    /// The uuid of the object.
    pub(super) uuid: &'a str,
}

impl<'a> Composed<'a> {
    /// Reads it (`internal/util/volid.go`, `DecomposeCSIID`).
    pub(super) fn read(handle: &'a str) -> Option<Self> {
        let length = usize::from_str_radix(handle.get(5..9)?, 16).ok()?;
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let cluster = handle.get(10..10 + length)?;
        let rest = handle.get(10 + length..)?.strip_prefix('-')?;
        let (location, uuid) = (rest.get(..16)?, rest.get(16..)?.strip_prefix('-')?);
        let whole = is_hex(handle.get(..4)?)
            && handle.get(4..5)? == "-"
            && handle.get(9..10)? == "-"
            && is_hex(location)
            && uuid.len() == 36;
        whole.then_some(Self { cluster, location, uuid })
    }
}

fn image<'a>(name: impl Into<Cow<'a, str>>, cluster: &'a str, pool: &'a str) -> Place<'a> {
    Place::device(SPACE, name)
        .letters(Letters::Unclear)
        .of(Part::Named(cluster.into()))
        .of(Part::Named(pool.into()))
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let cluster = reference.attribute("clusterID");
    let pool = reference.attribute("pool");
    let place = if reference.driver == "rbd" {
        in_tree(reference)
    } else if let Some(it) = Composed::read(reference.handle) {
        let name = match reference.attribute("imageName") {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("csi-vol-{}", it.uuid)),
        };
        image(name, it.cluster, it.location)
    } else if reference.attribute("staticVolume").is_some_and(|it| it.eq_ignore_ascii_case("true")) {
        let part = |text: Option<&'a str>, why| {
            text.map_or(Part::Unknown(why), |text| Part::Named(Cow::Borrowed(text)))
        };
        Place::device(SPACE, reference.handle)
            .of(part(cluster, "the Ceph cluster of one of them is unknown"))
            .of(part(pool, "the pool of one of them is unknown"))
    } else {
        undecided(SPACE, reference)
    };
    vec![place]
}

/// Reads `MONITORS POOL/IMAGE` of the in-tree source `rbd`.
fn in_tree<'a>(reference: &Reference<'a>) -> Place<'a> {
    let split = reference.handle.rsplit_once(' ').and_then(|(monitors, rest)| {
        let (pool, name) = rest.split_once('/')?;
        Some((monitors, pool, name))
    });
    match split {
        Some((monitors, pool, name)) if !name.is_empty() => image(name, monitors, pool),
        _ => undecided(SPACE, reference),
    }
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let reference = &deletion.reference;
    match Composed::read(reference.handle) {
        Some(it) => {
            let places = used(reference).into_iter().map(Place::into_owned).collect();
            let name = reference.attribute("imageName").map_or_else(|| format!("csi-vol-{}", it.uuid), str::to_owned);
            Destruction::Storage { places, what: format!("the RBD image {name}").into() }
        }
        // csi-provisioner translates a migrated volume into a handle with mig_mons-.
        None if reference.handle.contains("mig_mons-") || reference.driver == "rbd" => {
            Destruction::Undecided(Cow::Borrowed(
                "it is an in-tree volume, whose image other volumes may reference differently",
            ))
        }
        None => Destruction::Fails(Cow::Borrowed("ceph-csi did not compose its handle")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const ONE: &str =
        "0001-0009-rook-ceph-0000000000000002-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
    const NAME: &str = "csi-vol-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";

    #[test]
    fn an_image_may_be_known_under_several_pools() {
        let driver = "rook-ceph.rbd.csi.ceph.com";
        let mine = places(driver, ONE, &[("imageName", NAME), ("pool", "replicapool")]);
        let fixed = |pool| {
            let pairs = [("staticVolume", "true"), ("clusterID", "rook-ceph"), ("pool", pool)];
            places(driver, NAME, &pairs)
        };
        assert_eq!(lies(&mine, &places("rbd.csi.ceph.com", ONE, &[])), "equal");
        assert_eq!(lies(&mine, &fixed("replicapool")), "equal?");
        assert_eq!(lies(&mine, &places("rbd", &format!("10.0.0.1 replicapool/{NAME}"), &[])), "equal?");
        assert_eq!(lies(&fixed("a"), &fixed("a")), "equal");
        for (other, expected) in [
            (ONE.replace("e1b00", "e1b01"), "apart"),
            (ONE.replace("0002-8", "0007-8"), "equal?"),
            ("odd".to_owned(), "equal?"),
        ] {
            assert_eq!(lies(&mine, &places(driver, &other, &[])), expected, "{other}");
        }
    }

    #[test]
    fn it_deletes_by_handles_of_its_own() {
        let owner = "rbd.csi.ceph.com";
        for (driver, handle, expected) in [
            (owner, ONE, format!("deletes the RBD image {NAME}")),
            (owner, "archive", "fails: ceph-csi did not compose its handle".to_owned()),
            (
                "rbd",
                "10.0.0.1 rbd/archive",
                "undecided: it is an in-tree volume, whose image other volumes may reference \
                 differently".to_owned(),
            ),
        ] {
            assert_eq!(answer(&Case { driver, owner, handle, ..Case::default() }), expected);
        }
    }
}

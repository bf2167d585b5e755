//! Ceph: RBD images, CephFS subvolumes, and their exports over NFS.

use std::borrow::Cow;

use super::basis::{BASE, device, nfs, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Letters, Name, Part, Place, Provisioner, Reference,
    Snapshots,
};

/// ceph-csi RBD.
pub(super) static CEPH_RBD: Family = Family {
    id: "ceph-rbd",
    title: "Ceph RBD (ceph-csi, Rook)",
    names: &[Name::EndsWith("rbd.csi.ceph.com"), Name::Is("rbd")],
    identity: "the image: csi-vol-UUID of a composed handle, or imageName; statically provisioned \
               volumes reference the image in their handle. One image may be known under several \
               clusters and pools",
    attributes: &["imageName", "staticVolume", "pool", "clusterID"],
    used: rbd_used,
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
    ..BASE
};

/// The space of images.
const RBD_SPACE: &str = "RBD image";

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
    /// Reads a composed handle (`internal/util/volid.go`, `DecomposeCSIID`).
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
    Place::device(RBD_SPACE, name)
        .letters(Letters::Unclear)
        .of(Part::Named(cluster.into()))
        .of(Part::Named(pool.into()))
}

fn rbd_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let cluster = reference.attribute("clusterID");
    let pool = reference.attribute("pool");
    let place = if reference.driver == "rbd" {
        rbd_in_tree(reference)
    } else if let Some(it) = Composed::read(reference.handle) {
        let name = match reference.attribute("imageName") {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("csi-vol-{}", it.uuid)),
        };
        image(name, it.cluster, it.location)
    } else if is_static(reference) {
        let part = |text: Option<&'a str>, why| {
            text.map_or(Part::Unknown(why), |text| Part::Named(Cow::Borrowed(text)))
        };
        Place::device(RBD_SPACE, reference.handle)
            .of(part(cluster, "the Ceph cluster of one of them is unknown"))
            .of(part(pool, "the pool of one of them is unknown"))
    } else {
        undecided(RBD_SPACE, reference)
    };
    vec![place]
}

/// Reads `MONITORS POOL/IMAGE` of the in-tree source `rbd`.
fn rbd_in_tree<'a>(reference: &Reference<'a>) -> Place<'a> {
    let split = reference.handle.rsplit_once(' ').and_then(|(monitors, rest)| {
        let (pool, name) = rest.split_once('/')?;
        Some((monitors, pool, name))
    });
    match split {
        Some((monitors, pool, name)) if !name.is_empty() => image(name, monitors, pool),
        _ => undecided(RBD_SPACE, reference),
    }
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let reference = &deletion.reference;
    match Composed::read(reference.handle) {
        Some(it) => {
            let places = rbd_used(reference).into_iter().map(Place::into_owned).collect();
            let name = reference
                .attribute("imageName")
                .map_or_else(|| format!("csi-vol-{}", it.uuid), str::to_owned);
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

/// Common part of the families that delete a subvolume of CephFS, however it is served.
const SUBVOLUME: Family = Family {
    answers_ok: &[
        "a file system that does not exist",
        "a subvolume without its entry in the journal of the file system",
    ],
    refuses: &[
        "a subvolume with snapshots, where Ceph cannot retain them",
        "a handle that was not composed by ceph-csi",
    ],
    snapshots: Snapshots::all(
        Fate::Independent,
        "they are retained when their subvolume is removed, or its removal is refused",
    ),
    ..BASE
};

/// ceph-csi CephFS.
pub(super) static CEPHFS: Family = Family {
    id: "cephfs",
    title: "CephFS (ceph-csi, Rook)",
    names: &[Name::EndsWith("cephfs.csi.ceph.com"), Name::Is("cephfs")],
    identity: "the subvolume of a composed handle, and its path in the file system: subvolumePath, or \
               rootPath of a static volume, which may contain other volumes. One subvolume may be \
               known under several clusters",
    attributes: ATTRIBUTES,
    marks: &["backingSnapshot"],
    used: cephfs_used,
    deletion: |it| destroyed(it, "the CephFS subvolume"),
    destroys: "the subvolume with everything in it; its snapshots are retained where Ceph can",
    provisioner: Provisioner::csi(&["csi-cephfsplugin-provisioner"], &["cephcsi"]),
    sources: &[
        "ceph/ceph-csi v3.12: internal/cephfs/controllerserver.go DeleteVolume, \
         internal/cephfs/store/volumeoptions.go NewVolumeOptionsFromStaticVolume, docs/static-pvc.md",
        "rook/rook#15008: a static volume with the handle of a dynamic one",
    ],
    ..SUBVOLUME
};

/// The attributes that say which subvolume and which directory are meant.
pub(super) const ATTRIBUTES: &[&str] =
    &["clusterID", "fsName", "subvolumePath", "rootPath", "staticVolume"];

/// The space of directories of Ceph file systems.
const CEPHFS_SPACE: &str = "CephFS";

/// The space of subvolumes.
const SUBVOLUMES: &str = "CephFS subvolume";

/// Returns the subvolume of a composed handle, and the directory: as far as each is known.
pub(super) fn cephfs_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    if reference.driver == "cephfs" {
        return vec![cephfs_in_tree(reference)];
    }
    let key = if is_static(reference) { "rootPath" } else { "subvolumePath" };
    let path = reference.attribute(key).filter(|path| !path.is_empty());
    match (Composed::read(reference.handle), path) {
        (Some(handle), path) => vec![subvolume(&handle), directory(reference, Some(&handle), path)],
        (None, Some(_)) => vec![directory(reference, None, path)],
        (None, None) => vec![undecided(CEPHFS_SPACE, reference)],
    }
}

fn is_static(reference: &Reference<'_>) -> bool {
    reference.attribute("staticVolume").is_some_and(|it| it.eq_ignore_ascii_case("true"))
}

fn subvolume<'a>(handle: &Composed<'a>) -> Place<'a> {
    device(SUBVOLUMES, handle.uuid)
        .of(Part::Named(handle.cluster.into()))
        .of(Part::Named(handle.location.into()))
}

/// Returns the directory of a volume. Without a path it is that of the subvolume in the default group: a static volume
/// of all subvolumes contains it at least.
fn directory<'a>(
    reference: &Reference<'a>,
    handle: Option<&Composed<'a>>,
    path: Option<&'a str>,
) -> Place<'a> {
    let cluster = reference.attribute("clusterID").or(handle.map(|it| it.cluster));
    let cluster = match cluster {
        Some(cluster) => Part::Named(cluster.into()),
        None => Part::Unknown("the Ceph cluster of one of them is unknown"),
    };
    let file_system = match reference.attribute("fsName") {
        Some(name) => Part::Is(name.into()),
        None => Part::Unknown("the file system of one of them is unknown"),
    };
    let place = match (path, handle) {
        (None, Some(handle)) => {
            Place::directory(CEPHFS_SPACE, &format!("/volumes/csi/csi-vol-{}", handle.uuid))
                .somewhere_within("the path of its subvolume is unknown")
                .into_owned()
        }
        (path, _) => Place::directory(CEPHFS_SPACE, path.unwrap_or_default()),
    };
    place.of(cluster).of(file_system)
}

/// Reads `MONITORS:/PATH` of the source `cephfs`.
fn cephfs_in_tree<'a>(reference: &Reference<'a>) -> Place<'a> {
    match reference.handle.rsplit_once(":/") {
        Some((monitors, path)) if !monitors.is_empty() => {
            Place::directory(CEPHFS_SPACE, path).of(Part::Named(monitors.into())).of(Part::Unknown(
                "a volume of source cephfs does not contain the name of its file \
                               system",
            ))
        }
        _ => undecided(CEPHFS_SPACE, reference),
    }
}

/// Returns the destruction by ceph-csi, which reads the handle alone.
pub(super) fn destroyed(deletion: &Deletion<'_>, what: &str) -> Destruction {
    let reference = &deletion.reference;
    if reference.driver == "cephfs" {
        return Destruction::Fails(Cow::Borrowed("no controller deletes volumes of source cephfs"));
    }
    let Some(handle) = Composed::read(reference.handle) else {
        return Destruction::Fails(Cow::Borrowed("ceph-csi did not compose its handle"));
    };
    let is_view = |path: &str| path.contains("/.snap/");
    if reference.attribute("backingSnapshot").is_some_and(|it| it.eq_ignore_ascii_case("true"))
        || reference.attribute("subvolumePath").is_some_and(is_view)
    {
        let what = "its reference to a snapshot, and a snapshot that is deleted already and has no \
                    other reference";
        return Destruction::of(subvolume(&handle).into_owned(), what);
    }
    // What nodes mount of a static volume has nothing to do with its handle.
    let path = reference.attribute("rootPath").unwrap_or_default();
    if is_static(reference) && !path.contains(handle.uuid) {
        let why = "it deletes the subvolume of the handle, which is not what nodes mount";
        return Destruction::Undecided(Cow::Borrowed(why));
    }
    let places = crate::drivers::used(reference).into_iter().map(Place::into_owned).collect();
    Destruction::Storage { places, what: format!("{what} csi-vol-{}", handle.uuid).into() }
}

/// ceph-csi NFS.
pub(super) static CEPH_NFS: Family = Family {
    id: "ceph-nfs",
    title: "CephFS over NFS (ceph-csi, Rook)",
    names: &[Name::EndsWith("nfs.csi.ceph.com")],
    identity: "the CephFS subvolume of a composed handle, which CephFS volumes may reference too, \
               and the NFS export server:share",
    attributes: &["clusterID", "fsName", "subvolumePath", "server", "share"],
    used: nfs_used,
    deletion: |it| destroyed(it, "the NFS export and the CephFS subvolume"),
    destroys: "the NFS export, and the subvolume with everything in it",
    provisioner: Provisioner::csi(&["csi-nfsplugin-provisioner"], &["cephcsi"]),
    sources: &["ceph/ceph-csi v3.12: internal/nfs/controller/controllerserver.go"],
    ..SUBVOLUME
};

fn nfs_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mut places = cephfs_used(reference);
    if let Some((server, share)) = reference.attribute("server").zip(reference.attribute("share")) {
        places.push(nfs(server, share));
    }
    places
}

#[cfg(test)]
mod tests {
    use crate::drivers::Destruction;
    use crate::drivers::tests::{Case, answer, destruction, lies, places};

    #[test]
    fn an_image_may_be_known_under_several_pools() {
        const ONE: &str =
            "0001-0009-rook-ceph-0000000000000002-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
        const NAME: &str = "csi-vol-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
        let driver = "rook-ceph.rbd.csi.ceph.com";
        let mine = places(driver, ONE, &[("imageName", NAME), ("pool", "replicapool")]);
        let fixed = |pool| {
            let pairs = [("staticVolume", "true"), ("clusterID", "rook-ceph"), ("pool", pool)];
            places(driver, NAME, &pairs)
        };
        assert_eq!(lies(&mine, &places("rbd.csi.ceph.com", ONE, &[])), "equal");
        assert_eq!(lies(&mine, &fixed("replicapool")), "equal?");
        assert_eq!(
            lies(&mine, &places("rbd", &format!("10.0.0.1 replicapool/{NAME}"), &[])),
            "equal?"
        );
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
        const ONE: &str =
            "0001-0009-rook-ceph-0000000000000002-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
        const NAME: &str = "csi-vol-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
        let owner = "rbd.csi.ceph.com";
        for (driver, handle, expected) in [
            (owner, ONE, format!("deletes the RBD image {NAME}")),
            (owner, "archive", "fails: ceph-csi did not compose its handle".to_owned()),
            (
                "rbd",
                "10.0.0.1 rbd/archive",
                "undecided: it is an in-tree volume, whose image other volumes may reference \
                 differently"
                    .to_owned(),
            ),
        ] {
            assert_eq!(answer(&Case { driver, owner, handle, ..Case::default() }), expected);
        }
    }

    #[test]
    fn a_static_volume_with_a_copied_handle_is_the_dynamic_one() {
        const ONE: &str =
            "0001-0009-rook-ceph-0000000000000001-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
        const OTHER: &str =
            "0001-0009-rook-ceph-0000000000000001-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b01";
        const PATH: &str = "/volumes/csi/csi-vol-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00/f";
        let driver = "rook-ceph.cephfs.csi.ceph.com";
        let context = [("clusterID", "rook-ceph"), ("fsName", "myfs")];
        let dynamic = places(driver, ONE, &[context[0], context[1], ("subvolumePath", PATH)]);
        let fixed = |handle, fs, path| {
            let pairs = [context[0], ("fsName", fs), ("staticVolume", "true"), ("rootPath", path)];
            places(driver, handle, &pairs)
        };
        for (handle, fs, path, expected) in [
            (ONE, "myfs", PATH, "equal"),
            ("shared", "myfs", PATH, "equal"),
            ("shared", "myfs", "/", "around"),
            ("shared", "myfs", "/volumes", "around"),
            ("shared", "myfs", "/volumes/csi/csi-vol-8", "apart"),
            ("shared", "otherfs", "/", "apart"),
        ] {
            assert_eq!(lies(&dynamic, &fixed(handle, fs, path)), expected, "{fs} {path}");
        }
        assert_eq!(lies(&dynamic, &places(driver, OTHER, &[])), "apart");
        let elsewhere = ONE.replace("rook-ceph", "ceph-rook");
        assert_eq!(lies(&dynamic, &places(driver, &elsewhere, &[])), "equal?");
        assert_eq!(lies(&dynamic, &places("cephfs", "10.0.0.1:6789:/volumes", &[])), "around?");
        assert_eq!(lies(&dynamic, &places("cephfs", "10.0.0.1:6789:/home", &[])), "apart");
        let pathless = places(driver, ONE, &[]);
        assert_eq!(lies(&pathless, &fixed("shared", "myfs", "/volumes")), "around?");
    }

    #[test]
    fn it_deletes_the_subvolume_of_the_handle() {
        const ONE: &str =
            "0001-0009-rook-ceph-0000000000000001-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
        const PATH: &str = "/volumes/csi/csi-vol-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00/f";
        const VIEW: &str = "deletes its reference to a snapshot, and a snapshot that is deleted already \
                            and has no other reference";
        let fixed = |path| [("staticVolume", "true"), ("rootPath", path)];
        let (copied, other) = (fixed(PATH), fixed("/"));
        let uuid = "csi-vol-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
        let deletes = format!("deletes the CephFS subvolume {uuid}");
        for (handle, attributes, expected) in [
            (ONE, &[("subvolumePath", PATH)][..], deletes.as_str()),
            (ONE, &copied, deletes.as_str()),
            (ONE, &[("subvolumePath", "/volumes/csi/csi-vol-a/.snap/s/u")], VIEW),
            (
                ONE,
                &other,
                "undecided: it deletes the subvolume of the handle, which is not what nodes mount",
            ),
            ("shared", &copied, "fails: ceph-csi did not compose its handle"),
        ] {
            let driver = "cephfs.csi.ceph.com";
            let case = Case { driver, handle, attributes, ..Case::default() };
            assert_eq!(answer(&case), expected, "{handle} {attributes:?}");
        }
    }

    #[test]
    fn a_subvolume_is_one_through_nfs_and_through_cephfs() {
        let handle = "0001-0009-rook-ceph-0000000000000001-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
        let export = [("server", "rook-ceph-nfs-a"), ("share", "/exports/a")];
        let mine = places("rook-ceph.nfs.csi.ceph.com", handle, &export);
        assert_eq!(lies(&mine, &places("cephfs.csi.ceph.com", handle, &[])), "equal");
        assert_eq!(lies(&mine, &places("nfs", "rook-ceph-nfs-a:/exports", &[])), "around");
        assert_eq!(lies(&mine, &places("nfs", "rook-ceph-nfs-a:/exports/b", &[])), "apart");
        let driver = "nfs.csi.ceph.com";
        let case = Case { driver, handle, attributes: &export, ..Case::default() };
        let Destruction::Storage { places, .. } = destruction(&case) else {
            panic!("it deletes it")
        };
        assert_eq!(places, mine);
    }
}

//! CephFS: `cephfs.csi.ceph.com`, also under the names that Rook gives, and the source `cephfs`.

use std::borrow::Cow;

use super::{
    ceph_rbd::Composed,
    basis::{SHARE, undecided},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Part, Place, Provisioner, Reference, Snapshots,
};

/// ceph-csi CephFS.
pub static FAMILY: Family = Family {
    id: "cephfs",
    title: "CephFS (ceph-csi, Rook)",
    names: &[Name::EndsWith("cephfs.csi.ceph.com"), Name::Is("cephfs")],
    identity: "the subvolume of a composed handle, and its path in the file system: subvolumePath, or \
               rootPath of a static volume, which may contain other volumes. One subvolume may be \
               known under several clusters",
    attributes: ATTRIBUTES,
    marks: &["backingSnapshot"],
    used,
    deletion: |it| destroyed(it, "the CephFS subvolume"),
    destroys: "the subvolume with everything in it; its snapshots are retained where Ceph can",
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
    provisioner: Provisioner::csi(&["csi-cephfsplugin-provisioner"], &["cephcsi"]),
    sources: &[
        "ceph/ceph-csi v3.12: internal/cephfs/controllerserver.go DeleteVolume, \
         internal/cephfs/store/volumeoptions.go NewVolumeOptionsFromStaticVolume, docs/static-pvc.md",
        "rook/rook#15008: a static volume with the handle of a dynamic one",
    ],
    ..SHARE
};

/// The attributes that say which subvolume and which directory are meant.
pub(super) const ATTRIBUTES: &[&str] =
    &["clusterID", "fsName", "subvolumePath", "rootPath", "staticVolume"];

/// The space of directories of Ceph file systems.
const SPACE: &str = "CephFS";

/// The space of subvolumes.
const SUBVOLUMES: &str = "CephFS subvolume";

/// The subvolume of a composed handle, and the directory: as far as each is known.
pub(super) fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    if reference.driver == "cephfs" {
        return vec![in_tree(reference)];
    }
    let key = if is_static(reference) { "rootPath" } else { "subvolumePath" };
    let path = reference.attribute(key).filter(|path| !path.is_empty());
    match (Composed::read(reference.handle), path) {
        (Some(handle), path) => vec![subvolume(&handle), directory(reference, Some(&handle), path)],
        (None, Some(_)) => vec![directory(reference, None, path)],
        (None, None) => vec![undecided(SPACE, reference)],
    }
}

fn is_static(reference: &Reference<'_>) -> bool {
    reference.attribute("staticVolume").is_some_and(|it| it.eq_ignore_ascii_case("true"))
}

fn subvolume<'a>(handle: &Composed<'a>) -> Place<'a> {
    super::basis::device(SUBVOLUMES, handle.uuid)
        .of(Part::Named(handle.cluster.into()))
        .of(Part::Named(handle.location.into()))
}

/// The directory of a volume. Without a path it is that of the subvolume in the default group: a
/// static volume of all subvolumes contains it at least.
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
            Place::directory(SPACE, &format!("/volumes/csi/csi-vol-{}", handle.uuid))
                .somewhere_within("the path of its subvolume is unknown")
                .into_owned()
        }
        (path, _) => Place::directory(SPACE, path.unwrap_or_default()),
    };
    place.of(cluster).of(file_system)
}

/// Reads `MONITORS:/PATH` of the source `cephfs`.
fn in_tree<'a>(reference: &Reference<'a>) -> Place<'a> {
    match reference.handle.rsplit_once(":/") {
        Some((monitors, path)) if !monitors.is_empty() => Place::directory(SPACE, path)
            .of(Part::Named(monitors.into()))
            .of(Part::Unknown("a volume of source cephfs does not contain the name of its file \
                               system")),
        _ => undecided(SPACE, reference),
    }
}

/// What ceph-csi destroys: it reads the handle alone.
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

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const ONE: &str =
        "0001-0009-rook-ceph-0000000000000001-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
    const OTHER: &str =
        "0001-0009-rook-ceph-0000000000000001-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b01";
    const PATH: &str = "/volumes/csi/csi-vol-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00/f";

    #[test]
    fn a_static_volume_with_a_copied_handle_is_the_dynamic_one() {
        let driver = "rook-ceph.cephfs.csi.ceph.com";
        let context = [("clusterID", "rook-ceph"), ("fsName", "myfs")];
        let dynamic = places(driver, ONE, &[context[0], context[1], ("subvolumePath", PATH)]);
        let fixed = |handle, fs, path| {
            let pairs =
                [context[0], ("fsName", fs), ("staticVolume", "true"), ("rootPath", path)];
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

    const VIEW: &str = "deletes its reference to a snapshot, and a snapshot that is deleted already \
                        and has no other reference";

    #[test]
    fn it_deletes_the_subvolume_of_the_handle() {
        let fixed = |path| [("staticVolume", "true"), ("rootPath", path)];
        let (copied, other) = (fixed(PATH), fixed("/"));
        let uuid = "csi-vol-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
        let deletes = format!("deletes the CephFS subvolume {uuid}");
        for (handle, attributes, expected) in [
            (ONE, &[("subvolumePath", PATH)][..], deletes.as_str()),
            (ONE, &copied, deletes.as_str()),
            (ONE, &[("subvolumePath", "/volumes/csi/csi-vol-a/.snap/s/u")], VIEW),
            (ONE, &other, "undecided: it deletes the subvolume of the handle, which is not what nodes mount"),
            ("shared", &copied, "fails: ceph-csi did not compose its handle"),
        ] {
            let driver = "cephfs.csi.ceph.com";
            let case = Case { driver, handle, attributes, ..Case::default() };
            assert_eq!(answer(&case), expected, "{handle} {attributes:?}");
        }
    }
}

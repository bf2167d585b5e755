//! Common parts of families: disks that are named by an id, servers with an identity, and paths.

use std::borrow::Cow;

pub(super) use crate::drivers::NFS;
use crate::drivers::{
    Deletion, Destruction, Expansion, Family, Fate, INLINE, Letters, ObjectDropped, Part, Place,
    Provisioner, Reach, Reference, Snapshots, UNREAD, own_space, used,
};

/// Base of all families, with what most of them have in common. A family writes down everything that is its own: an
/// empty sentence fails a test.
pub(super) const BASE: Family = Family {
    id: "",
    title: "",
    names: &[],
    identity: "",
    reach: Reach::Network,
    reach_of: |_| None,
    attributes: &[],
    marks: &[],
    telling: &[],
    used: |reference| {
        let space = own_space(reference.driver);
        vec![Place::undecided(space, reference.handle, "its driver is unknown")]
    },
    exports_elsewhere: |_| false,
    deletion: |_| Destruction::Undecided(Cow::Borrowed("its driver is unknown")),
    destroys: "",
    answers_ok: &[],
    refuses: &[],
    class_parameters: &[],
    reads_class: false,
    deletes_on_node: Some(false),
    own_provisioner: None,
    snapshots: Snapshots::all(Fate::Unknown, ""),
    clones: Fate::Independent,
    object_dropped: None,
    provisioner: Provisioner::NOBODY,
    expansion: Expansion::UNKNOWN,
    defects: &[],
    sources: &[],
};

/// Expansion of a directory on a share, which no size limits.
pub(super) const OF_DIRECTORY: Expansion = Expansion::futile(
    "it is a directory of a shared file system, which the size of the volume does not limit: only more room on the \
     file system helps",
);

/// Expansion of a directory on a node, which no size limits.
pub(super) const OF_NODE: Expansion = Expansion::futile(
    "it is a directory on a node, which the size of the volume does not limit: only more room on the disk of the node \
     helps",
);

/// Snapshots of a family that makes none.
pub(super) const NO_SNAPSHOTS: Snapshots = Snapshots::all(Fate::None, "there are none");

/// Snapshots of a driver that does not say whether they outlive their volume.
pub(super) const UNKNOWN_SNAPSHOTS: Snapshots =
    Snapshots::all(Fate::Unknown, "unknown whether they are destroyed with their volume");

/// Snapshots of a cloud that does not say what becomes of them.
pub(super) const UNKNOWN_FATE: Snapshots =
    Snapshots::all(Fate::Unknown, "unknown what happens to them");

/// Effect of deleting the object where a provisioner of directories sets no finalizer.
pub(super) const DIRECTORY_REMAINS: ObjectDropped = ObjectDropped::Notice(
    "its provisioner sets no finalizer: the directory remains, and no PersistentVolume references it",
);

/// Returns a place in a space that the handle does not identify.
pub(super) fn undecided<'a>(space: &'static str, reference: &Reference<'a>) -> Place<'a> {
    Place::undecided(space, reference.handle, "its handle does not identify a backend volume")
}

/// Returns the device with this id, in a space whose ids have only lower case, or tell no case apart.
pub(super) fn device<'a>(space: &'static str, id: impl Into<Cow<'a, str>>) -> Place<'a> {
    Place::device(space, id).letters(Letters::Alike)
}

/// Returns a path on an NFS server.
pub(super) fn nfs<'a>(server: &'a str, path: &'a str) -> Place<'a> {
    Place::directory(NFS, path).of(nfs_server(server))
}

/// Returns a server: an EFS file system by its id, any other one by this address.
pub(super) fn nfs_server(server: &str) -> Part<'_> {
    let server = server.trim_matches(['[', ']']).trim_end_matches('.');
    // fs-1.efs.eu-west-1.amazonaws.com, also eu-west-1a.fs-1.efs.eu-west-1.amazonaws.com
    let of_efs = server
        .strip_suffix(".amazonaws.com")
        .and_then(|it| it.rsplit_once('.'))
        .and_then(|(it, _region)| it.strip_suffix(".efs"))
        .map(|it| it.rsplit_once('.').map_or(it, |(_zone, id)| id))
        .filter(|id| id.starts_with("fs-"));
    Part::Server {
        identity: of_efs.map(|id| Cow::Owned(format!("EFS {id}"))),
        address: Some(Cow::Borrowed(server)),
    }
}

/// Joins a share and a directory in it.
pub(super) fn join(share: &str, directory: &str) -> String {
    format!("{}/{directory}", share.trim_end_matches('/'))
}

/// Returns the destruction by a driver that deletes exactly what the volume uses.
pub(super) fn what_it_uses(
    deletion: &Deletion<'_>,
    what: impl Into<Cow<'static, str>>,
) -> Destruction {
    let places = used(&deletion.reference);
    if let Some(why) = places.iter().find_map(Place::doubt) {
        return Destruction::Undecided(Cow::Owned(why.to_owned()));
    }
    if places.is_empty() {
        return Destruction::Undecided(Cow::Borrowed(
            "its handle does not identify a backend volume",
        ));
    }
    let places = places.into_iter().map(Place::into_owned).collect();
    Destruction::Storage { places, what: what.into() }
}

/// Returns the device of a driver whose handles are ids, and nothing else.
pub(super) fn named<'a>(space: &'static str, reference: &Reference<'a>) -> Vec<Place<'a>> {
    vec![match reference.handle {
        "" | INLINE => undecided(space, reference),
        id => device(space, id),
    }]
}

/// Returns the destruction by a driver that deletes the one thing that its handle names.
pub(super) fn deletes_named(deletion: &Deletion<'_>, what: &str) -> Destruction {
    what_it_uses(deletion, format!("{what} {}", deletion.reference.handle))
}

/// Returns the last component of a path.
pub(super) fn last_component(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// Action of csi-driver-nfs and csi-driver-smb on the directory of a deleted volume: as its handle says, or else the
/// flag of the controller.
pub(super) enum OnDelete {
    Delete,
    Retain,
    Archive,
    /// A variable decides the action.
    Unread,
}

impl OnDelete {
    /// Reads the action; any word that the drivers do not know deletes.
    pub(super) fn of(handle: &str, deletion: &Deletion<'_>) -> Self {
        let mut defaults = deletion.flags("default-ondelete-policy");
        // Where two controllers differ, either may act.
        let default = defaults.next().filter(|it| defaults.all(|other| other == *it));
        let policy = if handle.is_empty() { default.unwrap_or_default() } else { handle };
        match policy.to_ascii_lowercase().as_str() {
            policy if policy.contains(UNREAD) => Self::Unread,
            "retain" => Self::Retain,
            "archive" => Self::Archive,
            _ => Self::Delete,
        }
    }

    /// Returns the destruction of a directory of a share; without one, of the whole share.
    pub(super) fn destruction(
        &self,
        share: &str,
        directory: &str,
        place: Place<'static>,
    ) -> Destruction {
        match self {
            Self::Retain => Destruction::Nothing(Cow::Borrowed("onDelete is retain")),
            Self::Unread => Destruction::Undecided(Cow::Borrowed(
                "its controller is started by a line of a shell or with a variable, which may set \
                 --default-ondelete-policy",
            )),
            Self::Archive => Destruction::Kept {
                places: vec![place],
                what: format!("renames the directory to archived-{directory}").into(),
            },
            Self::Delete if directory.is_empty() => {
                Destruction::of(place, format!("everything on the share {share}"))
            }
            Self::Delete => Destruction::of(place, format!("the directory {directory} of {share}")),
        }
    }
}

/// The space of everything that is reached as a Lustre file system, with any driver.
pub(super) const LUSTRE: &str = "Lustre";

/// Returns the disk that a handle names by its id. The volume that a pod describes itself is a new disk, and names
/// none.
pub(super) fn disk<'a>(space: &'static str, reference: &Reference<'a>) -> Vec<Place<'a>> {
    match reference.handle {
        INLINE => Vec::new(),
        "" => vec![undecided(space, reference)],
        id => vec![device(space, id)],
    }
}

/// Returns the disk with the id that was found in a handle.
pub(super) fn disk_with<'a>(
    space: &'static str,
    id: Option<&'a str>,
    reference: &Reference<'a>,
) -> Vec<Place<'a>> {
    match (reference.handle, id) {
        (INLINE, _) => Vec::new(),
        (_, Some(id)) => vec![device(space, id)],
        (_, None) => vec![undecided(space, reference)],
    }
}

/// Returns the destruction by a driver that deletes the disk with the id that was found in a handle; `otherwise` is
/// that without an id.
pub(super) fn deletes_disk_with(
    space: &'static str,
    id: Option<&str>,
    what: &str,
    otherwise: Destruction,
) -> Destruction {
    id.map_or(otherwise, |id| {
        Destruction::of(device(space, id).into_owned(), format!("{what} {id}"))
    })
}

/// Returns a server that is known by an identity, and by the address at which it is mounted.
pub(super) fn server(identity: String, address: Option<&str>) -> Part<'_> {
    Part::Server { identity: Some(Cow::Owned(identity)), address: address.map(Cow::Borrowed) }
}

/// Returns a server that is known by an identity, and by an address that was put together.
pub(super) fn server_at(identity: String, address: String) -> Part<'static> {
    Part::Server { identity: Some(Cow::Owned(identity)), address: Some(Cow::Owned(address)) }
}

/// Returns a server of which only the address is known.
pub(super) fn address(address: &str) -> Part<'_> {
    Part::Server { identity: None, address: Some(Cow::Borrowed(address)) }
}

/// Returns a directory in a share; nodes fill in names of the claim where it has variables.
pub(super) fn folder(space: &'static str, share: &str, folder: &str) -> Place<'static> {
    let whole = format!("{share}/{folder}");
    let place = match whole.split_once("${") {
        Some((before, _)) => {
            let known = before.rsplit_once('/').map_or("", |(known, _)| known);
            Place::directory(space, known).somewhere_within("its path contains a variable")
        }
        None => Place::directory(space, &whole),
    };
    place.into_owned()
}

/// Returns places without borrowed texts, for a destruction.
pub(super) fn owned(places: Vec<Place<'_>>) -> Vec<Place<'static>> {
    places.into_iter().map(Place::into_owned).collect()
}

/// Whether an id has the form of a UUID.
pub(super) fn is_uuid(id: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    let fits = |(at, byte): (usize, u8)| match dashes.contains(&at) {
        true => byte == b'-',
        false => byte.is_ascii_hexdigit(),
    };
    id.len() == 36 && id.bytes().enumerate().all(fits)
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn disks_are_told_apart_by_their_id() {
        for (driver, one, other, expected) in [
            ("cinder.csi.openstack.org", "0a1b-c", "0a1b-d", "deletes the Cinder volume 0a1b-c"),
            ("dobs.csi.digitalocean.com", "0a1b", "0a1c", "deletes the DigitalOcean volume 0a1b"),
            ("csi.hetzner.cloud", "17", "18", "deletes the volume 17, which it first detaches"),
            (
                "blockvolume.csi.oraclecloud.com",
                "ocid1.a",
                "ocid1.b",
                "deletes the block volume ocid1.a",
            ),
            ("vpc.block.csi.ibm.io", "r1-a", "r1-b", "deletes the VPC volume r1-a"),
            (
                "diskplugin.csi.alibabacloud.com",
                "d-a",
                "d-b",
                "deletes the disk d-a, which it first detaches",
            ),
            ("bsu.csi.outscale.com", "vol-a", "vol-b", "deletes the BSU volume vol-a"),
            ("evs.csi.huaweicloud.com", "0a1b", "0a1c", "deletes the EVS volume 0a1b"),
            ("obs.csi.huaweicloud.com", "data", "logs", "deletes the whole bucket data"),
        ] {
            let mine = places(driver, one, &[]);
            assert_eq!(lies(&mine, &places(driver, one, &[])), "equal", "{driver}");
            assert_eq!(lies(&mine, &places(driver, &one.to_uppercase(), &[])), "equal", "{driver}");
            assert_eq!(lies(&mine, &places(driver, other, &[])), "apart", "{driver}");
            assert_eq!(lies(&mine, &places(driver, "", &[])), "equal?", "{driver}");
            let told = answer(&Case { driver, handle: one, ..Case::default() });
            assert!(told.starts_with(expected), "{driver}: {told}");
        }
        let ebs = places("ebs.csi.aws.com", "vol-a", &[]);
        assert_eq!(lies(&ebs, &places("bsu.csi.outscale.com", "vol-a", &[])), "apart");
    }
}

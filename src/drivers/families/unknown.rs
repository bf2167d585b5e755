//! Family of the drivers of which nothing is known.

use std::borrow::Cow;

use super::{
    basis::{BASE, NFS, UNKNOWN_SNAPSHOTS, what_it_uses},
    smb,
};
use crate::drivers::{
    Destruction, Family, Fate, INLINE, Letters, Part, Place, Provisioner, Reference, own_space,
};

/// The family of every driver that no other family names.
///
/// Whether its handles identify anything depends on the other volumes of the driver; see
/// `facts::undecided_identity`.
pub static UNKNOWN: Family = Family {
    id: "unknown",
    title: "Unknown drivers",
    attributes: &["ip", "volume", "host", "nfsServer", "nfsPath", "exportPath"],
    identity: "driver and volume handle, if the driver attaches its volumes, none of them is a \
               file system that several nodes mount, and no handle is the beginning of another one \
               (split at / # and :); otherwise it is unknown what a handle references. An id that \
               another handle has too, and attributes that name a share, are a doubt",
    used,
    deletion: |deletion| match deletion.reference.handle {
        "" => Destruction::Undecided(Cow::Borrowed("it has no volume handle")),
        handle => what_it_uses(deletion, format!("the backend volume {handle}")),
    },
    destroys: "what the handle references; unknown what else is deleted with it",
    deletes_on_node: None,
    snapshots: UNKNOWN_SNAPSHOTS,
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&[], &[]).without_leader(),
    sources: &["container-storage-interface/spec, message Volume, field volume_id"],
    ..BASE
};

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let space = own_space(reference.driver);
    let mut places = vec![match reference.handle {
        "" => Place::undecided(space, "", "it has no volume handle"),
        INLINE => {
            let why = "unknown what a pod's own volume of this driver references";
            Place::undecided(space, reference.handle, why)
        }
        handle => Place::device(space, handle).letters(Letters::Unclear),
    }];
    places.extend(share(reference));
    places
}

/// The attributes with which drivers name a server and a path on it.
const SHARES: [[&str; 2]; 7] = [
    ["server", "share"],
    ["server", "path"],
    ["ip", "volume"],
    ["host", "path"],
    ["AzServiceIP", "Path"],
    ["nfsServer", "nfsPath"],
    ["nfsServer", "exportPath"],
];

/// Returns the server and the path of a handle that is an export itself: `nas:/export/a`.
fn in_handle(handle: &str) -> Option<(&str, &str)> {
    let (server, path) = handle.split_once(":/")?;
    let is_server = !server.is_empty() && !server.contains('/') && !path.starts_with('/');
    is_server.then_some((server, path))
}

/// Returns the share that the volume's attributes name, as csi-driver-nfs and csi-driver-smb do: whether it is mounted
/// is not known, nor from which server.
fn share(reference: &Reference<'_>) -> Option<Place<'static>> {
    let attribute = |key: &str| reference.attribute(key).filter(|it| !it.is_empty());
    let why = "unknown whether its driver mounts the share that its attributes name";
    let directory = attribute("subDir").unwrap_or_default();
    let mut exported = SHARES.iter().map(|[server, path]| attribute(server).zip(attribute(path)));
    let exported = exported.find_map(|it| it).or_else(|| in_handle(reference.handle));
    let mut place = match (exported, attribute("source")) {
        (Some((_, path)), _) if directory.contains("${") => {
            Place::directory(NFS, path).somewhere_within(why).into_owned()
        }
        (Some((_, path)), _) => Place::directory(NFS, path).descend(directory).into_owned(),
        (None, Some(source)) => smb::share(source, directory)?,
        (None, None) => return None,
    };
    place.realm = vec![Part::Unknown(why)];
    Some(place)
}

#[cfg(test)]
mod tests {
    use super::SHARES;
    use crate::drivers::tests::{lies, places};

    #[test]
    fn a_share_in_the_attributes_is_a_doubt() {
        let on_share = [("server", "nas"), ("share", "/export/a")];
        let volume = places("files.example.com", "v1", &on_share);
        for (path, expected) in
            [("nas:/export/a", "equal?"), ("nas:/export", "around?"), ("nas:/export/b", "apart")]
        {
            assert_eq!(lies(&volume, &places("nfs", path, &[])), expected, "{path}");
        }
        for keys in SHARES {
            let volume =
                places("files.example.com", "v1", &[(keys[0], "x"), (keys[1], "/export/a")]);
            assert_eq!(lies(&volume, &places("nfs", "nas:/export/a", &[])), "equal?", "{keys:?}");
        }
        let volume = places("files.example.com", "nas:/export/a", &[]);
        assert_eq!(lies(&volume, &places("nfs", "nas:/export/a", &[])), "equal?");
        let volume = places("files.example.com", "v1", &[("source", "//nas/share")]);
        let other = places("smb.csi.k8s.io", "x", &[("source", "//nas/share"), ("subDir", "a")]);
        assert_eq!(lies(&volume, &other), "inside?");
    }

    #[test]
    fn attributes_tell_the_driver_under_any_name() {
        let mounted = [("node_attach_driver", "nfs"), ("server", "nas"), ("share", "/mnt/a")];
        let volume = places("zfs.example.com", "pvc-a", &mounted);
        assert_eq!(lies(&volume, &places("nfs", "nas:/mnt/a", &[])), "equal");
        assert_eq!(lies(&volume, &places("zfs.example.com", "pvc-a", &[])), "equal");
    }
}

//! What the families of clouds share: disks that are named by an id, and servers with an identity.

use std::borrow::Cow;

use super::basis::{device, undecided, what_it_uses};
use crate::drivers::{Deletion, Destruction, INLINE, Part, Place, Reference};

/// The space of everything that is reached as a Lustre file system, whichever driver mounts it.
pub(super) const LUSTRE: &str = "Lustre";

/// The disk that a handle names by its id. The volume that a pod describes itself is a new disk, and
/// names none.
pub(super) fn disk<'a>(space: &'static str, reference: &Reference<'a>) -> Vec<Place<'a>> {
    match reference.handle {
        INLINE => Vec::new(),
        "" => vec![undecided(space, reference)],
        id => vec![device(space, id)],
    }
}

/// The disk with the id that was found in a handle.
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

/// What a driver destroys that deletes the one disk which its handle names.
pub(super) fn deletes_disk(deletion: &Deletion<'_>, what: &str) -> Destruction {
    what_it_uses(deletion, format!("{what} {}", deletion.reference.handle))
}

/// A server that is known by an identity, and by the address at which it is mounted.
pub(super) fn server(identity: String, address: Option<&str>) -> Part<'_> {
    Part::Server { identity: Some(Cow::Owned(identity)), address: address.map(Cow::Borrowed) }
}

/// The same with an address that was put together.
pub(super) fn server_at(identity: String, address: String) -> Part<'static> {
    Part::Server { identity: Some(Cow::Owned(identity)), address: Some(Cow::Owned(address)) }
}

/// A server of which only the address is known.
pub(super) fn address(address: &str) -> Part<'_> {
    Part::Server { identity: None, address: Some(Cow::Borrowed(address)) }
}

/// A directory in a share; nodes fill in names of the claim where it has variables.
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

/// Owned places, for what a driver destroys.
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

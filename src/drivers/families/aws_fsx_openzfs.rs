//! Amazon `FSx` for `OpenZFS`: `fsx.openzfs.csi.aws.com`.

use std::borrow::Cow;

use super::{
    aws_fsx_lustre::file_system,
    cloud::{address, owned, server},
    basis::{NFS, SHARE, device, undecided},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reference, Snapshots,
};

/// `FSx` for `OpenZFS`.
pub static FAMILY: Family = Family {
    id: "aws-fsx-openzfs",
    title: "Amazon FSx for OpenZFS",
    names: &[Name::Is("fsx.openzfs.csi.aws.com")],
    identity: "the file system fs-… or the volume fsvol-… in it; nodes mount the attributes DNSName and VolumePath",
    attributes: &["DNSName", "VolumePath"],
    used,
    deletion,
    destroys: "the file system or the volume; its child volumes and snapshots too, if its tag \
               OptionsOnDeletion has that option",
    refuses: &["a file system or a volume that does not exist: the volume remains Released"],
    snapshots: Snapshots::all(
        Fate::Dies,
        "snapshots are destroyed with their volume if its tag at AWS has that option, automatic \
         backups with the file system",
    ),
    provisioner: Provisioner::csi(&["fsx-openzfs-csi-controller"], &["aws-fsx-openzfs-csi-driver"]),
    sources: &[
        "kubernetes-sigs/aws-fsx-openzfs-csi-driver dc7b82c: pkg/driver/controller.go DeleteVolume, pkg/driver/node.go, \
         pkg/cloud/cloud.go GetDeleteParameters",
    ],
    ..SHARE
};

/// The space of file systems and volumes.
const SPACE: &str = "FSx resource";

/// The path of the volume that contains all others of a file system.
const ROOT: &str = "/fsx";

fn is_id(handle: &str) -> bool {
    handle.starts_with("fs-") || handle.starts_with("fsvol-")
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let handle = reference.handle;
    let name = reference.attribute("DNSName").filter(|name| !name.is_empty());
    let path = reference.attribute("VolumePath").filter(|path| !path.is_empty());
    let mounted = match name {
        Some(name) => {
            let server = match file_system(name) {
                Some(id) => server(format!("FSx {id}"), Some(name)),
                None => address(name),
            };
            Place::directory(NFS, path.unwrap_or(ROOT)).of(server)
        }
        None if handle.starts_with("fs-") => {
            Place::directory(NFS, ROOT).of(server(format!("FSx {handle}"), None))
        }
        None => undecided(NFS, reference),
    };
    let mut places = vec![mounted];
    if is_id(handle) {
        places.push(device(SPACE, handle));
    }
    places
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let handle = deletion.reference.handle;
    if !is_id(handle) {
        return Destruction::Fails(Cow::Borrowed("its handle is not the id of a file system or a \
                                                 volume"));
    }
    let what = match handle.starts_with("fs-") {
        true => format!("the whole file system {handle} with its automatic backups"),
        false => format!("the OpenZFS volume {handle}, and its contents if its tag \
                          OptionsOnDeletion has that option"),
    };
    Destruction::Storage { places: owned(used(&deletion.reference)), what: what.into() }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "fsx.openzfs.csi.aws.com";
    const NAME: &str = "fs-0a.fsx.eu-west-1.amazonaws.com";

    #[test]
    fn a_file_system_contains_its_volumes() {
        let volume = |id, path| places(DRIVER, id, &[("DNSName", NAME), ("VolumePath", path)]);
        let whole = places(DRIVER, "fs-0a", &[("DNSName", NAME)]);
        assert_eq!(lies(&whole, &volume("fsvol-1", "/fsx/a")), "inside");
        assert_eq!(lies(&volume("fsvol-1", "/fsx/a"), &volume("fsvol-1", "/fsx/a")), "equal");
        assert_eq!(lies(&volume("fsvol-1", "/fsx/a"), &volume("fsvol-2", "/fsx/b")), "apart");
        assert_eq!(lies(&volume("fsvol-1", "/fsx/a"), &places(DRIVER, "x", &[])), "equal?");
        assert_eq!(lies(&whole, &places(DRIVER, "fs-0b", &[])), "apart");
    }

    #[test]
    fn deletion_is_told_by_the_prefix() {
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert!(answer("fs-0a").starts_with("deletes the whole file system fs-0a"));
        assert!(answer("fsvol-1").starts_with("deletes the OpenZFS volume fsvol-1"));
        assert!(answer("x").starts_with("fails"));
    }
}

//! Amazon `FSx` for Lustre and for `OpenZFS`.

use std::borrow::Cow;

use super::basis::{BASE, LUSTRE, NFS, address, device, owned, server, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reach, Reference, Snapshots,
};

/// `FSx` for Lustre.
pub(super) static AWS_FSX_LUSTRE: Family = Family {
    id: "aws-fsx-lustre",
    title: "Amazon FSx for Lustre",
    names: &[Name::Is("fsx.csi.aws.com")],
    identity: "the file system: nodes mount the attribute dnsname, deletion reads the handle fs-…",
    reach: Reach::Provider,
    attributes: &["dnsname", "mountname"],
    used: lustre_used,
    deletion: lustre_deletion,
    destroys: "the file system with everything in it",
    answers_ok: &["a file system that does not exist"],
    snapshots: Snapshots::all(
        Fate::Dies,
        "AWS deletes automatic backups with the file system, and the driver asks for no final one",
    ),
    provisioner: Provisioner::csi(&["fsx-csi-controller"], &["aws-fsx-csi-driver"]),
    sources: &[
        "kubernetes-sigs/aws-fsx-csi-driver 5b227125: pkg/driver/node.go, pkg/driver/controller.go, pkg/cloud/cloud.go \
         DeleteFileSystem",
        "docs.aws.amazon.com/goto/WebAPI/fsx/DeleteFileSystem",
    ],
    ..BASE
};

/// Returns the id at the beginning of a name such as `fs-1.fsx.eu-west-1.amazonaws.com`.
pub(super) fn file_system(name: &str) -> Option<&str> {
    let (id, rest) = name.split_once('.')?;
    (lustre_is_id(id) && rest.starts_with("fsx.")).then_some(id)
}

fn lustre_is_id(text: &str) -> bool {
    let hex = text.strip_prefix("fs-").unwrap_or_default();
    !hex.is_empty() && hex.bytes().all(|it| it.is_ascii_alphanumeric())
}

/// Returns the place of everything in a file system.
fn whole<'a>(id: &str, name: Option<&'a str>) -> Place<'a> {
    Place::directory(LUSTRE, "/").of(server(format!("FSx {id}"), name))
}

fn lustre_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let name = reference.attribute("dnsname").filter(|name| !name.is_empty());
    vec![match (name, reference.handle) {
        (Some(name), _) => match file_system(name) {
            Some(id) => whole(id, Some(name)),
            None => Place::directory(LUSTRE, "/").of(address(name)),
        },
        (None, id) if lustre_is_id(id) => whole(id, None),
        (None, _) => undecided(LUSTRE, reference),
    }]
}

fn lustre_deletion(deletion: &Deletion<'_>) -> Destruction {
    match deletion.reference.handle {
        id if lustre_is_id(id) => Destruction::of(
            whole(id, None).into_owned(),
            format!("the whole file system {id} with its automatic backups"),
        ),
        _ => Destruction::Fails(Cow::Borrowed("its handle is not the id of a file system")),
    }
}

/// `FSx` for `OpenZFS`.
pub(super) static AWS_FSX_OPENZFS: Family = Family {
    id: "aws-fsx-openzfs",
    title: "Amazon FSx for OpenZFS",
    names: &[Name::Is("fsx.openzfs.csi.aws.com")],
    identity: "the file system fs-… or the volume fsvol-… in it; nodes mount the attributes DNSName and VolumePath",
    reach: Reach::Provider,
    attributes: &["DNSName", "VolumePath"],
    used: zfs_used,
    deletion: zfs_deletion,
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
    ..BASE
};

/// The space of file systems and volumes.
const SPACE: &str = "FSx resource";

/// The path of the volume that contains all others of a file system.
const ROOT: &str = "/fsx";

fn zfs_is_id(handle: &str) -> bool {
    handle.starts_with("fs-") || handle.starts_with("fsvol-")
}

fn zfs_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
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
    if zfs_is_id(handle) {
        places.push(device(SPACE, handle));
    }
    places
}

fn zfs_deletion(deletion: &Deletion<'_>) -> Destruction {
    let handle = deletion.reference.handle;
    if !zfs_is_id(handle) {
        return Destruction::Fails(Cow::Borrowed(
            "its handle is not the id of a file system or a \
                                                 volume",
        ));
    }
    let what = match handle.starts_with("fs-") {
        true => format!("the whole file system {handle} with its automatic backups"),
        false => format!(
            "the OpenZFS volume {handle}, and its contents if its tag \
                          OptionsOnDeletion has that option"
        ),
    };
    Destruction::Storage { places: owned(zfs_used(&deletion.reference)), what: what.into() }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, destruction, lies, places};
    use crate::drivers::{Destruction, meeting};

    #[test]
    fn the_name_decides_what_is_mounted_and_the_handle_what_is_deleted() {
        const DRIVER: &str = "fsx.csi.aws.com";
        let one = places(DRIVER, "fs-0a", &[("dnsname", "fs-0a.fsx.eu-west-1.amazonaws.com")]);
        for (handle, name, expected) in [
            ("fs-0a", "", "equal"),
            ("fs-0b", "", "apart"),
            ("fs-0b", "fs-0a.fsx.eu-west-1.amazonaws.com", "equal"),
            ("fs-0b", "lustre.example.com", "equal?"),
            ("anything", "", "equal?"),
        ] {
            let other = places(DRIVER, handle, &[("dnsname", name)]);
            assert_eq!(lies(&one, &other), expected, "{handle} {name}");
        }
        let told = answer(&Case { driver: DRIVER, handle: "fs-0b", ..Case::default() });
        assert_eq!(told, "deletes the whole file system fs-0b with its automatic backups");
        let Destruction::Storage { places, .. } =
            destruction(&Case { driver: DRIVER, handle: "fs-0b", ..Case::default() })
        else {
            panic!("it deletes");
        };
        assert_eq!(meeting(&places, &one), None, "another one than what is mounted");
    }

    #[test]
    fn a_file_system_contains_its_volumes() {
        const DRIVER: &str = "fsx.openzfs.csi.aws.com";
        const NAME: &str = "fs-0a.fsx.eu-west-1.amazonaws.com";
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
        const DRIVER: &str = "fsx.openzfs.csi.aws.com";
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert!(answer("fs-0a").starts_with("deletes the whole file system fs-0a"));
        assert!(answer("fsvol-1").starts_with("deletes the OpenZFS volume fsvol-1"));
        assert!(answer("x").starts_with("fails"));
    }
}

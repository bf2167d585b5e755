//! Amazon EFS: `efs.csi.aws.com`.

use std::borrow::Cow;

use super::basis::{BASE, NFS, NO_SNAPSHOTS, device, server, undecided};
use crate::drivers::{
    Deletion, Destruction, Expansion, Family, Name, Place, Provisioner, Reach, Reference,
};

/// Amazon EFS.
pub(super) static AWS_EFS: Family = Family {
    id: "aws-efs",
    title: "Amazon EFS",
    names: &[Name::Is("efs.csi.aws.com")],
    identity: "the file system with its path, or the access point: FS[:PATH[:ACCESSPOINT]], since 2.2 with efs: \
               or s3files: before it. Only AWS knows the directory of an access point",
    reach: Reach::Provider,
    used,
    deletion,
    destroys: "the access point; with --delete-access-point-root-dir also its directory with everything in it, \
               which may be the whole file system",
    answers_ok: &[
        "a handle without an access point",
        "a handle that does not parse",
        "an access point that does not exist",
    ],
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::csi(&["efs-csi-controller"], &["aws-efs-csi-driver"]),
    expansion: Expansion::futile(
        "an EFS file system grows by itself, and the size of the volume does not limit it; its driver cannot expand",
    ),
    defects: &[
        "with --delete-access-point-root-dir, an access point of / empties the file system \
         (kubernetes-sigs/aws-efs-csi-driver#1695)",
    ],
    sources: &[
        "kubernetes-sigs/aws-efs-csi-driver a4fc6760: pkg/driver/node.go parseVolumeId, pkg/driver/controller.go \
         DeleteVolume ControllerExpandVolume",
    ],
    ..BASE
};

/// The space of access points.
const ACCESS_POINT: &str = "EFS access point";

/// Reason for which the directory of an access point is unknown.
const SOMEWHERE: &str = "the directory of its access point is known to AWS only";

/// A handle, split as the driver does.
struct Handle<'a> {
    file_system: &'a str,
    path: &'a str,
    access_point: Option<&'a str>,
}

impl<'a> Handle<'a> {
    fn read(handle: &'a str) -> Option<Self> {
        let fields: Vec<&str> = handle.split(':').collect();
        let fields = match fields[..] {
            ["efs" | "s3files", ref rest @ ..] => rest,
            ref all => all,
        };
        let (file_system, path, point) = match *fields {
            [file_system] => (file_system, "", ""),
            [file_system, path] => (file_system, path, ""),
            [file_system, path, point] => (file_system, path, point),
            _ => return None,
        };
        let access_point = (!point.is_empty()).then_some(point);
        let whole = is_id(file_system, "fs-") && access_point.is_none_or(|it| is_id(it, "fsap-"));
        whole.then_some(Self { file_system, path, access_point })
    }

    fn places(&self) -> Vec<Place<'a>> {
        let server = server(format!("EFS {}", self.file_system), None);
        match self.access_point {
            None => vec![Place::directory(NFS, self.path).of(server)],
            Some(point) => vec![
                device(ACCESS_POINT, point),
                Place::directory(NFS, "/").somewhere_within(SOMEWHERE).of(server),
            ],
        }
    }
}

fn is_id(text: &str, prefix: &str) -> bool {
    let hex = text.strip_prefix(prefix).unwrap_or_default();
    (8..=40).contains(&hex.len()) && hex.bytes().all(|it| it.is_ascii_hexdigit())
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    Handle::read(reference.handle).map_or_else(|| vec![undecided(NFS, reference)], |it| it.places())
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let Some(handle) = Handle::read(deletion.reference.handle) else {
        return Destruction::Nothing(Cow::Borrowed("it cannot read the handle"));
    };
    let Some(point) = handle.access_point else {
        return Destruction::Nothing(Cow::Borrowed("the volume has no access point"));
    };
    let keeps = deletion.flags("delete-access-point-root-dir").all(|it| it == "false");
    match deletion.arguments {
        Some(_) if keeps => Destruction::Kept {
            places: vec![device(ACCESS_POINT, point).into_owned()],
            what: format!("deletes the access point {point}; the directory remains").into(),
        },
        Some(_) => Destruction::Undecided(Cow::Borrowed(
            "--delete-access-point-root-dir is set, or may be by a variable: it also deletes the directory of the \
             access point, and only AWS knows which one that is",
        )),
        None => Destruction::Undecided(Cow::Borrowed(
            "whether it also deletes the directory of the access point depends on the flag \
             --delete-access-point-root-dir of its controller, whose arguments were not read",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::tests::{Case, answer, lies, places};
    use crate::model::{Attributes, BackendKey};

    #[test]
    fn access_points_are_known_by_their_id_and_lie_somewhere_in_their_file_system() {
        const DRIVER: &str = "efs.csi.aws.com";
        const POINT: &str = "fs-0123abcd::fsap-0123abcd";
        for (one, other, expected) in [
            (POINT, "efs:fs-0123abcd::fsap-0123abcd", "equal"),
            (POINT, "fs-0123abcd::fsap-0123abce", "equal?"),
            (POINT, "fs-0123abce::fsap-0123abce", "apart"),
            (POINT, "fs-0123abcd:/a", "inside?"),
            ("fs-0123abcd:/a", "efs:fs-0123abcd:/a/", "equal"),
            ("fs-0123abcd:/a", "fs-0123abcd:/b", "apart"),
            ("fs-0123abcd", "fs-0123abcd:/b", "inside"),
            (POINT, "fs-1", "equal?"),
        ] {
            let (one, other) = (places(DRIVER, one, &[]), places(DRIVER, other, &[]));
            assert_eq!(lies(&one, &other), expected, "{one:?} {other:?}");
        }
        let plain = places("nfs", "fs-0123abcd.efs.eu-west-1.amazonaws.com:/a/b", &[]);
        assert_eq!(lies(&places(DRIVER, "fs-0123abcd:/a", &[]), &plain), "inside");
    }

    #[test]
    fn only_an_access_point_is_deleted_unless_a_flag_says_more() {
        const DRIVER: &str = "efs.csi.aws.com";
        const POINT: &str = "fs-0123abcd::fsap-0123abcd";
        let remains = "deletes the access point fsap-0123abcd; the directory remains";
        for (handle, arguments, expected) in [
            (POINT, &[][..], remains),
            (POINT, &["--delete-access-point-root-dir=false"], remains),
            (
                POINT,
                &["--delete-access-point-root-dir=true"],
                "undecided: --delete-access-point-root-dir is set",
            ),
            (
                POINT,
                &["--delete-access-point-root-dir"],
                "undecided: --delete-access-point-root-dir is set",
            ),
            (POINT, &["$ --v=2"], "undecided: --delete-access-point-root-dir is set, or may be"),
            ("fs-0123abcd:/a", &[], "does nothing: the volume has no access point"),
            ("x", &[], "does nothing: it cannot read the handle"),
        ] {
            let told = answer(&Case { driver: DRIVER, handle, arguments, ..Case::default() });
            assert!(told.starts_with(expected), "{handle} {arguments:?}: {told}");
        }
        let key = BackendKey { driver: DRIVER.into(), handle: POINT.into() };
        let none = Attributes::default();
        let reference = Reference::of(&key, &none);
        let unread = Deletion {
            reference,
            owner: DRIVER,
            volume: "pv-1",
            class: None,
            arguments: None,
            images: None,
            has_secret: false,
        };
        assert!(matches!(deletion(&unread), Destruction::Undecided(_)), "arguments not read");
    }
}

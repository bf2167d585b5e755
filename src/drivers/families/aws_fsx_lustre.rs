//! Amazon `FSx` for Lustre: `fsx.csi.aws.com`.

use std::borrow::Cow;

use super::{
    cloud::{LUSTRE, address, server},
    basis::{SHARE, undecided},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reference, Snapshots,
};

/// `FSx` for Lustre.
pub static FAMILY: Family = Family {
    id: "aws-fsx-lustre",
    title: "Amazon FSx for Lustre",
    names: &[Name::Is("fsx.csi.aws.com")],
    identity: "the file system: nodes mount the attribute dnsname, deletion reads the handle fs-…",
    attributes: &["dnsname", "mountname"],
    used,
    deletion,
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
    ..SHARE
};

/// The id at the beginning of a name such as `fs-1.fsx.eu-west-1.amazonaws.com`.
pub(super) fn file_system(name: &str) -> Option<&str> {
    let (id, rest) = name.split_once('.')?;
    (is_id(id) && rest.starts_with("fsx.")).then_some(id)
}

fn is_id(text: &str) -> bool {
    let hex = text.strip_prefix("fs-").unwrap_or_default();
    !hex.is_empty() && hex.bytes().all(|it| it.is_ascii_alphanumeric())
}

/// Everything in a file system.
fn whole<'a>(id: &str, name: Option<&'a str>) -> Place<'a> {
    Place::directory(LUSTRE, "/").of(server(format!("FSx {id}"), name))
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let name = reference.attribute("dnsname").filter(|name| !name.is_empty());
    vec![match (name, reference.handle) {
        (Some(name), _) => match file_system(name) {
            Some(id) => whole(id, Some(name)),
            None => Place::directory(LUSTRE, "/").of(address(name)),
        },
        (None, id) if is_id(id) => whole(id, None),
        (None, _) => undecided(LUSTRE, reference),
    }]
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match deletion.reference.handle {
        id if is_id(id) => Destruction::of(
            whole(id, None).into_owned(),
            format!("the whole file system {id} with its automatic backups"),
        ),
        _ => Destruction::Fails(Cow::Borrowed("its handle is not the id of a file system")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, destruction, lies, places};
    use crate::drivers::{Destruction, meeting};

    const DRIVER: &str = "fsx.csi.aws.com";

    #[test]
    fn the_name_decides_what_is_mounted_and_the_handle_what_is_deleted() {
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
}

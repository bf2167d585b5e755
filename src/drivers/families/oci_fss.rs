//! Oracle File Storage: `fss.csi.oraclecloud.com`.

use std::borrow::Cow;

use super::{
    cloud::{owned, server},
    basis::{NFS, SHARE, device, undecided},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reference, Snapshots,
};

/// Oracle File Storage.
pub static FAMILY: Family = Family {
    id: "oci-fss",
    title: "Oracle File Storage",
    names: &[Name::Is("fss.csi.oraclecloud.com")],
    identity: "the OCID of the file system; the handle OCID:ADDRESS:/EXPORT also contains one of \
               its exports",
    used,
    deletion,
    destroys: "the file system with everything in it, its export, and its mount target if the file system is tagged so",
    answers_ok: &["a file system that does not exist: its export and its mount target remain"],
    refuses: &["a handle that does not parse"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown what happens to them"),
    provisioner: Provisioner::csi(&["csi-oci-controller"], &["cloud-provider-oci"])
        .hidden("OKE may run it in the control plane; unknown what is visible then"),
    sources: &[
        "oracle/oci-cloud-controller-manager 1100ac362: pkg/csi/driver/fss_controller.go, pkg/csi/driver/fss_node.go, \
         pkg/csi-util/utils.go ValidateFssId",
    ],
    ..SHARE
};

/// The OCID, the address and the export: between the first and the last colon, since an address may
/// have colons.
fn read(handle: &str) -> Option<(&str, &str, &str)> {
    let (ocid, rest) = handle.split_once(':')?;
    let (address, export) = rest.rsplit_once(':')?;
    let address = address.trim_matches(['[', ']']);
    (![ocid, address, export].contains(&"")).then_some((ocid, address, export))
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    match read(reference.handle) {
        Some((ocid, address, export)) => vec![
            device("Oracle file system", ocid),
            Place::directory(NFS, export).of(server(format!("Oracle {ocid}"), Some(address))),
        ],
        None => vec![undecided(NFS, reference), undecided("Oracle file system", reference)],
    }
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match read(deletion.reference.handle) {
        Some((ocid, ..)) => Destruction::Storage {
            places: owned(used(&deletion.reference)),
            what: format!(
                "the whole file system {ocid} with its export, and its mount target if the file system is tagged so"
            )
            .into(),
        },
        None => Destruction::Fails(Cow::Borrowed("it cannot read the handle")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "fss.csi.oraclecloud.com";

    #[test]
    fn the_ocid_is_the_file_system_and_nfs_meets_its_export() {
        let one = places(DRIVER, "ocid1.fs.a:10.0.0.4:/one", &[]);
        for (handle, expected) in [
            ("ocid1.fs.a:10.0.0.5:/other", "equal"),
            ("ocid1.fs.b:10.0.0.4:/two", "apart"),
            ("ocid1.fs.b:10.0.0.4:/one", "equal?"),
            ("ocid1.fs.b:[fd00:c1::a9fe:202]:/one", "apart"),
            ("ocid1.fs.a", "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, &[])), expected, "{handle}");
        }
        assert_eq!(lies(&one, &places("nfs", "10.0.0.4:/one/a", &[])), "inside");
        assert_eq!(lies(&one, &places("nfs", "10.0.0.4:/two", &[])), "apart");
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert!(answer("ocid1.fs.a:10.0.0.4:/one").starts_with("deletes the whole file system ocid1.fs.a"));
        assert!(answer("ocid1.fs.a").starts_with("fails"));
    }
}

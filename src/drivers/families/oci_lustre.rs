//! Oracle Lustre: `lustre.csi.oraclecloud.com`.

use std::borrow::Cow;

use super::{
    cloud::{LUSTRE, address, owned, server},
    basis::{SHARE, undecided},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reference, Snapshots,
};

/// Oracle Lustre.
pub static FAMILY: Family = Family {
    id: "oci-lustre",
    title: "Oracle Lustre",
    names: &[Name::Is("lustre.csi.oraclecloud.com")],
    identity: "the OCID of the file system in the handle OCID:ADDRESS:/NAME; static volumes have ADDRESS:/NAME",
    used,
    deletion,
    destroys: "the file system with everything in it",
    answers_ok: &["a file system that does not exist"],
    refuses: &["a handle without an OCID, as static volumes have"],
    snapshots: Snapshots::all(Fate::None, "there are none"),
    provisioner: Provisioner::csi(&["csi-oci-controller"], &["cloud-provider-oci"])
        .hidden("OKE may run it in the control plane; unknown what is visible then"),
    sources: &[
        "oracle/oci-cloud-controller-manager 1100ac362: pkg/csi/driver/lustre_controller.go, \
         docs/pvcs-with-lustre-using-csi.md",
    ],
    ..SHARE
};

/// The OCID, as deletion reads it, and what follows it.
fn ocid(handle: &str) -> Option<(&str, &str)> {
    handle.split_once(':').filter(|(ocid, _)| ocid.starts_with("ocid"))
}

/// Everything in a file system: a volume in one directory of it counts as all of it.
fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let whole = Place::directory(LUSTRE, "/");
    let mounted = |text: &'a str| text.split_once(":/").map(|(mounted, _)| mounted);
    vec![match ocid(reference.handle) {
        Some((ocid, rest)) => whole.of(server(format!("Oracle {ocid}"), mounted(rest))),
        None => match mounted(reference.handle).filter(|it| !it.is_empty()) {
            Some(mounted) => whole.of(address(mounted)),
            None => undecided(LUSTRE, reference),
        },
    }]
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match ocid(deletion.reference.handle) {
        Some((ocid, _)) => Destruction::Storage {
            places: owned(used(&deletion.reference)),
            what: format!("the whole Lustre file system {ocid}").into(),
        },
        None => Destruction::Fails(Cow::Borrowed("its handle contains no OCID")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "lustre.csi.oraclecloud.com";

    #[test]
    fn static_volumes_meet_dynamic_ones_by_their_address() {
        let one = places(DRIVER, "ocid1.lfs.a:10.0.0.6@tcp:/fs", &[]);
        for (handle, expected) in [
            ("10.0.0.6@tcp:/fs", "equal"),
            ("10.0.0.7@tcp:/fs", "equal?"),
            ("ocid1.lfs.b:10.0.0.7@tcp:/fs", "apart"),
            ("fs", "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, &[])), expected, "{handle}");
        }
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        let told = answer("ocid1.lfs.a:10.0.0.6@tcp:/fs");
        assert_eq!(told, "deletes the whole Lustre file system ocid1.lfs.a");
        assert!(answer("10.0.0.6@tcp:/fs").starts_with("fails"));
    }
}

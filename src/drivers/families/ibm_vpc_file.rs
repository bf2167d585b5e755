//! IBM VPC file storage: `vpc.file.csi.ibm.io`.

use std::borrow::Cow;

use super::{
    cloud::{owned, server},
    basis::{NFS, SHARE, device, undecided},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Place, Provisioner, Reference, Snapshots,
};

/// IBM VPC file storage.
pub static FAMILY: Family = Family {
    id: "ibm-vpc-file",
    title: "IBM VPC file storage",
    names: &[Name::Is("vpc.file.csi.ibm.io")],
    identity: "the share: the handle SHARE#TARGET, in older volumes SHARE:TARGET; nodes mount the attribute nfsServerPath",
    attributes: &["nfsServerPath"],
    used,
    deletion,
    destroys: "the mount target and the whole share, which may have other targets",
    answers_ok: &["a share that does not exist"],
    refuses: &["a handle without exactly two parts"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown what happens to them"),
    provisioner: Provisioner::csi(&["ibm-vpc-file-csi-controller"], &["ibm-vpc-file-csi-driver"]),
    sources: &[
        "IBM/ibm-vpc-file-csi-driver bb2cfd8: pkg/ibmcsidriver/controller.go, pkg/ibmcsidriver/controller_helper.go \
         getTokens, pkg/ibmcsidriver/node.go",
    ],
    ..SHARE
};

/// The space of shares.
const SPACE: &str = "IBM file share";

/// The share of a handle.
fn share(handle: &str) -> Option<&str> {
    let separator = if handle.contains('#') { '#' } else { ':' };
    match handle.split(separator).collect::<Vec<_>>()[..] {
        [share, target] if ![share, target].contains(&"") => Some(share),
        _ => None,
    }
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let share = share(reference.handle);
    let export = reference.attribute("nfsServerPath").and_then(|it| it.split_once(":/"));
    let mut places = vec![share.map_or_else(|| undecided(SPACE, reference), |it| device(SPACE, it))];
    if let Some((host, path)) = export {
        let identity = share.map(|share| server(format!("IBM share {share}"), Some(host)));
        let server = identity.unwrap_or_else(|| super::cloud::address(host));
        places.push(Place::directory(NFS, path).of(server));
    }
    places
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match share(deletion.reference.handle) {
        Some(share) => Destruction::Storage {
            places: owned(used(&deletion.reference)),
            what: format!("the whole share {share} with its mount target").into(),
        },
        None => Destruction::Fails(Cow::Borrowed("it cannot read the handle")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "vpc.file.csi.ibm.io";

    #[test]
    fn targets_of_a_share_are_the_same_data() {
        let one = places(DRIVER, "r1-a#r1-t", &[("nfsServerPath", "10.0.0.4:/a")]);
        for (handle, expected) in
            [("r1-a:r1-t", "equal"), ("r1-a#r1-u", "equal"), ("r1-b#r1-t", "apart"), ("r1-a", "equal?")]
        {
            assert_eq!(lies(&one, &places(DRIVER, handle, &[])), expected, "{handle}");
        }
        assert_eq!(lies(&one, &places("nfs", "10.0.0.4:/a/b", &[])), "inside");
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer("r1-a#r1-t"), "deletes the whole share r1-a with its mount target");
        assert!(answer("r1-a").starts_with("fails"));
    }
}

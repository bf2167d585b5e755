//! `OpenStack` Manila: `nfs.manila.csi.openstack.org`, `cephfs.manila.csi.openstack.org`.

use std::borrow::Cow;

use super::{
    cloud::{is_uuid, owned, server},
    basis::{NFS, SHARE, device, undecided},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Part, Place, Provisioner, Reference, Snapshots,
};

/// `OpenStack` Manila.
pub static FAMILY: Family = Family {
    id: "manila",
    title: "OpenStack Manila",
    names: &[
        Name::EndsWith("nfs.manila.csi.openstack.org"),
        Name::EndsWith("cephfs.manila.csi.openstack.org"),
    ],
    identity: "the share: nodes mount the attribute shareID or shareName, deletion reads the handle, which is the UUID \
               of dynamic volumes and any text of static ones. Where a share is exported only OpenStack knows",
    attributes: &["shareID", "shareName"],
    used,
    deletion,
    destroys: "the share whose UUID is the handle",
    answers_ok: &["a handle that is not the id of a share"],
    refuses: &["a volume without the Secret of OpenStack"],
    snapshots: Snapshots::all(Fate::Unknown, "the storage system behind Manila decides"),
    provisioner: Provisioner::csi(&["openstack-manila-csi-controllerplugin"], &["manila-csi-plugin"])
        .without_leader(),
    sources: &[
        "kubernetes/cloud-provider-openstack c453fb7c9: pkg/csi/manila/share.go, pkg/csi/manila/controllerserver.go \
         DeleteVolume, pkg/csi/manila/nodeserver.go, pkg/csi/manila/options/shareoptions.go",
    ],
    ..SHARE
};

/// The space of shares.
const SPACE: &str = "Manila share";

/// A share by its id.
fn by_id<'a>(driver: &str, id: &'a str) -> Vec<Place<'a>> {
    let mut places = vec![device(SPACE, id)];
    if driver.contains("nfs.manila") {
        places.push(Place::directory(NFS, "/").of(server(format!("Manila share {id}"), None)));
    }
    places
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let value = |key| reference.attribute(key).filter(|it| !it.is_empty());
    match (value("shareID"), value("shareName"), reference.handle) {
        (Some(id), ..) => by_id(reference.driver, id),
        // Names are told apart from each other, and not from ids.
        (None, Some(name), _) => {
            let why = "a share is known by its name or by its id";
            let place = Place::undecided(SPACE, name, why).of(Part::Is(name.into()));
            let is_nfs = reference.driver.contains("nfs.manila");
            let export = is_nfs.then(|| {
                let server = Part::Unknown("unknown where the share is exported");
                Place::directory(NFS, "/").of(server)
            });
            [place].into_iter().chain(export).collect()
        }
        (None, None, id) if is_uuid(id) => by_id(reference.driver, id),
        _ => vec![undecided(SPACE, reference)],
    }
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let Deletion { reference, has_secret, .. } = deletion;
    match reference.handle {
        _ if !has_secret => {
            Destruction::Fails(Cow::Borrowed("csi-provisioner hands over no Secret of OpenStack"))
        }
        id if is_uuid(id) => Destruction::Storage {
            places: owned(by_id(reference.driver, id)),
            what: format!("the Manila share {id}").into(),
        },
        _ => Destruction::Nothing(Cow::Borrowed("its handle is not the id of a share")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "nfs.manila.csi.openstack.org";
    const ID: &str = "0a1b2c3d-0000-4000-8000-000000000001";

    #[test]
    fn static_volumes_name_their_share_in_an_attribute() {
        let one = places(DRIVER, ID, &[("shareID", ID)]);
        for (handle, pairs, expected) in [
            ("any", &[("shareID", ID)][..], "equal"),
            ("any", &[("shareID", "0a1b2c3d-0000-4000-8000-000000000002")], "apart"),
            ("any", &[("shareName", "data")], "equal?"),
            ("any", &[], "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, pairs)), expected, "{handle} {pairs:?}");
        }
        assert_eq!(lies(&one, &places("nfs", "10.0.0.9:/shares/a", &[])), "inside?");
        let (data, logs) = ([("shareName", "data")], [("shareName", "logs")]);
        let cephfs = "cephfs.manila.csi.openstack.org";
        let named = |pairs| places(cephfs, "any", pairs);
        assert_eq!(lies(&named(&data), &named(&data)), "equal");
        assert_eq!(lies(&named(&data), &named(&logs)), "apart");
    }

    #[test]
    fn deletion_reads_the_handle_and_needs_the_secret() {
        let answer = |handle, has_secret| {
            answer(&Case { driver: DRIVER, handle, has_secret, ..Case::default() })
        };
        assert_eq!(answer(ID, true), format!("deletes the Manila share {ID}"));
        assert!(answer(ID, false).starts_with("fails"));
        assert!(answer("any", true).starts_with("does nothing"));
    }
}

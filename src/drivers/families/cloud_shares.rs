//! Shares of other clouds: each is known by its id, and mounted from an address.

use std::borrow::Cow;

use super::basis::{
    BASE, NFS, NO_SNAPSHOTS, UNKNOWN_FATE, address, device, is_uuid, owned, server, undecided,
    what_it_uses,
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Name, Part, Place, Provisioner, Reach, Reference,
    Snapshots,
};

/// `OpenStack` Manila.
pub(super) static MANILA: Family = Family {
    id: "manila",
    title: "OpenStack Manila",
    names: &[
        Name::EndsWith("nfs.manila.csi.openstack.org"),
        Name::EndsWith("cephfs.manila.csi.openstack.org"),
    ],
    identity: "the share: nodes mount the attribute shareID or shareName, deletion reads the handle, which is the UUID \
               of dynamic volumes and any text of static ones. Where a share is exported only OpenStack knows",
    reach: Reach::Provider,
    attributes: &["shareID", "shareName"],
    used: manila_used,
    deletion: manila_deletion,
    destroys: "the share whose UUID is the handle",
    answers_ok: &["a handle that is not the id of a share"],
    refuses: &["a volume without the Secret of OpenStack"],
    snapshots: Snapshots::all(Fate::Unknown, "the storage system behind Manila decides"),
    provisioner: Provisioner::csi(
        &["openstack-manila-csi-controllerplugin"],
        &["manila-csi-plugin"],
    )
    .without_leader(),
    sources: &[
        "kubernetes/cloud-provider-openstack c453fb7c9: pkg/csi/manila/share.go, pkg/csi/manila/controllerserver.go \
         DeleteVolume, pkg/csi/manila/nodeserver.go, pkg/csi/manila/options/shareoptions.go",
    ],
    ..BASE
};

/// The space of shares.
const MANILA_SPACE: &str = "Manila share";

/// Returns a share by its id.
fn by_id<'a>(driver: &str, id: &'a str) -> Vec<Place<'a>> {
    let mut places = vec![device(MANILA_SPACE, id)];
    if driver.contains("nfs.manila") {
        places.push(Place::directory(NFS, "/").of(server(format!("Manila share {id}"), None)));
    }
    places
}

fn manila_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let value = |key| reference.attribute(key).filter(|it| !it.is_empty());
    match (value("shareID"), value("shareName"), reference.handle) {
        (Some(id), ..) => by_id(reference.driver, id),
        // Names are told apart from each other, and not from ids.
        (None, Some(name), _) => {
            let why = "a share is known by its name or by its id";
            let place = Place::undecided(MANILA_SPACE, name, why).of(Part::Is(name.into()));
            let is_nfs = reference.driver.contains("nfs.manila");
            let export = is_nfs.then(|| {
                let server = Part::Unknown("unknown where the share is exported");
                Place::directory(NFS, "/").of(server)
            });
            [place].into_iter().chain(export).collect()
        }
        (None, None, id) if is_uuid(id) => by_id(reference.driver, id),
        _ => vec![undecided(MANILA_SPACE, reference)],
    }
}

fn manila_deletion(deletion: &Deletion<'_>) -> Destruction {
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

/// Oracle File Storage.
pub(super) static OCI_FSS: Family = Family {
    id: "oci-fss",
    title: "Oracle File Storage",
    names: &[Name::Is("fss.csi.oraclecloud.com")],
    identity: "the OCID of the file system; the handle OCID:ADDRESS:/EXPORT also contains one of \
               its exports",
    reach: Reach::Provider,
    used: oci_used,
    deletion: oci_deletion,
    destroys: "the file system with everything in it, its export, and its mount target if the file system is tagged so",
    answers_ok: &["a file system that does not exist: its export and its mount target remain"],
    refuses: &["a handle that does not parse"],
    snapshots: UNKNOWN_FATE,
    provisioner: Provisioner::csi(&["csi-oci-controller"], &["cloud-provider-oci"])
        .hidden("OKE may run it in the control plane; unknown what is visible then"),
    sources: &[
        "oracle/oci-cloud-controller-manager 1100ac362: pkg/csi/driver/fss_controller.go, pkg/csi/driver/fss_node.go, \
         pkg/csi-util/utils.go ValidateFssId",
    ],
    ..BASE
};

/// Returns the OCID, the address and the export: between the first and the last colon, since an address may have
/// colons.
fn read(handle: &str) -> Option<(&str, &str, &str)> {
    let (ocid, rest) = handle.split_once(':')?;
    let (address, export) = rest.rsplit_once(':')?;
    let address = address.trim_matches(['[', ']']);
    (![ocid, address, export].contains(&"")).then_some((ocid, address, export))
}

fn oci_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    match read(reference.handle) {
        Some((ocid, address, export)) => vec![
            device("Oracle file system", ocid),
            Place::directory(NFS, export).of(server(format!("Oracle {ocid}"), Some(address))),
        ],
        None => vec![undecided(NFS, reference), undecided("Oracle file system", reference)],
    }
}

fn oci_deletion(deletion: &Deletion<'_>) -> Destruction {
    match read(deletion.reference.handle) {
        Some((ocid, ..)) => Destruction::Storage {
            places: owned(oci_used(&deletion.reference)),
            what: format!(
                "the whole file system {ocid} with its export, and its mount target if the file system is tagged so"
            )
            .into(),
        },
        None => Destruction::Fails(Cow::Borrowed("it cannot read the handle")),
    }
}

/// IBM VPC file storage.
pub(super) static IBM_VPC_FILE: Family = Family {
    id: "ibm-vpc-file",
    title: "IBM VPC file storage",
    names: &[Name::Is("vpc.file.csi.ibm.io")],
    identity: "the share: the handle SHARE#TARGET, in older volumes SHARE:TARGET; nodes mount the attribute nfsServerPath",
    reach: Reach::Provider,
    attributes: &["nfsServerPath"],
    used: ibm_used,
    deletion: ibm_deletion,
    destroys: "the mount target and the whole share, which may have other targets",
    answers_ok: &["a share that does not exist"],
    refuses: &["a handle without exactly two parts"],
    snapshots: UNKNOWN_FATE,
    provisioner: Provisioner::csi(&["ibm-vpc-file-csi-controller"], &["ibm-vpc-file-csi-driver"]),
    sources: &[
        "IBM/ibm-vpc-file-csi-driver bb2cfd8: pkg/ibmcsidriver/controller.go, pkg/ibmcsidriver/controller_helper.go \
         getTokens, pkg/ibmcsidriver/node.go",
    ],
    ..BASE
};

/// The space of shares.
const IBM_SPACE: &str = "IBM file share";

/// Returns the share of a handle.
fn share(handle: &str) -> Option<&str> {
    let separator = if handle.contains('#') { '#' } else { ':' };
    match handle.split(separator).collect::<Vec<_>>()[..] {
        [share, target] if ![share, target].contains(&"") => Some(share),
        _ => None,
    }
}

fn ibm_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let share = share(reference.handle);
    let export = reference.attribute("nfsServerPath").and_then(|it| it.split_once(":/"));
    let mut places =
        vec![share.map_or_else(|| undecided(IBM_SPACE, reference), |it| device(IBM_SPACE, it))];
    if let Some((host, path)) = export {
        let identity = share.map(|share| server(format!("IBM share {share}"), Some(host)));
        let server = identity.unwrap_or_else(|| address(host));
        places.push(Place::directory(NFS, path).of(server));
    }
    places
}

fn ibm_deletion(deletion: &Deletion<'_>) -> Destruction {
    match share(deletion.reference.handle) {
        Some(share) => Destruction::Storage {
            places: owned(ibm_used(&deletion.reference)),
            what: format!("the whole share {share} with its mount target").into(),
        },
        None => Destruction::Fails(Cow::Borrowed("it cannot read the handle")),
    }
}

/// Huawei SFS.
pub(super) static HUAWEI_SFS: Family = Family {
    id: "huawei-sfs",
    title: "Huawei SFS and SFS Turbo",
    names: &[Name::Is("sfs.csi.huaweicloud.com"), Name::Is("sfsturbo.csi.huaweicloud.com")],
    identity: "the UUID of the share, which is the handle; where it is exported only Huawei knows",
    reach: Reach::Provider,
    used: huawei_used,
    deletion: |deletion| {
        let id = deletion.reference.handle;
        what_it_uses(deletion, format!("the whole share {id}"))
    },
    destroys: "the share with everything in it",
    snapshots: UNKNOWN_FATE,
    provisioner: Provisioner::csi(
        &["csi-sfs-controller", "csi-sfsturbo-controller"],
        &["sfs-csi-plugin", "sfsturbo-csi-plugin"],
    ),
    sources: &[
        "huaweicloud/huaweicloud-csi-driver 06c6079: pkg/sfs/controllerserver.go, pkg/sfsturbo/controllerserver.go, \
         pkg/sfs/nodeserver.go",
    ],
    ..BASE
};

fn huawei_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    match reference.handle {
        INLINE => Vec::new(),
        "" => vec![undecided(NFS, reference)],
        id => vec![Place::directory(NFS, "/").of(server(format!("Huawei share {id}"), None))],
    }
}

/// Tencent Cloud File Storage.
pub(super) static TENCENT_CFS: Family = Family {
    id: "tencent-cfs",
    title: "Tencent Cloud File Storage",
    names: &[Name::Is("com.tencent.cloud.csi.cfs")],
    identity: "the file system cfs-…; nodes mount the attributes host and path, deletion reads the handle, which is any \
               text of static volumes",
    reach: Reach::Provider,
    attributes: &["host", "path"],
    used: tencent_used,
    deletion: tencent_deletion,
    destroys: "the file system with everything in it",
    answers_ok: &["a file system that does not exist"],
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::csi(&["csi-provisioner-cfsplugin"], &["csi-tencentcloud-cfs"])
        .without_leader(),
    sources: &[
        "TencentCloud/kubernetes-csi-tencentcloud defc12d: driver/cfs/controller.go DeleteVolume, driver/cfs/node.go, \
         deploy/cfs",
    ],
    ..BASE
};

/// The space of file systems.
const TENCENT_SPACE: &str = "Tencent file system";

fn id(handle: &str) -> Option<&str> {
    handle.starts_with("cfs-").then_some(handle)
}

/// Returns the path of the volume, and the file system where the handle is its id.
fn places<'a>(reference: &Reference<'a>, path: &'a str) -> Vec<Place<'a>> {
    let host = reference.attribute("host").filter(|host| !host.is_empty());
    let server = match (id(reference.handle), host) {
        (Some(id), host) => Some(server(format!("Tencent {id}"), host)),
        (None, host) => host.map(address),
    };
    let file_system = id(reference.handle).map(|id| device(TENCENT_SPACE, id));
    let mounted = server.map(|server| Place::directory(NFS, path).of(server));
    file_system.into_iter().chain(mounted).collect()
}

fn tencent_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let places = places(reference, reference.attribute("path").unwrap_or("/"));
    match reference.handle {
        INLINE => places,
        _ if places.is_empty() => {
            vec![undecided(NFS, reference), undecided(TENCENT_SPACE, reference)]
        }
        _ => places,
    }
}

fn tencent_deletion(deletion: &Deletion<'_>) -> Destruction {
    match id(deletion.reference.handle) {
        Some(id) => Destruction::Storage {
            places: owned(places(&deletion.reference, "/")),
            what: format!("the whole file system {id}").into(),
        },
        None => Destruction::Fails(Cow::Borrowed("its handle is not the id of a file system")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::INLINE;
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn static_volumes_name_their_share_in_an_attribute() {
        const DRIVER: &str = "nfs.manila.csi.openstack.org";
        const ID: &str = "0a1b2c3d-0000-4000-8000-000000000001";
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
        const DRIVER: &str = "nfs.manila.csi.openstack.org";
        const ID: &str = "0a1b2c3d-0000-4000-8000-000000000001";
        let answer = |handle, has_secret| {
            answer(&Case { driver: DRIVER, handle, has_secret, ..Case::default() })
        };
        assert_eq!(answer(ID, true), format!("deletes the Manila share {ID}"));
        assert!(answer(ID, false).starts_with("fails"));
        assert!(answer("any", true).starts_with("does nothing"));
    }

    #[test]
    fn the_ocid_is_the_file_system_and_nfs_meets_its_export() {
        const DRIVER: &str = "fss.csi.oraclecloud.com";
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
        assert!(
            answer("ocid1.fs.a:10.0.0.4:/one")
                .starts_with("deletes the whole file system ocid1.fs.a")
        );
        assert!(answer("ocid1.fs.a").starts_with("fails"));
    }

    #[test]
    fn targets_of_a_share_are_the_same_data() {
        const DRIVER: &str = "vpc.file.csi.ibm.io";
        let one = places(DRIVER, "r1-a#r1-t", &[("nfsServerPath", "10.0.0.4:/a")]);
        for (handle, expected) in [
            ("r1-a:r1-t", "equal"),
            ("r1-a#r1-u", "equal"),
            ("r1-b#r1-t", "apart"),
            ("r1-a", "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, &[])), expected, "{handle}");
        }
        assert_eq!(lies(&one, &places("nfs", "10.0.0.4:/a/b", &[])), "inside");
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer("r1-a#r1-t"), "deletes the whole share r1-a with its mount target");
        assert!(answer("r1-a").starts_with("fails"));
    }

    #[test]
    fn shares_are_apart_and_their_address_is_not_known() {
        const DRIVER: &str = "sfsturbo.csi.huaweicloud.com";
        let one = places(DRIVER, "0a1b", &[]);
        assert_eq!(lies(&one, &places(DRIVER, "0a1b", &[])), "equal");
        assert_eq!(lies(&one, &places(DRIVER, "0a1c", &[])), "apart");
        assert_eq!(lies(&one, &places("nfs", "10.0.0.4:/a", &[])), "inside?");
        let told = answer(&Case { driver: DRIVER, handle: "0a1b", ..Case::default() });
        assert_eq!(told, "deletes the whole share 0a1b");
    }

    #[test]
    fn static_volumes_lie_in_the_file_system_of_their_host() {
        const DRIVER: &str = "com.tencent.cloud.csi.cfs";
        let one = places(DRIVER, "cfs-a", &[("host", "10.0.0.4"), ("path", "/")]);
        for (handle, host, path, expected) in [
            ("cfs-b", "10.0.0.5", "/", "apart"),
            ("any", "10.0.0.4", "/a", "inside"),
            ("any", "10.0.0.5", "/a", "inside?"),
            (INLINE, "10.0.0.4", "/a", "inside"),
            ("any", "", "", "equal?"),
        ] {
            let other = places(DRIVER, handle, &[("host", host), ("path", path)]);
            assert_eq!(lies(&one, &other), expected, "{handle} {host} {path}");
        }
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer("cfs-a"), "deletes the whole file system cfs-a");
        assert!(answer("any").starts_with("fails"));
    }
}

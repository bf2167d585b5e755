//! Lustre file systems of clouds other than Amazon's.

use std::borrow::Cow;

use super::basis::{
    BASE, LUSTRE, NO_SNAPSHOTS, address, folder, join, owned, server, undecided, what_it_uses,
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Name, Part, Place, Provisioner, Reach, Reference,
    Snapshots,
};

/// Google Managed Lustre.
pub(super) static GCP_LUSTRE: Family = Family {
    id: "gcp-lustre",
    title: "Google Managed Lustre",
    names: &[Name::Is("lustre.csi.storage.gke.io")],
    identity: "the instance: PROJECT/LOCATION/INSTANCE, with anything after a colon; nodes mount the attribute ip",
    reach: Reach::Provider,
    attributes: &["ip"],
    used: gcp_used,
    deletion: gcp_deletion,
    destroys: "the whole instance",
    answers_ok: &["a handle that does not parse", "an instance that does not exist"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown whether there are any"),
    provisioner: Provisioner::csi(&["lustre-csi-controller"], &["lustre-csi-driver"])
        .hidden("GKE may run it in the control plane; unknown what is visible then"),
    sources: &[
        "GoogleCloudPlatform/lustre-csi-driver 89f1eb73: pkg/util ParseVolumeID, pkg/csi_driver/controller.go \
         DeleteVolume, pkg/csi_driver/node.go",
    ],
    ..BASE
};

/// Returns the instance, without what may follow it.
fn instance(handle: &str) -> Option<&str> {
    let instance = handle.split(':').next()?;
    let parts: Vec<&str> = instance.split('/').collect();
    (parts.len() == 3 && !parts.contains(&"")).then_some(instance)
}

fn gcp_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let ip = reference.attribute("ip").filter(|ip| !ip.is_empty());
    vec![match (instance(reference.handle), ip) {
        (Some(instance), _) => {
            Place::directory(LUSTRE, "/").of(server(format!("Google {instance}"), ip))
        }
        (None, Some(ip)) => Place::directory(LUSTRE, "/").of(address(ip)),
        (None, None) => undecided(LUSTRE, reference),
    }]
}

fn gcp_deletion(deletion: &Deletion<'_>) -> Destruction {
    match instance(deletion.reference.handle) {
        Some(instance) => what_it_uses(deletion, format!("the whole Lustre instance {instance}")),
        None => Destruction::Nothing(Cow::Borrowed("it cannot read the handle")),
    }
}

/// Azure Managed Lustre.
pub(super) static AZURE_LUSTRE: Family = Family {
    id: "azure-lustre",
    title: "Azure Managed Lustre",
    names: &[Name::Is("azurelustre.csi.azure.com")],
    identity: "the address of the file system and the directory in it: the attributes mgs-ip-address and sub-dir, or \
               the handle NAME#LUSTRE#ADDRESS#DIRECTORY#t#GROUP, where t stands for created dynamically",
    reach: Reach::Provider,
    attributes: &["mgs-ip-address", "sub-dir"],
    used: azure_used,
    deletion: azure_deletion,
    destroys: "the whole file system, if the handle marks it as created dynamically",
    answers_ok: &["every other volume", "a handle that does not parse"],
    refuses: &["a handle that was created dynamically and contains no resource group"],
    snapshots: Snapshots::all(Fate::Unknown, "unknown whether there are any"),
    provisioner: Provisioner::csi(&["csi-azurelustre-controller"], &["azurelustre-csi"]),
    sources: &[
        "kubernetes-sigs/azurelustre-csi-driver 26f644207: pkg/azurelustre/azurelustre.go getLustreVolFromID, \
         pkg/azurelustre/controllerserver.go DeleteVolume, pkg/azurelustre/nodeserver.go newLustreVolume",
    ],
    ..BASE
};

/// A handle, split as the driver does.
struct Handle<'a> {
    name: &'a str,
    address: &'a str,
    directory: &'a str,
    dynamic: bool,
    group: &'a str,
}

impl<'a> Handle<'a> {
    fn read(handle: &'a str) -> Option<Self> {
        let fields: Vec<&str> = handle.split('#').collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or_default();
        (fields.len() >= 3).then(|| Self {
            name: field(0),
            address: field(2),
            directory: field(3),
            dynamic: field(4) == "t",
            group: field(5),
        })
    }

    fn within(&self, address: Option<&'a str>, directory: &str) -> Place<'a> {
        let place = folder(LUSTRE, "", directory);
        match (self.dynamic, address) {
            (true, _) => place.of(server(format!("Azure {}/{}", self.group, self.name), address)),
            (false, Some(it)) => place.of(super::basis::address(it)),
            (false, None) => place.of(Part::Unknown("its handle contains no address")),
        }
    }
}

fn azure_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let value = |key| reference.attribute(key).filter(|it| !it.is_empty());
    let (mounted, directory) = (value("mgs-ip-address"), value("sub-dir"));
    vec![match (Handle::read(reference.handle), mounted) {
        (Some(handle), mounted) => {
            let address = mounted.or(Some(handle.address).filter(|it| !it.is_empty()));
            handle.within(address, directory.unwrap_or(handle.directory))
        }
        (None, Some(it)) => folder(LUSTRE, "", directory.unwrap_or_default()).of(address(it)),
        (None, None) => undecided(LUSTRE, reference),
    }]
}

fn azure_deletion(deletion: &Deletion<'_>) -> Destruction {
    match Handle::read(deletion.reference.handle) {
        Some(it) if it.dynamic && it.group.is_empty() => {
            Destruction::Fails(Cow::Borrowed("its handle contains no resource group"))
        }
        Some(it) if it.dynamic => Destruction::of(
            it.within(Some(it.address).filter(|it| !it.is_empty()), "").into_owned(),
            format!("the whole Lustre file system {} of the resource group {}", it.name, it.group),
        ),
        Some(_) => Destruction::Nothing(Cow::Borrowed(
            "its handle does not mark it as created \
                                                       dynamically",
        )),
        None => Destruction::Nothing(Cow::Borrowed("it cannot read the handle")),
    }
}

/// Oracle Lustre.
pub(super) static OCI_LUSTRE: Family = Family {
    id: "oci-lustre",
    title: "Oracle Lustre",
    names: &[Name::Is("lustre.csi.oraclecloud.com")],
    identity: "the OCID of the file system in the handle OCID:ADDRESS:/NAME; static volumes have ADDRESS:/NAME",
    reach: Reach::Provider,
    used: oci_used,
    deletion: oci_deletion,
    destroys: "the file system with everything in it",
    answers_ok: &["a file system that does not exist"],
    refuses: &["a handle without an OCID, as static volumes have"],
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::csi(&["csi-oci-controller"], &["cloud-provider-oci"])
        .hidden("OKE may run it in the control plane; unknown what is visible then"),
    sources: &[
        "oracle/oci-cloud-controller-manager 1100ac362: pkg/csi/driver/lustre_controller.go, \
         docs/pvcs-with-lustre-using-csi.md",
    ],
    ..BASE
};

/// Returns the OCID, as deletion reads it, and what follows it.
fn ocid(handle: &str) -> Option<(&str, &str)> {
    handle.split_once(':').filter(|(ocid, _)| ocid.starts_with("ocid"))
}

/// Returns everything in a file system: a volume in one directory of it counts as all of it.
fn oci_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
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

fn oci_deletion(deletion: &Deletion<'_>) -> Destruction {
    match ocid(deletion.reference.handle) {
        Some((ocid, _)) => Destruction::Storage {
            places: owned(oci_used(&deletion.reference)),
            what: format!("the whole Lustre file system {ocid}").into(),
        },
        None => Destruction::Fails(Cow::Borrowed("its handle contains no OCID")),
    }
}

/// Tencent CFS Turbo.
pub(super) static TENCENT_CFSTURBO: Family = Family {
    id: "tencent-cfsturbo",
    title: "Tencent CFS Turbo",
    names: &[Name::Is("com.tencent.cloud.csi.cfsturbo")],
    identity: "the file system and the directory in it: nodes mount the attributes fsid, rootdir and path, deletion \
               reads the handle FSID-HOST-/CLUSTER/VOLUME",
    reach: Reach::Provider,
    attributes: &["fsid", "rootdir", "path"],
    used: tencent_used,
    deletion: tencent_deletion,
    destroys: "the directory /cfs/CLUSTER/VOLUME with everything in it, where CLUSTER is the CLUSTER_ID of the controller",
    answers_ok: &[
        "a directory that does not exist, also because the controller has another CLUSTER_ID",
    ],
    refuses: &["a handle with fewer than three parts"],
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::csi(&["cfsturbo-csi-controller"], &["csi-tencentcloud-cfsturbo"])
        .without_leader(),
    sources: &[
        "TencentCloud/kubernetes-csi-tencentcloud defc12d: driver/cfsturbo/controller.go, driver/cfsturbo/node.go, \
         deploy/cfsturbo",
    ],
    ..BASE
};

/// The directory that the driver calls the root, unless a volume says otherwise.
const ROOT: &str = "/cfs";

/// A handle, split as the driver does: file system, cluster and directory.
fn read(handle: &str) -> Option<(&str, &str, &str)> {
    let (id, rest) = handle.split_once('-')?;
    let (host, path) = rest.split_once('-')?;
    match path.split('/').collect::<Vec<_>>()[..] {
        ["", cluster, volume] if ![id, host, cluster, volume].contains(&"") => {
            Some((id, cluster, volume))
        }
        _ => None,
    }
}

fn tencent_used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let value = |key| reference.attribute(key).filter(|it| !it.is_empty());
    let root = value("rootdir").unwrap_or(ROOT);
    let within = |id: &str, path: &str| {
        let path = join(root, path.trim_start_matches('/'));
        let server = server(format!("Tencent {id}"), None);
        vec![Place::directory(LUSTRE, &path).into_owned().of(server)]
    };
    match (value("fsid"), read(reference.handle)) {
        (Some(id), _) => within(id, value("path").unwrap_or_default()),
        (None, _) if reference.handle == INLINE => Vec::new(),
        (None, Some((id, cluster, volume))) => within(id, &join(cluster, volume)),
        (None, None) => vec![undecided(LUSTRE, reference)],
    }
}

fn tencent_deletion(deletion: &Deletion<'_>) -> Destruction {
    let Some((id, cluster, volume)) = read(deletion.reference.handle) else {
        return Destruction::Undecided(Cow::Borrowed(
            "its handle does not identify a backend \
                                                     volume",
        ));
    };
    match deletion.flag("CLUSTER_ID") {
        Some(own) if own == cluster => {
            let path = format!("{ROOT}/{cluster}/{volume}");
            let place = Place::directory(LUSTRE, &path).of(server(format!("Tencent {id}"), None));
            Destruction::of(
                place.into_owned(),
                format!("the directory /{cluster}/{volume} of {id}"),
            )
        }
        Some(_) => Destruction::Nothing(Cow::Borrowed(
            "its controller has another CLUSTER_ID than the handle, and looks in another directory",
        )),
        None => Destruction::Undecided(Cow::Borrowed(
            "which directory it deletes depends on its environment variable CLUSTER_ID",
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn what_follows_the_instance_means_nothing() {
        const DRIVER: &str = "lustre.csi.storage.gke.io";
        let one = places(DRIVER, "p/us-c1/one", &[("ip", "10.0.0.2")]);
        for (handle, expected) in [
            ("p/us-c1/one:a", "equal"),
            ("p/us-c1/two", "apart"),
            ("p/us-c2/one", "apart"),
            ("one", "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, &[])), expected, "{handle}");
        }
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer("p/us-c1/one:a"), "deletes the whole Lustre instance p/us-c1/one");
        assert_eq!(answer("one"), "does nothing: it cannot read the handle");
    }

    #[test]
    fn only_what_was_created_dynamically_is_deleted() {
        const DRIVER: &str = "azurelustre.csi.azure.com";
        const ONE: &str = "pvc-1#lustrefs#10.0.0.4##t#group";
        let one = places(DRIVER, ONE, &[]);
        for (handle, pairs, expected) in [
            ("any#lustrefs#10.0.0.4#a", &[][..], "inside"),
            ("pvc-2#lustrefs#10.0.0.5##t#group", &[], "apart"),
            ("any", &[("mgs-ip-address", "10.0.0.4")], "equal"),
            ("any", &[("mgs-ip-address", "10.0.0.4"), ("sub-dir", "a")], "inside"),
            ("any", &[("mgs-ip-address", "10.0.0.5"), ("sub-dir", "a")], "inside?"),
            ("any", &[], "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, pairs)), expected, "{handle} {pairs:?}");
        }
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(
            answer(ONE),
            "deletes the whole Lustre file system pvc-1 of the resource group group"
        );
        assert!(answer("pvc-1#lustrefs#10.0.0.4##t").starts_with("fails"));
        assert!(answer("any#lustrefs#10.0.0.4").starts_with("does nothing"));
        assert!(answer("any").starts_with("does nothing"));
    }

    #[test]
    fn static_volumes_meet_dynamic_ones_by_their_address() {
        const DRIVER: &str = "lustre.csi.oraclecloud.com";
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

    #[test]
    fn a_directory_of_another_cluster_is_not_what_the_handle_says() {
        const DRIVER: &str = "com.tencent.cloud.csi.cfsturbo";
        const ONE: &str = "ab12-10.0.0.4-/cls-1/pvc-1";
        let one = places(DRIVER, ONE, &[("fsid", "ab12"), ("path", "/cls-1/pvc-1")]);
        for (handle, pairs, expected) in [
            (ONE, &[][..], "equal"),
            ("ab12-10.0.0.4-/cls-1/pvc-2", &[], "apart"),
            ("cd34-10.0.0.5-/cls-1/pvc-1", &[], "apart"),
            ("any", &[("fsid", "ab12")], "around"),
            ("any", &[], "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, pairs)), expected, "{handle} {pairs:?}");
        }
        let answer = |handle, arguments| {
            answer(&Case { driver: DRIVER, handle, arguments, ..Case::default() })
        };
        assert_eq!(
            answer(ONE, &["CLUSTER_ID=cls-1"]),
            "deletes the directory /cls-1/pvc-1 of ab12"
        );
        assert!(answer(ONE, &["CLUSTER_ID=cls-2"]).starts_with("does nothing"));
        assert!(answer(ONE, &[]).starts_with("undecided"));
        assert!(answer("any", &[]).starts_with("undecided"));
    }
}

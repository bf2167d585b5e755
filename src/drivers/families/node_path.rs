//! Paths on nodes: the sources `hostPath` and `local`, and the provisioners that make such volumes.

use std::borrow::Cow;

use super::basis::{
    BASE, DIRECTORY_REMAINS, NO_SNAPSHOTS, OF_NODE, last_component, undecided, what_it_uses,
};
use crate::drivers::{
    Deletion, Destruction, Family, Name, ObjectDropped, Part, Place, Provisioner, ProvisionerKind,
    Reach, Reference,
};

/// The sources `hostPath` and `local`.
pub(super) static NODE_PATH: Family = Family {
    id: "node-path",
    title: "Paths on nodes (hostPath, local) without a provisioner of their own",
    names: &[Name::Is("hostPath"), Name::Is("local"), Name::Is("kubernetes.io/host-path")],
    identity: "the path and the nodes that the node affinity allows; without one, every node",
    reach: Reach::Cluster,
    used,
    deletion,
    destroys: "kube-controller-manager deletes paths beneath /tmp only, for its own test provisioner",
    refuses: &["every path that is not beneath /tmp"],
    deletes_on_node: Some(true),
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::NOBODY,
    sources: &["kubernetes v1.36.3: pkg/volume/hostpath/host_path.go newDeleter"],
    ..BASE
};

/// The space of the paths of nodes.
pub(super) const SPACE: &str = "path";

/// Reads `PATH@NODES`.
pub(super) fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    vec![match reference.handle.rsplit_once('@') {
        Some((path, "?")) => {
            Place::directory(SPACE, path).of(Part::Unknown("unknown on which node it runs"))
        }
        Some((path, nodes)) => Place::directory(SPACE, path).of(Part::Nodes(Cow::Borrowed(nodes))),
        None => undecided(SPACE, reference),
    }]
}

/// Returns the path in `PATH@NODES`.
pub(super) fn path(handle: &str) -> &str {
    handle.rsplit_once('@').map(|(path, _)| path).unwrap_or_default()
}

/// Returns the destruction by a provisioner of directories on nodes.
pub(super) fn deletes_directory(deletion: &Deletion<'_>) -> Destruction {
    let path = path(deletion.reference.handle);
    what_it_uses(deletion, format!("the directory {path} on its node"))
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    if deletion.reference.driver == "local" {
        return Destruction::Fails(Cow::Borrowed("no controller deletes volumes of source local"));
    }
    let path = path(deletion.reference.handle);
    if !path.starts_with("/tmp/") {
        let why = "kube-controller-manager deletes paths beneath /tmp only";
        return Destruction::Fails(Cow::Borrowed(why));
    }
    what_it_uses(deletion, format!("the directory {path}"))
}

/// local-path-provisioner.
pub(super) static LOCAL_PATH: Family = Family {
    id: "local-path",
    title: "local-path-provisioner (k3s, RKE2, kind)",
    names: &[Name::Is("rancher.io/local-path")],
    identity: "the node and the path: with a pathPattern, paths repeat for a recreated claim, and \
               one path may contain another",
    reach: Reach::Cluster,
    used,
    deletion: deletes_directory,
    destroys: "the directory, by a pod on its node that runs the teardown script of its ConfigMap",
    answers_ok: &[
        "a node that no longer exists (from v0.0.33)",
        "a teardown script that does nothing",
    ],
    refuses: &["a class that its configuration no longer has"],
    deletes_on_node: Some(true),
    snapshots: NO_SNAPSHOTS,
    object_dropped: Some(DIRECTORY_REMAINS),
    provisioner: Provisioner {
        shows_leases: false,
        helpers: &["create", "delete"],
        ..Provisioner::external(
            &["--provisioner-name"],
            Some("rancher.io/local-path"),
            &["local-path-provisioner"],
            &["local-path-provisioner"],
        )
    },
    expansion: OF_NODE,
    sources: &[
        "rancher/local-path-provisioner v0.0.37: provisioner.go, main.go; seen with v0.0.30",
    ],
    ..BASE
};

/// sig-storage-local-static-provisioner.
pub(super) static LOCAL_STATIC: Family = Family {
    id: "local-static",
    title: "Local static provisioner (also Local Storage Operator)",
    names: &[Name::BeginsWith("local-volume-provisioner-")],
    identity: "the node and the path of a mount point or a device; links may lead to one disk twice",
    reach: Reach::Cluster,
    used,
    deletion: static_deletion,
    destroys: "the contents of the directory, which remains, or those of the device; then it publishes \
               the disk again as a volume of the same name",
    refuses: &[
        "silently, a volume whose node was recreated with another uid",
        "a class that its configuration no longer has",
        "a directory that is not mounted",
    ],
    deletes_on_node: Some(true),
    snapshots: NO_SNAPSHOTS,
    object_dropped: Some(ObjectDropped::Notice(
        "its provisioner publishes the disk again under the same name, with the old data on it",
    )),
    provisioner: Provisioner {
        kind: ProvisionerKind::PerNode,
        workloads: &["local-volume-provisioner", "local-static-provisioner", "diskmaker-manager"],
        images: &[
            "local-volume-provisioner",
            "local-storage-diskmaker",
            "ose-local-storage-diskmaker",
            "ose-local-storage-diskmaker-rhel8",
            "ose-local-storage-diskmaker-rhel9",
        ],
        elects_leader: false,
        hidden: None,
        shows_leases: false,
        helpers: &[],
    },
    sources: &[
        "kubernetes-sigs/sig-storage-local-static-provisioner v2.9: pkg/deleter/deleter.go, \
         pkg/discovery/discovery.go, pkg/populator/populator.go, docs/faqs.md",
    ],
    ..BASE
};

fn static_deletion(deletion: &Deletion<'_>) -> Destruction {
    if deletion.reference.driver != "local" {
        return Destruction::Fails(Cow::Borrowed("it deletes volumes of source local only"));
    }
    let path = path(deletion.reference.handle);
    what_it_uses(deletion, format!("the contents of {path} on its node"))
}

/// storage-provisioner of minikube.
pub(super) static MINIKUBE: Family = Family {
    id: "minikube",
    title: "minikube storage provisioner",
    names: &[Name::Is("k8s.io/minikube-hostpath")],
    identity: "the path FOLDER/NAMESPACE/CLAIM: a recreated claim receives the directory of the \
               earlier one, whose Released volume then references live data",
    reach: Reach::Cluster,
    used,
    deletion: deletes_directory,
    destroys: "the directory with everything in it",
    refuses: &[
        "silently, every volume that was created before its process started: its identity is \
         random",
        "a volume without the annotation hostPathProvisionerIdentity",
    ],
    deletes_on_node: Some(true),
    snapshots: NO_SNAPSHOTS,
    object_dropped: Some(DIRECTORY_REMAINS),
    provisioner: Provisioner::external(
        &[],
        Some("k8s.io/minikube-hostpath"),
        &["storage-provisioner"],
        &["storage-provisioner"],
    ),
    expansion: OF_NODE,
    sources: &[
        "kubernetes/minikube 2026-08: pkg/storage/storage_provisioner.go; issues 4546, 16140",
    ],
    ..BASE
};

/// dynamic-localpv-provisioner of OpenEBS.
pub(super) static OPENEBS_HOSTPATH: Family = Family {
    id: "openebs-hostpath",
    title: "OpenEBS LocalPV hostpath",
    names: &[Name::Is("openebs.io/local")],
    identity: "the nodes and the path BASE/VOLUME; nodes that share their base path share it",
    reach: Reach::Cluster,
    used,
    deletion: openebs_deletion,
    destroys: "the directory, by a pod on its node",
    refuses: &["a volume whose node does not exist"],
    deletes_on_node: Some(true),
    snapshots: NO_SNAPSHOTS,
    object_dropped: Some(DIRECTORY_REMAINS),
    provisioner: Provisioner {
        elects_leader: true,
        shows_leases: false,
        helpers: &["init", "cleanup", "quota"],
        ..Provisioner::external(
            &[],
            Some("openebs.io/local"),
            &["openebs-localpv-provisioner"],
            &["provisioner-localpv"],
        )
    },
    sources: &["openebs/dynamic-localpv-provisioner 4.0: cmd/provisioner-localpv/app"],
    ..BASE
};

/// Returns the destruction by OpenEBS: a path that does not end in the name of the volume is a device, or was not made
/// by it.
fn openebs_deletion(deletion: &Deletion<'_>) -> Destruction {
    if last_component(path(deletion.reference.handle)) != deletion.volume {
        let why = "its path does not end in the name of the volume, as OpenEBS makes it";
        return Destruction::Undecided(Cow::Borrowed(why));
    }
    deletes_directory(deletion)
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn a_path_is_on_the_nodes_of_its_affinity() {
        let on = |path: &str, node: &str| format!("{path}@kubernetes.io/hostname In [\"{node}\"]");
        let mine = places("local", &on("/mnt/a", "a"), &[]);
        for (driver, handle, expected) in [
            ("hostPath", on("/mnt/a", "a"), "equal"),
            ("hostPath", "/mnt/a@any".to_owned(), "equal"),
            ("hostPath", "/mnt/a/b@?".to_owned(), "inside?"),
            ("hostPath", "/@metadata.name In [\"a\"]".to_owned(), "around"),
            ("local", on("/mnt/a", "b"), "apart"),
            ("local", on("/mnt/ab", "a"), "apart"),
        ] {
            assert_eq!(lies(&mine, &places(driver, &handle, &[])), expected, "{handle}");
        }
        for (driver, handle, expected) in [
            ("local", "/tmp/a@any", "fails: no controller deletes volumes of source local"),
            ("hostPath", "/tmp/a@any", "deletes the directory /tmp/a"),
            (
                "hostPath",
                "/srv/a@any",
                "fails: kube-controller-manager deletes paths beneath /tmp only",
            ),
        ] {
            let owner = "kubernetes.io/host-path";
            assert_eq!(answer(&Case { driver, owner, handle, ..Case::default() }), expected);
        }
    }

    #[test]
    fn a_disk_is_a_path_on_a_node() {
        let on = |node| format!("/mnt/disks/a@kubernetes.io/hostname In [\"{node}\"]");
        let mine = places("local", &on("a"), &[]);
        assert_eq!(lies(&mine, &places("local", &on("a"), &[])), "equal");
        assert_eq!(lies(&mine, &places("local", &on("b"), &[])), "apart");
        assert_eq!(lies(&mine, &places("hostPath", "/mnt@any", &[])), "around");
        let owner = "local-volume-provisioner-a-6a3b";
        let case = Case { driver: "local", owner, handle: &on("a"), ..Case::default() };
        assert_eq!(answer(&case), "deletes the contents of /mnt/disks/a on its node");
    }

    #[test]
    fn a_claim_that_is_created_again_has_the_same_directory() {
        let path = "/tmp/hostpath-provisioner/shop/data@any";
        let mine = places("hostPath", path, &[]);
        assert_eq!(lies(&mine, &places("hostPath", path, &[])), "equal");
        let next = "/tmp/hostpath-provisioner/shop/data-1@any";
        assert_eq!(lies(&mine, &places("hostPath", next, &[])), "apart");
        let owner = "k8s.io/minikube-hostpath";
        let case = Case { driver: "hostPath", owner, handle: path, ..Case::default() };
        let expected = "deletes the directory /tmp/hostpath-provisioner/shop/data on its node";
        assert_eq!(answer(&case), expected);
    }

    #[test]
    fn only_its_own_layout_is_known() {
        let answer = |path: &str| {
            let handle = &format!("{path}@kubernetes.io/hostname In [\"a\"]");
            let owner = "openebs.io/local";
            answer(&Case { driver: "local", owner, handle, ..Case::default() })
        };
        let expected = "deletes the directory /var/openebs/local/pv-1 on its node";
        assert_eq!(answer("/var/openebs/local/pv-1"), expected);
        let device = answer("/dev/sdb");
        assert!(device.starts_with("undecided: its path does not end"), "{device}");
    }
}

//! The storage provisioner of minikube: `k8s.io/minikube-hostpath`.

use super::{basis::SHARE, node_path};
use crate::drivers::{
    Family, Fate, Name, ObjectDropped, Provisioner, ProvisionerKind, Snapshots,
};

/// storage-provisioner of minikube.
pub static FAMILY: Family = Family {
    id: "minikube",
    title: "minikube storage provisioner",
    names: &[Name::Is("k8s.io/minikube-hostpath")],
    identity: "the path FOLDER/NAMESPACE/CLAIM: a recreated claim receives the directory of the \
               earlier one, whose Released volume then references live data",
    used: node_path::used,
    deletion: node_path::deletes_directory,
    destroys: "the directory with everything in it",
    refuses: &[
        "silently, every volume that was created before its process started: its identity is \
         random",
        "a volume without the annotation hostPathProvisionerIdentity",
    ],
    deletes_on_node: Some(true),
    snapshots: Snapshots::all(Fate::None, "there are none"),
    object_dropped: Some(ObjectDropped::Notice(
        "its provisioner sets no finalizer: the directory remains, and no PersistentVolume \
         references it",
    )),
    provisioner: Provisioner {
        kind: ProvisionerKind::External {
            configured_by: &[],
            default_name: Some("k8s.io/minikube-hostpath"),
        },
        workloads: &["storage-provisioner"],
        images: &["storage-provisioner"],
        elects_leader: false,
        hidden: None,
    },
    sources: &[
        "kubernetes/minikube 2026-08: pkg/storage/storage_provisioner.go; issues 4546, 16140",
    ],
    ..SHARE
};

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

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
}

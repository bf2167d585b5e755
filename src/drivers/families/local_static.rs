//! sig-storage-local-static-provisioner, also as the Local Storage Operator of OpenShift runs it.

use std::borrow::Cow;

use super::{
    basis::{SHARE, what_it_uses},
    node_path,
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, ObjectDropped, Provisioner, ProvisionerKind,
    Snapshots,
};

/// sig-storage-local-static-provisioner.
pub static FAMILY: Family = Family {
    id: "local-static",
    title: "Local static provisioner (also Local Storage Operator)",
    names: &[Name::BeginsWith("local-volume-provisioner-")],
    identity: "the node and the path of a mount point or a device; links may lead to one disk twice",
    used: node_path::used,
    deletion,
    destroys: "the contents of the directory, which remains, or those of the device; then it publishes \
               the disk again as a volume of the same name",
    refuses: &[
        "silently, a volume whose node was recreated with another uid",
        "a class that its configuration no longer has",
        "a directory that is not mounted",
    ],
    deletes_on_node: Some(true),
    snapshots: Snapshots::all(Fate::None, "there are none"),
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
    },
    sources: &[
        "kubernetes-sigs/sig-storage-local-static-provisioner v2.9: pkg/deleter/deleter.go, \
         pkg/discovery/discovery.go, pkg/populator/populator.go, docs/faqs.md",
    ],
    ..SHARE
};

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    if deletion.reference.driver != "local" {
        return Destruction::Fails(Cow::Borrowed("it deletes volumes of source local only"));
    }
    let path = node_path::path(deletion.reference.handle);
    what_it_uses(deletion, format!("the contents of {path} on its node"))
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

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
}

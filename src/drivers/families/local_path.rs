//! local-path-provisioner of Rancher, also in k3s, RKE2 and kind: `rancher.io/local-path`.

use super::{basis::SHARE, node_path};
use crate::drivers::{
    Family, Fate, Name, ObjectDropped, Provisioner, ProvisionerKind,
    Snapshots,
};

/// local-path-provisioner.
pub static FAMILY: Family = Family {
    id: "local-path",
    title: "local-path-provisioner (k3s, RKE2, kind)",
    names: &[Name::Is("rancher.io/local-path")],
    identity: "the node and the path: with a pathPattern, paths repeat for a recreated claim, and \
               one path may contain another",
    used: node_path::used,
    deletion: node_path::deletes_directory,
    destroys: "the directory, by a pod on its node that runs the teardown script of its ConfigMap",
    answers_ok: &[
        "a node that no longer exists (from v0.0.33)",
        "a teardown script that does nothing",
    ],
    refuses: &["a class that its configuration no longer has"],
    deletes_on_node: Some(true),
    snapshots: Snapshots::all(Fate::None, "there are none"),
    object_dropped: Some(ObjectDropped::Notice(
        "its provisioner sets no finalizer: the directory remains, and no PersistentVolume \
         references it",
    )),
    provisioner: Provisioner {
        kind: ProvisionerKind::External {
            configured_by: &["--provisioner-name"],
            default_name: Some("rancher.io/local-path"),
        },
        workloads: &["local-path-provisioner"],
        images: &["local-path-provisioner"],
        elects_leader: false,
        hidden: None,
    },
    sources: &[
        "rancher/local-path-provisioner v0.0.37: provisioner.go, main.go; seen with v0.0.30",
    ],
    ..SHARE
};

//! OpenEBS LocalPV hostpath: `openebs.io/local`.

use std::borrow::Cow;

use super::{
    basis::{SHARE, last_component},
    node_path,
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, ObjectDropped, Provisioner, ProvisionerKind,
    Snapshots,
};

/// dynamic-localpv-provisioner of OpenEBS.
pub static FAMILY: Family = Family {
    id: "openebs-hostpath",
    title: "OpenEBS LocalPV hostpath",
    names: &[Name::Is("openebs.io/local")],
    identity: "the nodes and the path BASE/VOLUME; nodes that share their base path share it",
    used: node_path::used,
    deletion,
    destroys: "the directory, by a pod on its node",
    refuses: &["a volume whose node does not exist"],
    deletes_on_node: Some(true),
    snapshots: Snapshots::all(Fate::None, "there are none"),
    object_dropped: Some(ObjectDropped::Notice(
        "its provisioner sets no finalizer: the directory remains, and no PersistentVolume \
         references it",
    )),
    provisioner: Provisioner {
        kind: ProvisionerKind::External {
            configured_by: &[],
            default_name: Some("openebs.io/local"),
        },
        workloads: &["openebs-localpv-provisioner"],
        images: &["provisioner-localpv"],
        elects_leader: true,
        hidden: None,
    },
    sources: &["openebs/dynamic-localpv-provisioner 4.0: cmd/provisioner-localpv/app"],
    ..SHARE
};

/// A path that does not end in the name of the volume is a device, or somebody else made it.
fn deletion(deletion: &Deletion<'_>) -> Destruction {
    if last_component(node_path::path(deletion.reference.handle)) != deletion.volume {
        let why = "its path does not end in the name of the volume, as OpenEBS makes it";
        return Destruction::Undecided(Cow::Borrowed(why));
    }
    node_path::deletes_directory(deletion)
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer};

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

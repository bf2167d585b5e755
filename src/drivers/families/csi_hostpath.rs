//! csi-driver-host-path: `hostpath.csi.k8s.io`.

use super::basis::{SHARE, deletes_named, named};
use crate::drivers::{Family, Fate, INLINE, Name, Provisioner, Snapshots};

/// csi-driver-host-path.
pub static FAMILY: Family = Family {
    id: "csi-hostpath",
    title: "CSI host path driver (also an addon of minikube)",
    names: &[Name::Is("hostpath.csi.k8s.io")],
    identity: "the id that the driver keeps in a file on one node",
    // The volume that a pod describes itself is made for it and deleted with it.
    used: |reference| match reference.handle {
        INLINE => Vec::new(),
        _ => named("CSI host path volume", reference),
    },
    deletion: |it| deletes_named(it, "the directory or disk image of"),
    destroys: "the directory or the disk image, also while it is mounted",
    answers_ok: &["an id that its state file does not have: all of them if that file is lost"],
    deletes_on_node: Some(true),
    snapshots: Snapshots::all(Fate::Independent, "they are files of their own"),
    provisioner: Provisioner::csi(&["csi-hostpathplugin"], &["hostpathplugin"]).without_leader(),
    sources: &[
        "kubernetes-csi/csi-driver-host-path v1.18: pkg/hostpath/controllerserver.go, \
         pkg/hostpath/hostpath.go, deploy",
    ],
    ..SHARE
};

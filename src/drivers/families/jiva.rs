//! OpenEBS Jiva, which is archived: `jiva.csi.openebs.io`.

use super::basis::{BLOCK, deletes_named, named};
use crate::drivers::{Family, Fate, Name, Provisioner, Snapshots};

/// jiva-operator.
pub static FAMILY: Family = Family {
    id: "jiva",
    title: "OpenEBS Jiva (archived)",
    names: &[Name::Is("jiva.csi.openebs.io")],
    identity: "the name of the JivaVolume, in lower case; its replicas are on volumes of another class",
    used: |reference| named("JivaVolume", reference),
    deletion: |it| deletes_named(it, "the replicas, with their claims, of JivaVolume"),
    destroys: "the JivaVolume with its replicas and the claims of these, after the object of the \
               volume is deleted already",
    answers_ok: &["a JivaVolume that does not exist or is Terminating"],
    deletes_on_node: Some(true),
    snapshots: Snapshots::all(
        Fate::Unknown,
        "unknown whether they are destroyed with their volume",
    ),
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["openebs-jiva-csi-controller"], &["jiva-csi"]).without_leader(),
    sources: &["openebs/jiva-operator 2023-12: pkg/driver/controller.go, deploy/helm"],
    ..BLOCK
};

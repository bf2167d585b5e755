//! `OpenStack` Cinder: `cinder.csi.openstack.org`, and the in-tree volumes that were migrated to it.

use super::{
    cloud::{deletes_disk, disk},
    basis::BLOCK,
};
use crate::drivers::{Family, Fate, Name, Provisioner, Snapshots};

/// `OpenStack` Cinder.
pub static FAMILY: Family = Family {
    id: "cinder",
    title: "OpenStack Cinder",
    names: &[Name::Is("cinder.csi.openstack.org")],
    identity: "the UUID of the volume, shared with in-tree cinder",
    used: |reference| disk("Cinder volume", reference),
    deletion: |deletion| deletes_disk(deletion, "the Cinder volume"),
    destroys: "the volume",
    answers_ok: &[
        "a volume that does not exist, also because the Secret with the name of its cloud is missing",
    ],
    refuses: &["a volume that is attached anywhere", "a volume with snapshots"],
    snapshots: Snapshots::all(Fate::Blocks, "Cinder refuses to delete a volume that has snapshots"),
    provisioner: Provisioner::csi(
        &["csi-cinder-controllerplugin", "openstack-cinder-csi-controllerplugin"],
        &["cinder-csi-plugin"],
    ),
    sources: &[
        "kubernetes/cloud-provider-openstack c453fb7c9: pkg/csi/cinder/controllerserver.go, \
         pkg/csi/cinder/openstack/openstack_volumes.go",
        "kubernetes/csi-translation-lib plugins/openstack_cinder.go",
    ],
    ..BLOCK
};

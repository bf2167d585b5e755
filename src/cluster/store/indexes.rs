//! What leads from one row to others.

use super::{Indexes, Op, object_key};
use crate::cluster::lookup::on_node;
use crate::model::{
    Attachment, AttachmentSource, Claim, CsiDriver, CsiNode, Event, Lease, Node, ObjectId, PodUse,
    SnapshotContent, StorageClass, Volume, Workload,
};

/// One method per table, of the same name: which indexes lead to a row.
impl Indexes {
    pub(super) fn volumes(&mut self, op: Op, id: ObjectId, row: &Volume) {
        if let Some(backend) = &row.backend {
            self.volumes_by_backend.change(op, backend.lookup(), id);
        }
        if let Some(claim) = &row.claim_ref {
            self.volumes_by_claim.change(op, (&*claim.key.namespace, &*claim.key.name), id);
        }
        for driver in row.drivers() {
            self.volumes_by_driver.change(op, driver, id);
        }
        if let Some(class) = &row.class {
            self.volumes_by_class.change(op, &**class, id);
        }
        if let Some(secret) = &row.deletion_secret {
            self.volumes_by_secret.change(op, (&*secret.namespace, &*secret.name), id);
        }
    }

    pub(super) fn claims(&mut self, op: Op, id: ObjectId, row: &Claim) {
        if let Some(volume) = &row.volume_name {
            self.claims_by_volume.change(op, &**volume, id);
        }
    }

    pub(super) fn pods(&mut self, op: Op, id: ObjectId, row: &PodUse) {
        for mounted in &row.claims {
            self.pods_by_claim.change(op, (&*row.namespace, &*mounted.claim), id);
        }
        match op {
            Op::Add if row.sidecars.is_some() => {
                self.sidecar_pods.insert(id);
            }
            Op::Add => {}
            Op::Remove => {
                self.sidecar_pods.remove(&id);
            }
        }
    }

    pub(super) fn nodes(&mut self, op: Op, id: ObjectId, row: &Node) {
        for (key, value) in &row.metadata.labels {
            self.nodes_by_label.change(op, (&**key, &**value), id);
        }
        for volume in &row.volumes {
            if let Some(backend) = on_node(volume) {
                self.nodes_by_backend.change(op, backend.lookup(), id);
            }
        }
    }

    pub(super) fn csi_nodes(&mut self, op: Op, id: ObjectId, row: &CsiNode) {
        for driver in &row.drivers {
            self.csi_nodes_by_driver.change(op, &**driver, id);
        }
    }

    pub(super) fn attachments(&mut self, op: Op, id: ObjectId, row: &Attachment) {
        if let AttachmentSource::Volume(volume) = &row.source {
            self.attachments_by_volume.change(op, &**volume, id);
        }
        if let Some(backend) = row.source.backend() {
            self.attachments_by_backend.change(op, backend.lookup(), id);
        }
    }

    pub(super) fn snapshots(&mut self, op: Op, id: ObjectId, row: &SnapshotContent) {
        for backend in row.backends() {
            self.snapshots_by_backend.change(op, backend.lookup(), id);
        }
    }

    pub(super) fn leases(&mut self, op: Op, id: ObjectId, row: &Lease) {
        self.leases_by_name.change(op, &*row.metadata.name, id);
    }

    pub(super) fn events(&mut self, op: Op, id: ObjectId, row: &Event) {
        self.events_by_object.change(op, object_key(&row.about), id);
    }

    // Few enough to be found by name or by looking at all of them.
    #[expect(clippy::unused_self, reason = "one method per table")]
    pub(super) fn workloads(&mut self, _: Op, _: ObjectId, _: &Workload) {}
    #[expect(clippy::unused_self, reason = "one method per table")]
    pub(super) fn classes(&mut self, _: Op, _: ObjectId, _: &StorageClass) {}
    #[expect(clippy::unused_self, reason = "one method per table")]
    pub(super) fn csi_drivers(&mut self, _: Op, _: ObjectId, _: &CsiDriver) {}
}

//! What leads from one row to others.

use std::collections::BTreeSet;

use super::{Indexes, Op, object_key};
use crate::cluster::lookup::on_node;
use crate::model::{
    Attachment, AttachmentSource, AttributesClass, Autoscaler, Claim, ClaimPhase, CsiDriver,
    CsiNode, Event, Lease, Node, ObjectId, PodUse, SnapshotContent, StorageClass, Volume,
    VolumeSnapshot, Workload, split_ordinal,
};

fn mark(ids: &mut BTreeSet<ObjectId>, op: Op, id: ObjectId) {
    match op {
        Op::Add => ids.insert(id),
        Op::Remove => ids.remove(&id),
    };
}

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
        if let Some(class) = &row.attributes_class {
            self.volumes_by_attributes.change(op, &**class, id);
        }
    }

    pub(super) fn claims(&mut self, op: Op, id: ObjectId, row: &Claim) {
        if let Some(volume) = &row.volume_name {
            self.claims_by_volume.change(op, &**volume, id);
        }
        let namespace = &*row.namespace;
        if let Some((stem, _)) = split_ordinal(&row.metadata.name) {
            self.claims_by_stem.change(op, (namespace, stem), id);
        }
        for owner in &row.metadata.owners {
            self.claims_by_owner.change(op, (namespace, &*owner.name), id);
        }
        if let Some(source) = &row.source {
            let place = source.namespace.as_deref().unwrap_or(namespace);
            self.claims_by_source.change(op, (&*source.kind, place, &*source.name), id);
        }
        if let Some(class) = &row.class {
            self.claims_by_class.change(op, &**class, id);
        }
        if let Some(node) = &row.selected_node {
            self.claims_by_node.change(op, &**node, id);
        }
        if let Some(class) = &row.attributes_class {
            self.claims_by_attributes.change(op, &**class, id);
        }
        if row.class.is_none() && row.phase == ClaimPhase::Pending {
            mark(&mut self.classless_claims, op, id);
        }
    }

    pub(super) fn pods(&mut self, op: Op, id: ObjectId, row: &PodUse) {
        for mounted in &row.claims {
            self.pods_by_claim.change(op, (&*row.namespace, &*mounted.claim), id);
        }
        if let Some((set, _)) = split_ordinal(&row.name) {
            self.pods_by_set.change(op, (&*row.namespace, set), id);
        }
        if let Some(node) = &row.node {
            self.pods_by_node.change(op, &**node, id);
        }
        if row.sidecars.is_some() {
            mark(&mut self.sidecar_pods, op, id);
        }
    }

    pub(super) fn workloads(&mut self, op: Op, id: ObjectId, row: &Workload) {
        for claim in &row.claims {
            self.workloads_by_claim.change(op, (&*row.namespace, &**claim), id);
        }
        if let Some(set) = &row.set {
            for template in &set.templates {
                let stem = format!("{}-{}", template.name, row.name);
                self.sets_by_stem.change(op, (&*row.namespace, &*stem), id);
            }
        }
        if row.sidecars.is_some() {
            mark(&mut self.sidecar_workloads, op, id);
        }
    }

    pub(super) fn autoscalers(&mut self, op: Op, id: ObjectId, row: &Autoscaler) {
        let target = (&*row.namespace, &*row.target_kind, &*row.target_name);
        self.autoscalers_by_target.change(op, target, id);
    }

    pub(super) fn nodes(&mut self, op: Op, id: ObjectId, row: &Node) {
        for (key, value) in row.metadata.labels.iter() {
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
        self.attachments_by_node.change(op, &*row.node, id);
    }

    pub(super) fn volume_snapshots(&mut self, op: Op, id: ObjectId, row: &VolumeSnapshot) {
        if let Some(claim) = &row.source_claim {
            self.volume_snapshots_by_claim.change(op, (&*row.namespace, &**claim), id);
        }
    }

    pub(super) fn snapshots(&mut self, op: Op, id: ObjectId, row: &SnapshotContent) {
        for backend in row.backends() {
            self.snapshots_by_backend.change(op, backend.lookup(), id);
        }
        if let Some((namespace, name)) = &row.snapshot {
            self.contents_by_snapshot.change(op, (&**namespace, &**name), id);
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
    pub(super) fn classes(&mut self, _: Op, _: ObjectId, _: &StorageClass) {}
    #[expect(clippy::unused_self, reason = "one method per table")]
    pub(super) fn attributes_classes(&mut self, _: Op, _: ObjectId, _: &AttributesClass) {}
    #[expect(clippy::unused_self, reason = "one method per table")]
    pub(super) fn csi_drivers(&mut self, _: Op, _: ObjectId, _: &CsiDriver) {}
}

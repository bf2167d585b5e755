//! Links of each type of row: the indexes by which lookups find it, and the subjects whose judgement rests on it.

use super::indexes::{EntryChange, Indexes};
use super::store::object_key;
use super::table::Linked;
use super::{Cluster, Dirty, Subject, places};
use crate::model::{
    AdmissionObject, Attachment, AttachmentSource, AttributesClass, Autoscaler, Claim, ClaimKey,
    ClaimPhase, CsiDriver, CsiNode, Event, InventoryDisk, Kind, Lease, Namespace, Node, ObjectId,
    PodUse, SnapshotClass, SnapshotContent, SnapshotSource, StorageClass, Text, Volume,
    VolumeSnapshot, Workload, split_ordinal,
};

impl Linked for Volume {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        places::index(self, change, &mut indexes.volumes_by_place, id);
        places::index_names(self, change, &mut indexes.volumes_by_token, id);
        if let Some(claim) = &self.claim_ref {
            change.apply(
                &mut indexes.volumes_by_claim,
                (&*claim.key.namespace, &*claim.key.name),
                id,
            );
        }
        for driver in self.drivers() {
            change.apply(&mut indexes.volumes_by_driver, driver, id);
        }
        if let Some(class) = &self.class {
            change.apply(&mut indexes.volumes_by_class, &**class, id);
        }
        if let Some(secret) = &self.deletion_secret {
            change.apply(&mut indexes.volumes_by_secret, (&*secret.namespace, &*secret.name), id);
        }
        if let Some(class) = &self.attributes_class {
            change.apply(&mut indexes.volumes_by_attributes, &**class, id);
        }
    }

    fn touch(&self, id: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        cluster.touch_around_volume(id, dirty);
        cluster.touch_places(self, dirty);
        cluster.touch_namesakes(self, dirty);
        if let Some(class) = &self.attributes_class {
            cluster.touch_attributes_class(class, dirty);
        }
    }

    fn touch_drivers(&self, dirty: &mut Dirty) {
        for driver in self.drivers() {
            dirty.drivers.insert(driver.into());
            dirty.volumes_of.insert(driver.into());
            dirty.subjects.insert(Subject::Driver(driver.into()));
        }
    }

    fn tells_the_same_of_drivers(&self, before: &Self) -> bool {
        Self::tells_the_same_of_drivers(self, before)
    }
}

impl Linked for Claim {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        if let Some(volume) = &self.volume_name {
            change.apply(&mut indexes.claims_by_volume, &**volume, id);
        }
        let namespace = &*self.namespace;
        if let Some((stem, _)) = split_ordinal(&self.metadata.name) {
            change.apply(&mut indexes.claims_by_stem, (namespace, stem), id);
        }
        for owner in &self.metadata.owners {
            change.apply(&mut indexes.claims_by_owner, (namespace, &*owner.name), id);
        }
        if let Some(source) = &self.source {
            let place = source.namespace.as_deref().unwrap_or(namespace);
            change.apply(&mut indexes.claims_by_source, (&*source.kind, place, &*source.name), id);
        }
        if let Some(class) = &self.class {
            change.apply(&mut indexes.claims_by_class, &**class, id);
        }
        if let Some(node) = &self.selected_node {
            change.apply(&mut indexes.claims_by_node, &**node, id);
        }
        if let Some(class) = &self.attributes_class {
            change.apply(&mut indexes.claims_by_attributes, &**class, id);
        }
        if self.class.is_none() && self.phase == ClaimPhase::Pending {
            change.mark(&mut indexes.classless_claims, id);
        }
    }

    fn touch(&self, id: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::Claim(id));
        cluster.touch_claim_key(&self.key(), dirty);
        if let Some(volume) = &self.volume_name {
            cluster.touch_volume_named(volume, dirty);
        }
        if let Some(source) = &self.source
            && &*source.kind == Kind::PersistentVolumeClaim.name()
        {
            let namespace = source.namespace.as_ref().unwrap_or(&self.namespace);
            let key = ClaimKey { namespace: Text::clone(namespace), name: source.name.clone() };
            cluster.touch_claim_key(&key, dirty);
        }
        if let Some(source) = &self.source
            && &*source.kind == Kind::VolumeSnapshot.name()
        {
            let namespace = source.namespace.as_ref().unwrap_or(&self.namespace);
            cluster.touch_sources_of(namespace, &source.name, dirty);
        }
        if let Some((stem, _)) = split_ordinal(&self.metadata.name) {
            // Siblings show which set a claim without a set once belonged to.
            let siblings = cluster.indexes.claims_by_stem.candidates((&*self.namespace, stem));
            dirty.subjects.extend(siblings.map(Subject::Claim));
            let sets = cluster.indexes.sets_by_stem.candidates((&*self.namespace, stem));
            dirty.subjects.extend(sets.map(Subject::StatefulSet));
        }
        if let Some(class) = &self.attributes_class {
            cluster.touch_attributes_class(class, dirty);
        }
        if self.class.is_none() {
            cluster.touch_all_classes(dirty);
        }
    }
}

impl Linked for StorageClass {
    // Few enough to be found by name or by going through all of them.
    fn index(&self, _: EntryChange, _: ObjectId, _: &mut Indexes) {}

    fn touch(&self, _: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        cluster.touch_class_named(&self.metadata.name, dirty);
    }
}

impl Linked for AttributesClass {
    // Few enough to be found by name or by going through all of them.
    fn index(&self, _: EntryChange, _: ObjectId, _: &mut Indexes) {}

    fn touch(&self, id: ObjectId, _: &Cluster, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::AttributesClass(id));
    }
}

impl Linked for Attachment {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        if let AttachmentSource::Volume(volume) = &self.source {
            change.apply(&mut indexes.attachments_by_volume, &**volume, id);
        }
        places::index(self, change, &mut indexes.attachments_by_place, id);
        places::index_names(self, change, &mut indexes.attachments_by_token, id);
        change.apply(&mut indexes.attachments_by_node, &*self.node, id);
    }

    fn touch(&self, id: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::Attachment(id));
        dirty.drivers.insert(Text::clone(&self.attacher));
        if let AttachmentSource::Volume(volume) = &self.source {
            cluster.touch_volume_named(volume, dirty);
        }
        cluster.touch_places(self, dirty);
        cluster.touch_namesakes(self, dirty);
    }
}

impl Linked for VolumeSnapshot {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        if let Some(claim) = &self.source_claim {
            change.apply(&mut indexes.volume_snapshots_by_claim, (&*self.namespace, &**claim), id);
        }
    }

    fn touch(&self, _: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        if let Some(claim) = &self.source_claim {
            let namespace = Text::clone(&self.namespace);
            cluster.touch_claim_key(&ClaimKey { namespace, name: claim.clone() }, dirty);
        }
        cluster.touch_contents_of(&self.namespace, &self.metadata.name, dirty);
    }
}

impl Linked for SnapshotClass {
    // Few enough to be found by going through all of them.
    fn index(&self, _: EntryChange, _: ObjectId, _: &mut Indexes) {}

    // No rule judges what rests on one.
    fn touch(&self, _: ObjectId, _: &Cluster, _: &mut Dirty) {}
}

impl Linked for SnapshotContent {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        places::index(self, change, &mut indexes.snapshots_by_place, id);
        if let Some((namespace, name)) = &self.snapshot {
            change.apply(&mut indexes.contents_by_snapshot, (&**namespace, &**name), id);
        }
    }

    fn touch(&self, id: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::Snapshot(id));
        cluster.touch_places(self, dirty);
        dirty.drivers.insert(Text::clone(&self.driver));
        if self.source == SnapshotSource::Existing {
            // Its handle may not tell of which volume of the driver it is.
            let ids = cluster.indexes.volumes_by_driver.candidates(&*self.driver);
            dirty.subjects.extend(ids.map(Subject::Volume));
        }
    }
}

/// Returns the name of what made a `ReplicaSet` or a Job of this name: what is before the last hyphen.
fn made_for(name: &str) -> Option<&str> {
    name.rsplit_once('-').map(|(owner, _)| owner)
}

impl Linked for PodUse {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        for mounted in &self.claims {
            change.apply(&mut indexes.pods_by_claim, (&*self.namespace, &*mounted.claim), id);
        }
        if let Some((set, _)) = split_ordinal(&self.name) {
            change.apply(&mut indexes.pods_by_set, (&*self.namespace, set), id);
        }
        if let Some(owner) = &self.controller {
            for name in [Some(&*owner.name), made_for(&owner.name)].into_iter().flatten() {
                change.apply(&mut indexes.pods_by_controller, (&*self.namespace, name), id);
            }
        }
        places::index(self, change, &mut indexes.pods_by_place, id);
        places::index_names(self, change, &mut indexes.pods_by_token, id);
        if let Some(node) = &self.node {
            change.apply(&mut indexes.pods_by_node, &**node, id);
        }
        if self.sidecars.is_some() {
            change.mark(&mut indexes.sidecar_pods, id);
        }
    }

    fn touch(&self, id: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::Pod(id));
        for mounted in &self.claims {
            let namespace = Text::clone(&self.namespace);
            cluster.touch_claim_key(&ClaimKey { namespace, name: mounted.claim.clone() }, dirty);
        }
        cluster.touch_places(self, dirty);
        cluster.touch_namesakes(self, dirty);
        cluster.touch_owned(&self.namespace, &self.name, dirty);
        if let Some((set, ordinal)) = split_ordinal(&self.name)
            && let Some(id) = cluster.tables.workloads.find(Kind::StatefulSet, &self.namespace, set)
            && let Some(set) = cluster.set_at(id)
        {
            dirty.subjects.insert(Subject::StatefulSet(id));
            for template in &set.templates {
                let name = format!("{}-{}-{ordinal}", template.name, set.metadata.name);
                let namespace = Text::clone(&self.namespace);
                cluster.touch_claim_key(&ClaimKey { namespace, name: name.into() }, dirty);
            }
        }
        if self.sidecars.is_some() {
            dirty.all_drivers = true;
        }
    }
}

impl Linked for Workload {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        for claim in &self.claims {
            change.apply(&mut indexes.workloads_by_claim, (&*self.namespace, &**claim), id);
        }
        if let Some(owner) = &self.controller {
            let key = (&*self.namespace, &*owner.name);
            change.apply(&mut indexes.workloads_by_controller, key, id);
        }
        places::index(self, change, &mut indexes.workloads_by_place, id);
        places::index_names(self, change, &mut indexes.workloads_by_token, id);
        if let Some(set) = &self.set {
            for template in &set.templates {
                let stem = format!("{}-{}", template.name, self.name);
                change.apply(&mut indexes.sets_by_stem, (&*self.namespace, &*stem), id);
            }
        }
        if self.sidecars.is_some() {
            change.mark(&mut indexes.sidecar_workloads, id);
        }
    }

    fn touch(&self, id: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        for claim in &self.claims {
            let namespace = Text::clone(&self.namespace);
            cluster.touch_claim_key(&ClaimKey { namespace, name: claim.clone() }, dirty);
        }
        cluster.touch_places(self, dirty);
        cluster.touch_namesakes(self, dirty);
        if self.sidecars.is_some() {
            // The name of a workload does not show which driver it serves.
            dirty.all_drivers = true;
        }
        if self.set.is_some() {
            cluster.touch_set(id, dirty);
        }
    }
}

impl Linked for Autoscaler {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        let target = (&*self.namespace, &*self.target_kind, &*self.target_name);
        change.apply(&mut indexes.autoscalers_by_target, target, id);
    }

    fn touch(&self, _: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        cluster.touch_set_named(&self.namespace, &self.target_name, dirty);
    }
}

impl Linked for Node {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        for (key, value) in self.metadata.labels.iter() {
            change.apply(&mut indexes.nodes_by_label, (&**key, &**value), id);
        }
        places::index(self, change, &mut indexes.nodes_by_place, id);
    }

    fn touch(&self, _: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        // Any node may make or break an affinity, and nodes are rarely added or deleted; a
        // heartbeat does not get here, since it changes nothing that a row keeps.
        let volumes = cluster.tables.volumes.iter();
        let affine = volumes.filter(|(_, volume)| volume.node_affinity.is_some());
        for (id, volume) in affine {
            dirty.subjects.insert(Subject::Volume(id));
            // And the pods for which no node was found.
            cluster.touch_waiting_for(volume, dirty);
        }
        // Findings about these volumes show the state of the node: one that is not Ready may still
        // write.
        cluster.touch_places(self, dirty);
        cluster.touch_node_named(&self.metadata.name, dirty);
    }
}

impl Linked for CsiDriver {
    // Few enough to be found by name or by going through all of them.
    fn index(&self, _: EntryChange, _: ObjectId, _: &mut Indexes) {}

    fn touch(&self, _: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        cluster.touch_driver(&self.metadata.name, dirty);
        // Which driver a sidecar serves depends on which drivers are registered.
        dirty.all_drivers = true;
    }
}

impl Linked for CsiNode {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        for driver in &self.drivers {
            change.apply(&mut indexes.csi_nodes_by_driver, &**driver, id);
        }
    }

    fn touch(&self, _: ObjectId, _: &Cluster, dirty: &mut Dirty) {
        dirty.drivers.extend(self.drivers.iter().cloned());
        // Which driver a sidecar serves depends on which drivers are registered.
        dirty.all_drivers = true;
    }
}

impl Linked for Lease {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        change.apply(&mut indexes.leases_by_name, &*self.metadata.name, id);
    }

    fn touch(&self, _: ObjectId, _: &Cluster, dirty: &mut Dirty) {
        // The name of a Lease does not show which driver it serves.
        dirty.all_drivers = true;
    }
}

impl Linked for Event {
    fn index(&self, change: EntryChange, id: ObjectId, indexes: &mut Indexes) {
        change.apply(&mut indexes.events_by_object, object_key(&self.about), id);
    }

    fn touch(&self, _: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        cluster.touch_object(&self.about, dirty);
        // The source of an event is the driver that acted.
        dirty.all_drivers = true;
    }
}

impl Linked for InventoryDisk {
    // Found by going through all of them, which a comparison does once.
    fn index(&self, _: EntryChange, _: ObjectId, _: &mut Indexes) {}

    // No rule about a single object judges what rests on one.
    fn touch(&self, _: ObjectId, _: &Cluster, _: &mut Dirty) {}
}

impl Linked for Namespace {
    // Found by going through all of them, which only a change of the guard does.
    fn index(&self, _: EntryChange, _: ObjectId, _: &mut Indexes) {}

    fn touch(&self, id: ObjectId, _: &Cluster, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::Namespace(id));
    }
}

impl Linked for AdmissionObject {
    // There are a dozen of them.
    fn index(&self, _: EntryChange, _: ObjectId, _: &mut Indexes) {}

    fn touch(&self, id: ObjectId, cluster: &Cluster, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::AdmissionObject(id));
        // One shows what is missing of the others, and all of them whether there is a guard.
        let others = cluster.admission_objects().map(|(id, _)| Subject::AdmissionObject(id));
        dirty.subjects.extend(others);
        dirty.subjects.extend(cluster.namespaces().map(|(id, _)| Subject::Namespace(id)));
    }
}

//! Rows of storage objects: volumes, claims, classes, attachments and snapshots.

use super::Linked;
use crate::cluster::{
    Cluster, Dirty, Subject,
    indexes::{EntryChange, Indexes},
    places,
};
use crate::model::{
    Attachment, AttachmentSource, AttributesClass, Claim, ClaimKey, ClaimPhase, Kind, ObjectId,
    SnapshotClass, SnapshotContent, SnapshotSource, StorageClass, Text, Volume, VolumeSnapshot,
    split_ordinal,
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

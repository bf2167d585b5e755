//! Which subjects a row bears on. Every path that a lookup of [`Cx`](super::Cx) can take is
//! walked here in the other direction, before a change and after it.

use super::{
    Cluster, Dirty, Subject,
    store::{TouchedRow, object_key},
};
use crate::model::{
    Attachment, AttachmentSource, BackendKey, ClaimKey, Kind, ObjectId, ObjectKey, Question, Text,
    Volume, split_ordinal,
};

/// Returns the CSI volume that an entry of a node's `status.volumesInUse` or `volumesAttached`
/// names, migrated volumes among them.
pub(super) fn on_node(name: &str) -> Option<BackendKey> {
    let (driver, handle) = name.strip_prefix("kubernetes.io/csi/")?.split_once('^')?;
    Some(BackendKey { driver: driver.into(), handle: handle.into() })
}

impl Cluster {
    pub(super) fn touch(&self, row: TouchedRow, dirty: &mut Dirty) {
        if dirty.everything {
            return;
        }
        match row {
            TouchedRow::Volume(id) => self.touch_volume(id, dirty),
            TouchedRow::Claim(id) => self.touch_claim(id, dirty),
            TouchedRow::Pod(id) => self.touch_pod(id, dirty),
            TouchedRow::Workload(id) => self.touch_workload(id, dirty),
            TouchedRow::Autoscaler(id) => {
                if let Some(row) = self.autoscalers.get(id) {
                    self.touch_set_named(&row.namespace, &row.target_name, dirty);
                }
            }
            TouchedRow::Node(id) => self.touch_node(id, dirty),
            TouchedRow::Attachment(id) => {
                dirty.subjects.insert(Subject::Attachment(id));
                if let Some(row) = self.attachments.get(id) {
                    dirty.drivers.insert(Text::clone(&row.attacher));
                    self.touch_attached(row, dirty);
                }
            }
            TouchedRow::VolumeSnapshot(id) => {
                if let Some(row) = self.volume_snapshots.get(id) {
                    let namespace = Text::clone(&row.namespace);
                    if let Some(claim) = &row.source_claim {
                        let key = ClaimKey { namespace, name: claim.clone() };
                        self.touch_claim_key(&key, dirty);
                    }
                    self.touch_contents_of(&row.namespace, &row.metadata.name, dirty);
                }
            }
            TouchedRow::Snapshot(id) => self.touch_snapshot(id, dirty),
            TouchedRow::Class(id) => {
                if let Some(row) = self.classes.get(id) {
                    self.touch_class_named(&row.metadata.name, dirty);
                }
            }
            TouchedRow::AttributesClass(id) => {
                dirty.subjects.insert(Subject::AttributesClass(id));
            }
            TouchedRow::Event(id) => {
                if let Some(row) = self.events.get(id) {
                    self.touch_object(&row.about, dirty);
                    // An event's source names the driver that acted.
                    dirty.all_drivers = true;
                }
            }
            TouchedRow::CsiDriver(id) => {
                if let Some(row) = self.csi_drivers.get(id) {
                    self.touch_driver(&row.metadata.name, dirty);
                    // Whose a sidecar is depends on which drivers are registered.
                    dirty.all_drivers = true;
                }
            }
            TouchedRow::CsiNode(id) => {
                if let Some(row) = self.csi_nodes.get(id) {
                    dirty.drivers.extend(row.drivers.iter().cloned());
                    // Whose a sidecar is depends on which drivers are registered.
                    dirty.all_drivers = true;
                }
            }
            // A lease's name does not tell which driver it serves.
            TouchedRow::Lease => dirty.all_drivers = true,
        }
    }

    pub(super) fn touch_question(&self, question: &Question, dirty: &mut Dirty) {
        match question {
            Question::Exists(key) => self.touch_object(key, dirty),
            Question::OwnerExists(key) => {
                let ids = self.indexes.claims_by_owner.candidates((&*key.namespace, &*key.name));
                dirty.subjects.extend(ids.map(Subject::Claim));
            }
            Question::SecretExists { namespace, name } => {
                let ids = self.indexes.volumes_by_secret.candidates((&**namespace, &**name));
                dirty.subjects.extend(ids.map(Subject::Volume));
            }
            // Its rows tell what it says.
            Question::KeptBackends { .. } => {}
            // The account does not tell whose it is: which pods and workloads count as a driver's
            // is for facts to decide. Such answers are few.
            Question::MayPatchVolumes { .. } => {
                dirty.all_drivers = true;
                dirty.subjects.extend(self.volumes.iter().map(|(id, _)| Subject::Volume(id)));
            }
        }
    }

    fn touch_volume(&self, id: ObjectId, dirty: &mut Dirty) {
        self.touch_around_volume(id, dirty);
        let Some(volume) = self.volumes.get(id) else { return };
        if let Some(backend) = &volume.backend {
            self.touch_backend(backend, dirty);
        }
        if let Some(class) = &volume.attributes_class {
            self.touch_attributes_class(class, dirty);
        }
        for driver in volume.drivers() {
            dirty.drivers.insert(driver.into());
            dirty.subjects.insert(Subject::Driver(driver.into()));
        }
    }

    /// A volume with the claims, pods and attachments that have to do with it.
    fn touch_around_volume(&self, id: ObjectId, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::Volume(id));
        let Some(volume) = self.volumes.get(id) else { return };
        self.touch_around_name(volume.name(), dirty);
        if let Some(claim) = &volume.claim_ref {
            self.touch_claim_and_pods(&claim.key, dirty);
        }
    }

    /// What names a volume, whether or not it exists.
    fn touch_around_name(&self, volume: &str, dirty: &mut Dirty) {
        let ids = self.indexes.attachments_by_volume.candidates(volume);
        dirty.subjects.extend(ids.map(Subject::Attachment));
        for id in self.indexes.claims_by_volume.candidates(volume) {
            if let Some(claim) = self.claims.get(id) {
                self.touch_claim_and_pods(&claim.key(), dirty);
            }
        }
    }

    fn touch_volume_named(&self, name: &str, dirty: &mut Dirty) {
        match self.volumes.find(Kind::PersistentVolume, "", name) {
            Some(id) => self.touch_around_volume(id, dirty),
            None => self.touch_around_name(name, dirty),
        }
    }

    fn touch_backend(&self, backend: &BackendKey, dirty: &mut Dirty) {
        let ids = self.indexes.volumes_by_backend.candidates(backend.lookup());
        dirty.subjects.extend(ids.map(Subject::Volume));
        self.touch_kept(backend, dirty);
    }

    /// A driver, and everything that names it: for what is not a fact.
    fn touch_driver(&self, driver: &str, dirty: &mut Dirty) {
        dirty.drivers.insert(driver.into());
        let ids = self.indexes.volumes_by_driver.candidates(driver);
        dirty.subjects.extend(ids.map(Subject::Volume));
        let snapshots = self.snapshots.iter().filter(|(_, row)| &*row.driver == driver);
        dirty.subjects.extend(snapshots.map(|(id, _)| Subject::Snapshot(id)));
        let attachments = self.attachments.iter().filter(|(_, row)| &*row.attacher == driver);
        dirty.subjects.extend(attachments.map(|(id, _)| Subject::Attachment(id)));
    }

    fn touch_claim(&self, id: ObjectId, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::Claim(id));
        let Some(claim) = self.claims.get(id) else { return };
        self.touch_claim_key(&claim.key(), dirty);
        if let Some(volume) = &claim.volume_name {
            self.touch_volume_named(volume, dirty);
        }
        if let Some(source) = &claim.source
            && &*source.kind == Kind::PersistentVolumeClaim.name()
        {
            let namespace = source.namespace.as_ref().unwrap_or(&claim.namespace);
            let key = ClaimKey { namespace: Text::clone(namespace), name: source.name.clone() };
            self.touch_claim_key(&key, dirty);
        }
        if let Some((stem, _)) = split_ordinal(&claim.metadata.name) {
            // Siblings tell what a claim without a set was once part of.
            let siblings = self.indexes.claims_by_stem.candidates((&*claim.namespace, stem));
            dirty.subjects.extend(siblings.map(Subject::Claim));
            let sets = self.indexes.sets_by_stem.candidates((&*claim.namespace, stem));
            dirty.subjects.extend(sets.map(Subject::StatefulSet));
        }
        if let Some(class) = &claim.attributes_class {
            self.touch_attributes_class(class, dirty);
        }
        if claim.class.is_none() {
            dirty.subjects.extend(self.classes.iter().map(|(id, _)| Subject::Class(id)));
        }
    }

    /// A claim, the volumes that say they are its, and everything around them.
    fn touch_claim_key(&self, key: &ClaimKey, dirty: &mut Dirty) {
        self.touch_claim_and_pods(key, dirty);
        let ids = self.indexes.volumes_by_claim.candidates((&*key.namespace, &*key.name));
        for id in ids {
            self.touch_around_volume(id, dirty);
        }
        if let Some(id) = self.claims.find(Kind::PersistentVolumeClaim, &key.namespace, &key.name)
            && let Some(volume) = self.claims.get(id).and_then(|claim| claim.volume_name.as_deref())
        {
            let ids = self.indexes.attachments_by_volume.candidates(volume);
            dirty.subjects.extend(ids.map(Subject::Attachment));
        }
    }

    fn touch_claim_and_pods(&self, key: &ClaimKey, dirty: &mut Dirty) {
        if let Some(id) = self.claims.find(Kind::PersistentVolumeClaim, &key.namespace, &key.name) {
            dirty.subjects.insert(Subject::Claim(id));
        }
        let pods = self.indexes.pods_by_claim.candidates((&*key.namespace, &*key.name));
        dirty.subjects.extend(pods.map(Subject::Pod));
    }

    fn touch_attributes_class(&self, name: &str, dirty: &mut Dirty) {
        if let Some(id) = self.attributes_classes.find(Kind::VolumeAttributesClass, "", name) {
            dirty.subjects.insert(Subject::AttributesClass(id));
        }
    }

    fn touch_class_named(&self, name: &str, dirty: &mut Dirty) {
        let volumes = self.indexes.volumes_by_class.candidates(name);
        dirty.subjects.extend(volumes.map(Subject::Volume));
        let claims = self.indexes.claims_by_class.candidates(name);
        dirty.subjects.extend(claims.map(Subject::Claim));
        // Which one is the default bears on all of them, and on who waits for a default.
        dirty.subjects.extend(self.classes.iter().map(|(id, _)| Subject::Class(id)));
        dirty.subjects.extend(self.indexes.classless_claims.iter().copied().map(Subject::Claim));
    }

    // --- pods, workloads, nodes ---------------------------------------------------------------

    fn touch_attached(&self, row: &Attachment, dirty: &mut Dirty) {
        if let AttachmentSource::Volume(volume) = &row.source {
            self.touch_volume_named(volume, dirty);
        }
        if let Some(backend) = row.source.backend() {
            self.touch_backend(&backend, dirty);
        }
    }

    fn touch_pod(&self, id: ObjectId, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::Pod(id));
        let Some(pod) = self.pods.get(id) else { return };
        for mounted in &pod.claims {
            let namespace = Text::clone(&pod.namespace);
            self.touch_claim_key(&ClaimKey { namespace, name: mounted.claim.clone() }, dirty);
        }
        self.touch_owned(&pod.namespace, &pod.name, dirty);
        if let Some((set, ordinal)) = split_ordinal(&pod.name)
            && let Some(id) = self.workloads.find(Kind::StatefulSet, &pod.namespace, set)
            && let Some(set) = self.set_at(id)
        {
            dirty.subjects.insert(Subject::StatefulSet(id));
            for template in &set.templates {
                let name = format!("{}-{}-{ordinal}", template.name, set.metadata.name);
                let namespace = Text::clone(&pod.namespace);
                self.touch_claim_key(&ClaimKey { namespace, name: name.into() }, dirty);
            }
        }
        if pod.sidecars.is_some() {
            dirty.all_drivers = true;
        }
    }

    /// The claims that something of this name owns.
    fn touch_owned(&self, namespace: &str, name: &str, dirty: &mut Dirty) {
        let ids = self.indexes.claims_by_owner.candidates((namespace, name));
        dirty.subjects.extend(ids.map(Subject::Claim));
    }

    fn touch_workload(&self, id: ObjectId, dirty: &mut Dirty) {
        let Some(row) = self.workloads.get(id) else { return };
        for claim in &row.claims {
            let namespace = Text::clone(&row.namespace);
            self.touch_claim_key(&ClaimKey { namespace, name: claim.clone() }, dirty);
        }
        if row.sidecars.is_some() {
            // Its name does not tell which driver it serves.
            dirty.all_drivers = true;
        }
        if row.set.is_some() {
            self.touch_set(id, dirty);
        }
    }

    fn touch_set_named(&self, namespace: &str, name: &str, dirty: &mut Dirty) {
        if let Some(id) = self.workloads.find(Kind::StatefulSet, namespace, name) {
            self.touch_set(id, dirty);
        }
    }

    fn touch_set(&self, id: ObjectId, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::StatefulSet(id));
        let Some(set) = self.set_at(id) else { return };
        self.touch_owned(&set.namespace, &set.metadata.name, dirty);
        let pods = self.indexes.pods_by_set.candidates((&*set.namespace, &*set.metadata.name));
        dirty.subjects.extend(pods.map(Subject::Pod));
        // Also claims of templates that it has no more: any stem that ends with its name.
        let name = &*set.metadata.name;
        let of_set = |claim: &crate::model::Claim| {
            claim.namespace == set.namespace
                && split_ordinal(&claim.metadata.name).is_some_and(|(stem, _)| {
                    stem.strip_suffix(name).is_some_and(|template| template.ends_with('-'))
                })
        };
        let claims = self.claims.iter().filter(|(_, claim)| of_set(claim));
        dirty.subjects.extend(claims.map(|(id, _)| Subject::Claim(id)));
    }

    fn touch_node(&self, id: ObjectId, dirty: &mut Dirty) {
        let Some(node) = self.nodes.get(id) else { return };
        // Any node may make or break an affinity, and nodes come and go rarely; a heartbeat
        // does not get here, since it changes nothing that a row keeps.
        let affine = self.volumes.iter().filter(|(_, volume)| volume.node_affinity.is_some());
        dirty.subjects.extend(affine.map(|(id, _)| Subject::Volume(id)));
        // Who names it says more about it than its name: a node that is not Ready may still write.
        for name in &node.volumes {
            if let Some(backend) = on_node(name) {
                self.touch_backend(&backend, dirty);
            }
        }
        self.touch_node_named(&node.metadata.name, dirty);
    }

    /// What names a node, whether or not it exists.
    fn touch_node_named(&self, name: &str, dirty: &mut Dirty) {
        for id in self.indexes.attachments_by_node.candidates(name) {
            self.touch(TouchedRow::Attachment(id), dirty);
        }
        let claims = self.indexes.claims_by_node.candidates(name);
        dirty.subjects.extend(claims.map(Subject::Claim));
        for id in self.indexes.pods_by_node.candidates(name) {
            self.touch_pod(id, dirty);
        }
    }

    fn touch_snapshot(&self, id: ObjectId, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::Snapshot(id));
        let Some(row) = self.snapshots.get(id) else { return };
        row.backends().for_each(|backend| self.touch_backend(&backend, dirty));
        dirty.drivers.insert(Text::clone(&row.driver));
    }

    fn touch_contents_of(&self, namespace: &str, name: &str, dirty: &mut Dirty) {
        let ids = self.indexes.contents_by_snapshot.candidates((namespace, name));
        dirty.subjects.extend(ids.map(Subject::Snapshot));
    }

    // --- anything by name ------------------------------------------------------------------

    fn touch_object(&self, key: &ObjectKey, dirty: &mut Dirty) {
        let (kind, namespace, name) = object_key(key);
        match kind {
            Kind::PersistentVolume => self.touch_volume_named(name, dirty),
            Kind::PersistentVolumeClaim => {
                let key = ClaimKey { namespace: namespace.into(), name: name.into() };
                self.touch_claim_key(&key, dirty);
            }
            Kind::Pod => {
                if let Some(id) = self.pods.find(kind, namespace, name) {
                    self.touch_pod(id, dirty);
                }
                self.touch_owned(namespace, name, dirty);
            }
            Kind::StatefulSet => {
                self.touch_set_named(namespace, name, dirty);
                self.touch_owned(namespace, name, dirty);
            }
            Kind::Node => self.touch_node_named(name, dirty),
            Kind::StorageClass => self.touch_class_named(name, dirty),
            Kind::VolumeSnapshot => self.touch_contents_of(namespace, name, dirty),
            _ => {}
        }
    }

    pub(super) fn volumes_of_backend<'a>(
        &'a self,
        backend: &BackendKey,
    ) -> impl Iterator<Item = (ObjectId, &'a Volume)> {
        let backend = backend.clone();
        let ids = self.indexes.volumes_by_backend.candidates(backend.lookup());
        let ids: Vec<ObjectId> = ids.collect();
        ids.into_iter().filter_map(move |id| {
            let volume = self.volumes.get(id)?;
            volume
                .backend
                .as_ref()
                .is_some_and(|known| known.same(&backend))
                .then_some((id, volume))
        })
    }
}

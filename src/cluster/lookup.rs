//! Which subjects a row bears on. Every path that a lookup of [`Cx`](super::Cx) can take is
//! walked here in the other direction, before a change and after it.

use super::{
    Cluster, Dirty, Subject,
    store::{TouchedRow, object_key},
};
use crate::model::{
    Attachment, AttachmentSource, BackendKey, ClaimKey, Kind, ObjectId, ObjectKey, PodUse,
    Question, Text, Volume,
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
            TouchedRow::Node(id) => self.touch_node(id, dirty),
            TouchedRow::Attachment(id) => {
                if let Some(row) = self.attachments.get(id) {
                    dirty.drivers.insert(Text::clone(&row.attacher));
                    self.touch_attached(row, dirty);
                }
            }
            TouchedRow::Snapshot(id) => {
                if let Some(row) = self.snapshots.get(id) {
                    row.backends().for_each(|backend| self.touch_backend(&backend, dirty));
                }
            }
            TouchedRow::Class(id) => {
                if let Some(row) = self.classes.get(id) {
                    let ids = self.indexes.volumes_by_class.candidates(&*row.metadata.name);
                    dirty.subjects.extend(ids.map(Subject::Volume));
                }
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
            // A lease's or a workload's name does not tell which driver it serves.
            TouchedRow::Lease | TouchedRow::Workload => dirty.all_drivers = true,
        }
    }

    pub(super) fn touch_question(&self, question: &Question, dirty: &mut Dirty) {
        match question {
            Question::ClaimExists(key) => {
                self.touch_claim_key(key, dirty);
            }
            Question::SecretExists { namespace, name } => {
                let ids = self.indexes.volumes_by_secret.candidates((&**namespace, &**name));
                dirty.subjects.extend(ids.map(Subject::Volume));
            }
            // The account does not tell whose it is: which pods and workloads count as a driver's
            // is for facts to decide. Such answers are few.
            Question::MayPatchVolumes { .. } => {
                dirty.all_drivers = true;
                dirty.subjects.extend(self.volumes.iter().map(|(id, _)| Subject::Volume(id)));
            }
        }
    }

    fn touch_volume(&self, id: ObjectId, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::Volume(id));
        let Some(volume) = self.volumes.get(id) else { return };
        if let Some(backend) = &volume.backend {
            self.touch_backend(backend, dirty);
        }
        if let Some(claim) = &volume.claim_ref {
            self.touch_claim_id(&claim.key, dirty);
        }
        let claims = self.indexes.claims_by_volume.candidates(volume.name());
        dirty.subjects.extend(claims.map(Subject::Claim));
        for driver in volume.drivers() {
            dirty.drivers.insert(driver.into());
            dirty.subjects.insert(Subject::Driver(driver.into()));
        }
    }

    fn touch_claim(&self, id: ObjectId, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::Claim(id));
        let Some(claim) = self.claims.get(id) else { return };
        self.touch_claim_key(&claim.key(), dirty);
        if let Some(volume) = &claim.volume_name {
            self.touch_volume_named(volume, dirty);
        }
    }

    fn touch_attached(&self, row: &Attachment, dirty: &mut Dirty) {
        if let AttachmentSource::Volume(volume) = &row.source {
            self.touch_volume_named(volume, dirty);
        }
        if let Some(backend) = row.source.backend() {
            self.touch_backend(&backend, dirty);
        }
    }

    fn touch_pod_claims(&self, pod: &PodUse, dirty: &mut Dirty) {
        for mounted in &pod.claims {
            let namespace = Text::clone(&pod.namespace);
            self.touch_claim_key(&ClaimKey { namespace, name: mounted.claim.clone() }, dirty);
        }
    }

    fn touch_pod(&self, id: ObjectId, dirty: &mut Dirty) {
        let Some(pod) = self.pods.get(id) else { return };
        self.touch_pod_claims(pod, dirty);
        if pod.sidecars.is_some() {
            dirty.all_drivers = true;
        }
    }

    fn touch_node(&self, id: ObjectId, dirty: &mut Dirty) {
        let Some(node) = self.nodes.get(id) else { return };
        // Any node may make or break an affinity, and nodes come and go rarely; a heartbeat
        // does not get here, since it changes nothing that a row keeps.
        let affine = self.volumes.iter().filter(|(_, volume)| volume.node_affinity.is_some());
        dirty.subjects.extend(affine.map(|(id, _)| Subject::Volume(id)));
        // Who names it says more about it than its name: a node that is not Ready may still write.
        for (_, attachment) in self.attachments.iter() {
            if *attachment.node == *node.metadata.name {
                self.touch_attached(attachment, dirty);
            }
        }
        for (_, pod) in self.pods.iter() {
            if pod.node.as_deref() == Some(&*node.metadata.name) {
                self.touch_pod_claims(pod, dirty);
            }
        }
        for name in &node.volumes {
            if let Some(backend) = on_node(name) {
                self.touch_backend(&backend, dirty);
            }
        }
    }

    /// A driver, and everything that names it: for what is not a fact.
    fn touch_driver(&self, driver: &str, dirty: &mut Dirty) {
        dirty.drivers.insert(driver.into());
        let ids = self.indexes.volumes_by_driver.candidates(driver);
        dirty.subjects.extend(ids.map(Subject::Volume));
    }

    fn touch_backend(&self, backend: &BackendKey, dirty: &mut Dirty) {
        let ids = self.indexes.volumes_by_backend.candidates(backend.lookup());
        dirty.subjects.extend(ids.map(Subject::Volume));
    }

    fn touch_volume_named(&self, name: &str, dirty: &mut Dirty) {
        if let Some(id) = self.volumes.find(Kind::PersistentVolume, "", name) {
            dirty.subjects.insert(Subject::Volume(id));
        }
    }

    fn touch_claim_id(&self, key: &ClaimKey, dirty: &mut Dirty) {
        if let Some(id) = self.claims.find(Kind::PersistentVolumeClaim, &key.namespace, &key.name) {
            dirty.subjects.insert(Subject::Claim(id));
        }
    }

    /// A claim, the volumes that say they are its, and the volume that it says is its.
    fn touch_claim_key(&self, key: &ClaimKey, dirty: &mut Dirty) {
        self.touch_claim_id(key, dirty);
        let ids = self.indexes.volumes_by_claim.candidates((&*key.namespace, &*key.name));
        dirty.subjects.extend(ids.map(Subject::Volume));
    }

    fn touch_object(&self, key: &ObjectKey, dirty: &mut Dirty) {
        let (kind, namespace, name) = object_key(key);
        match kind {
            Kind::PersistentVolume => self.touch_volume_named(name, dirty),
            Kind::PersistentVolumeClaim => {
                let key = ClaimKey { namespace: namespace.into(), name: name.into() };
                self.touch_claim_key(&key, dirty);
            }
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

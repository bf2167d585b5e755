//! Access to rows: all of a type, or one by its id.

use std::collections::BTreeSet;

use super::store::{Cluster, object_key};
use super::table::Tables;
use super::{ClustersBeside, Dirty, Subject};
use crate::model::{
    AdmissionObject, Answer, Attachment, AttributesClass, Autoscaler, BackendKey, Claim, ClaimKey,
    CsiDriver, CsiNode, InventoryDisk, KeptBackend, Kind, Lease, Namespace, Node, ObjectId,
    ObjectKey, PodUse, Question, SnapshotContent, StatefulSet, StorageClass, Text, Uid, Volume,
    VolumeSnapshot, Workload,
};

impl Cluster {
    /// All volumes.
    pub fn volumes(&self) -> impl Iterator<Item = (ObjectId, &Volume)> {
        self.tables.volumes.iter()
    }

    /// All claims.
    pub fn claims(&self) -> impl Iterator<Item = (ObjectId, &Claim)> {
        self.tables.claims.iter()
    }

    /// All Leases that have rows.
    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.tables.leases.iter().map(|(_, lease)| lease)
    }

    /// The clusters that are read beside this one; `None` if none are.
    pub fn beside(&self) -> Option<&ClustersBeside> {
        self.beside.as_ref()
    }

    /// Sets what the clusters beside this one name now.
    pub fn set_beside(&mut self, beside: ClustersBeside) {
        self.beside = Some(beside);
    }

    /// Returns a claim by its key, if it was read.
    pub fn claim_named(&self, key: &ClaimKey) -> Option<&Claim> {
        self.tables.claims.named(Kind::PersistentVolumeClaim, &key.namespace, &key.name)
    }

    /// Returns a workload by its key, if its row is kept: it uses claims, runs storage sidecars, or is a `StatefulSet`.
    pub fn workload_named(&self, key: &ObjectKey) -> Option<&Workload> {
        let (kind, namespace, name) = object_key(key);
        self.tables.workloads.get(self.tables.workloads.find(kind, namespace, name)?)
    }

    /// All autoscalers.
    pub fn autoscalers(&self) -> impl Iterator<Item = (ObjectId, &Autoscaler)> {
        self.tables.autoscalers.iter()
    }

    /// Returns a pod by its key, if its row is kept.
    pub fn pod_named(&self, key: &ObjectKey) -> Option<&PodUse> {
        let (kind, namespace, name) = object_key(key);
        self.tables.pods.get(self.tables.pods.find(kind, namespace, name)?)
    }

    /// The disks of storage systems whose inventory lies in the cluster.
    pub fn inventory_disks(&self) -> impl Iterator<Item = &InventoryDisk> {
        self.tables.inventory_disks.iter().map(|(_, disk)| disk)
    }

    /// Number of volumes and of claims.
    pub fn count(&self) -> (usize, usize) {
        (self.tables.volumes.len(), self.tables.claims.len())
    }

    /// The subject of an object that was read, or of a driver, read or not; `None` for kinds that no rule judges.
    pub fn subject(&self, key: &ObjectKey) -> Option<Subject> {
        let (kind, namespace, name) = object_key(key);
        let tables = &self.tables;
        match kind {
            Kind::PersistentVolume => {
                tables.volumes.find(kind, namespace, name).map(Subject::Volume)
            }
            Kind::PersistentVolumeClaim => {
                tables.claims.find(kind, namespace, name).map(Subject::Claim)
            }
            Kind::StatefulSet => {
                tables.workloads.find(kind, namespace, name).map(Subject::StatefulSet)
            }
            Kind::VolumeAttachment => {
                tables.attachments.find(kind, namespace, name).map(Subject::Attachment)
            }
            Kind::Pod => tables.pods.find(kind, namespace, name).map(Subject::Pod),
            Kind::StorageClass => tables.classes.find(kind, namespace, name).map(Subject::Class),
            Kind::VolumeAttributesClass => {
                tables.attributes_classes.find(kind, namespace, name).map(Subject::AttributesClass)
            }
            Kind::VolumeSnapshotContent | Kind::VolumeGroupSnapshotContent => {
                tables.snapshots.find(kind, namespace, name).map(Subject::Snapshot)
            }
            Kind::Namespace => {
                tables.namespaces.find(kind, namespace, name).map(Subject::Namespace)
            }
            Kind::ValidatingAdmissionPolicy | Kind::ValidatingAdmissionPolicyBinding => {
                tables.admission_objects.find(kind, namespace, name).map(Subject::AdmissionObject)
            }
            Kind::CsiDriver => Some(Subject::Driver(name.into())),
            _ => None,
        }
    }

    /// The volume of this name, if it was read.
    pub fn volume_named(&self, name: &str) -> Option<&Volume> {
        self.tables.volumes.get(self.tables.volumes.find(Kind::PersistentVolume, "", name)?)
    }

    /// The volume with this id.
    pub fn volume_at(&self, id: ObjectId) -> Option<&Volume> {
        self.tables.volumes.get(id)
    }

    /// The claim with this id.
    pub fn claim_at(&self, id: ObjectId) -> Option<&Claim> {
        self.tables.claims.get(id)
    }

    /// The `StatefulSet` with the id of its workload.
    pub fn set_at(&self, id: ObjectId) -> Option<&StatefulSet> {
        self.tables.workloads.get(id)?.set.as_deref()
    }

    /// All sets.
    pub fn sets(&self) -> impl Iterator<Item = (ObjectId, &StatefulSet)> {
        self.tables.workloads.iter().filter_map(|(id, row)| Some((id, row.set.as_deref()?)))
    }

    /// The pod with this id.
    pub fn pod_at(&self, id: ObjectId) -> Option<&PodUse> {
        self.tables.pods.get(id)
    }

    /// All pods of which a row is kept.
    pub fn pods(&self) -> impl Iterator<Item = (ObjectId, &PodUse)> {
        self.tables.pods.iter()
    }

    /// The attachment with this id.
    pub fn attachment_at(&self, id: ObjectId) -> Option<&Attachment> {
        self.tables.attachments.get(id)
    }

    /// All attachments.
    pub fn attachments(&self) -> impl Iterator<Item = (ObjectId, &Attachment)> {
        self.tables.attachments.iter()
    }

    /// Whether disks lie in the cluster.
    pub fn has_inventory_disks(&self) -> bool {
        self.inventory_disks().next().is_some()
    }

    /// All workloads.
    pub fn workloads(&self) -> impl Iterator<Item = (ObjectId, &Workload)> {
        self.tables.workloads.iter()
    }

    /// All nodes.
    pub fn nodes(&self) -> impl Iterator<Item = (ObjectId, &Node)> {
        self.tables.nodes.iter()
    }

    /// All `CSIDriver` objects.
    pub fn csi_drivers(&self) -> impl Iterator<Item = (ObjectId, &CsiDriver)> {
        self.tables.csi_drivers.iter()
    }

    /// All `CSINode` objects.
    pub fn csi_nodes(&self) -> impl Iterator<Item = (ObjectId, &CsiNode)> {
        self.tables.csi_nodes.iter()
    }

    /// The storage class with this id.
    pub fn class_at(&self, id: ObjectId) -> Option<&StorageClass> {
        self.tables.classes.get(id)
    }

    /// All storage classes.
    pub fn classes(&self) -> impl Iterator<Item = (ObjectId, &StorageClass)> {
        self.tables.classes.iter()
    }

    /// The volume attributes class with this id.
    pub fn attributes_class_at(&self, id: ObjectId) -> Option<&AttributesClass> {
        self.tables.attributes_classes.get(id)
    }

    /// All volume attributes classes.
    pub fn attributes_classes(&self) -> impl Iterator<Item = (ObjectId, &AttributesClass)> {
        self.tables.attributes_classes.iter()
    }

    /// The namespace with this id.
    pub fn namespace_at(&self, id: ObjectId) -> Option<&Namespace> {
        self.tables.namespaces.get(id)
    }

    /// All namespaces.
    pub fn namespaces(&self) -> impl Iterator<Item = (ObjectId, &Namespace)> {
        self.tables.namespaces.iter()
    }

    /// The object of the guard with this id.
    pub fn admission_object_at(&self, id: ObjectId) -> Option<&AdmissionObject> {
        self.tables.admission_objects.get(id)
    }

    /// All policies and bindings that have a name of the guard.
    pub fn admission_objects(&self) -> impl Iterator<Item = (ObjectId, &AdmissionObject)> {
        self.tables.admission_objects.iter()
    }

    /// The snapshot content with this id.
    pub fn snapshot_at(&self, id: ObjectId) -> Option<&SnapshotContent> {
        self.tables.snapshots.get(id)
    }

    /// All snapshot contents.
    pub fn snapshots(&self) -> impl Iterator<Item = (ObjectId, &SnapshotContent)> {
        self.tables.snapshots.iter()
    }

    /// All `VolumeSnapshot`s.
    pub fn volume_snapshots(&self) -> impl Iterator<Item = (ObjectId, &VolumeSnapshot)> {
        self.tables.volume_snapshots.iter()
    }

    /// All kept backend volumes.
    pub fn kept_backends(&self) -> impl Iterator<Item = &KeptBackend> {
        self.kept.values()
    }

    /// The kept backend volume of exactly this key.
    pub fn kept_backend(&self, backend: &BackendKey) -> Option<&KeptBackend> {
        self.kept.get(backend)
    }

    /// Whether this tool is known to have added a finalizer to a volume.
    pub fn has_added_finalizer(&self, volume: &Uid, finalizer: &Text) -> bool {
        self.added_finalizers.contains(&(volume.clone(), Text::clone(finalizer)))
    }

    /// Adds an entry of the record of kept backend volumes, merged with the known one.
    pub(super) fn keep(&mut self, row: KeptBackend, dirty: &mut Dirty) {
        let key = row.backend.clone();
        let known = self.kept.get(&key);
        let row = match known.cloned() {
            Some(known) => known.and(row),
            None => row,
        };
        if known != Some(&row) {
            self.touch_places(&row, dirty);
            self.touch_namesakes(&row, dirty);
            // The handles of a driver of which nothing is known tell together what they mean.
            self.touch_driver(&key.driver, dirty);
            dirty.subjects.insert(Subject::Backend(key.clone()));
            self.kept.insert(key, row);
        }
    }

    /// Forgets an answer; with that about the record of kept backend volumes, also all of these.
    pub(in crate::cluster) fn forget(&mut self, question: &Question, dirty: &mut Dirty) {
        if self.answers.remove(question).is_some() {
            self.touch_question(question, dirty);
        }
        if matches!(question, Question::KeptBackends { .. }) {
            for row in std::mem::take(&mut self.kept).into_values() {
                self.touch_places(&row, dirty);
                self.touch_namesakes(&row, dirty);
                self.touch_driver(&row.backend.driver, dirty);
                dirty.subjects.insert(Subject::Backend(row.backend));
            }
        }
    }

    /// Forgets the answer that an object exists, after it was deleted.
    pub(in crate::cluster) fn forget_existence(&mut self, key: &ObjectKey, dirty: &mut Dirty) {
        if self.answers.is_empty() {
            return;
        }
        let exists = Question::Exists(key.clone());
        if self.answers.get(&exists).is_some_and(|answer| *answer != Answer::No) {
            self.forget(&exists, dirty);
        }
    }

    /// Every CSI driver and external provisioner that any object references.
    pub fn drivers(&self) -> BTreeSet<Text> {
        let mut drivers: BTreeSet<Text> = BTreeSet::new();
        for (_, volume) in self.tables.volumes.iter() {
            for driver in volume.drivers() {
                if !drivers.contains(driver) {
                    drivers.insert(driver.into());
                }
            }
        }
        drivers.extend(
            self.tables.csi_drivers.iter().map(|(_, driver)| Text::from(&*driver.metadata.name)),
        );
        drivers.extend(
            self.tables.csi_nodes.iter().flat_map(|(_, node)| node.drivers.iter().cloned()),
        );
        drivers
    }

    /// Whether any object references this CSI driver or external provisioner, as [`drivers`](Self::drivers) lists them,
    /// without looking at all objects.
    pub fn has_driver(&self, driver: &str) -> bool {
        let Tables { volumes, csi_drivers, csi_nodes, .. } = &self.tables;
        let of_volume = |it: &Volume| it.drivers().any(|known| known == driver);
        let of_node = |it: &CsiNode| it.drivers.iter().any(|known| **known == *driver);
        let mut by_volumes = self.indexes.volumes_by_driver.candidates(driver);
        let mut by_nodes = self.indexes.csi_nodes_by_driver.candidates(driver);
        csi_drivers.named(Kind::CsiDriver, "", driver).is_some()
            || by_nodes.any(|id| csi_nodes.get(id).is_some_and(of_node))
            || by_volumes.any(|id| volumes.get(id).is_some_and(of_volume))
    }
}

//! Subjects of judgements, and the marking of those that a change makes dirty.

use std::collections::BTreeSet;

use super::Cluster;
use super::store::object_key;
use super::table::Linked;
use crate::model::{
    Attachment, BackendKey, ClaimKey, FactKey, Kind, ObjectId, ObjectKey, PodPhase, PodUse,
    Question, Text, Time, Volume, split_ordinal,
};

/// Calls a macro with one line for each type of row that rules judge: its variant of [`Subject`],
/// its type, and the methods of [`Cluster`](super::Cluster) that return all of them and one by id.
macro_rules! for_each_judged_row {
    ($call:ident) => {
        $call! {
            Volume: Volume, volumes, volume_at;
            Claim: Claim, claims, claim_at;
            StatefulSet: StatefulSet, sets, set_at;
            Attachment: Attachment, attachments, attachment_at;
            Pod: PodUse, pods, pod_at;
            Class: StorageClass, classes, class_at;
            AttributesClass: AttributesClass, attributes_classes, attributes_class_at;
            Snapshot: SnapshotContent, snapshots, snapshot_at;
            Namespace: Namespace, namespaces, namespace_at;
            AdmissionObject: AdmissionObject, admission_objects, admission_object_at;
        }
    };
}

pub(crate) use for_each_judged_row;

macro_rules! declare_subject {
    ($($subject:ident: $row:ident, $all:ident, $at:ident;)+) => {
        /// Subject of a judgement.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Subject {
            // A StatefulSet has the id of its workload.
            $($subject(ObjectId),)+
            /// A CSI driver or another provisioner, by its name.
            Driver(Text),
            /// A kept backend volume.
            Backend(BackendKey),
        }
    };
}

for_each_judged_row!(declare_subject);

/// The subjects whose judgement may differ after a change.
///
/// A subject too many is harmless, one too few is a bug; a property test compares with complete
/// assessments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dirty {
    /// All subjects: coverage changed, or nothing was judged yet.
    pub everything: bool,
    /// Subjects to be judged again.
    pub subjects: BTreeSet<Subject>,
    /// Drivers whose facts may differ. Their volumes are dirty only if a fact really differs, which
    /// the `Assessor` finds out: a Lease is renewed every few seconds.
    pub drivers: BTreeSet<Text>,
    /// Drivers whose volume-derived facts changed. A Lease tells nothing of volumes, of
    /// which a driver may have very many.
    pub volumes_of: BTreeSet<Text>,
    /// Whether the facts of every driver may differ, except for those derived from volumes.
    pub all_drivers: bool,
}

impl Dirty {
    /// Marks all subjects.
    pub fn everything() -> Self {
        Self { everything: true, ..Self::default() }
    }

    /// Whether a fact has to be derived again: because of a change, or because its wake time has come.
    pub fn outdates(&self, key: &FactKey, wake: Option<Time>, now: Option<Time>) -> bool {
        let is_due = wake.zip(now).is_some_and(|(wake, now)| wake <= now);
        let is_told = self.volumes_of.contains(key.driver());
        self.everything
            || is_due
            || is_told
            || match key {
                FactKey::Volumes(_) | FactKey::Identity(_) => false,
                FactKey::Controller(..)
                | FactKey::ProvisionerVersions(_)
                | FactKey::FinalizerSupport(_)
                | FactKey::ControllerSettings(_) => {
                    self.all_drivers || self.drivers.contains(key.driver())
                }
            }
    }

    /// Whether no subject must be judged again.
    pub fn is_empty(&self) -> bool {
        !self.everything && !self.all_drivers && self.subjects.is_empty() && self.drivers.is_empty()
    }
}

impl Cluster {
    /// Marks the subjects that rest on a row.
    pub(super) fn touch<R: Linked>(&self, id: ObjectId, row: &R, dirty: &mut Dirty) {
        if !dirty.everything {
            row.touch(id, self, dirty);
        }
    }

    /// Marks the subjects that rest on the row in this slot.
    pub(super) fn touch_row<R: Linked>(&self, id: ObjectId, dirty: &mut Dirty) {
        if let Some(row) = R::table(&self.tables).get(id) {
            self.touch(id, row, dirty);
        }
    }

    /// Marks the drivers whose facts the row in this slot may change.
    pub(super) fn touch_drivers<R: Linked>(&self, id: ObjectId, dirty: &mut Dirty) {
        if !dirty.everything
            && let Some(row) = R::table(&self.tables).get(id)
        {
            row.touch_drivers(dirty);
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
                // What becomes of the data of its claim may depend on it.
                for id in self.indexes.volumes_by_secret.candidates((&**namespace, &**name)) {
                    self.touch_deletion(id, dirty);
                }
            }
            // Its entries are rows of their own.
            Question::KeptBackends { .. }
            // No rule asks: what is deleted is judged anew with each answer.
            | Question::OwnersOf(_)
            | Question::CustomUsers { .. } => {}
            // They may be about any volume, and are read as a whole. No driver is judged by them.
            Question::Announcements { .. } => {
                let volumes = self.tables.volumes.iter();
                dirty.subjects.extend(volumes.map(|(id, _)| Subject::Volume(id)));
            }
            // The account does not show its driver: facts decide which pods and workloads belong to
            // a driver. Such answers are few.
            Question::MayPatchVolumes { .. } => {
                dirty.all_drivers = true;
                dirty
                    .subjects
                    .extend(self.tables.volumes.iter().map(|(id, _)| Subject::Volume(id)));
            }
        }
    }

    /// Marks a volume with its claims, their pods, and its attachments.
    pub(super) fn touch_around_volume(&self, id: ObjectId, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::Volume(id));
        let Some(volume) = self.tables.volumes.get(id) else { return };
        self.touch_around_name(volume.name(), dirty);
        if let Some(claim) = &volume.claim_ref {
            self.touch_claim_and_pods(&claim.key, dirty);
        }
    }

    /// Marks a volume with everything that rests on the effect of its deletion: also the volumes that share its
    /// storage.
    fn touch_deletion(&self, id: ObjectId, dirty: &mut Dirty) {
        self.touch_around_volume(id, dirty);
        if let Some(volume) = self.tables.volumes.get(id) {
            self.touch_places(volume, dirty);
        }
    }

    /// Marks the claims, pods and attachments that reference a volume, whether or not it exists.
    fn touch_around_name(&self, volume: &str, dirty: &mut Dirty) {
        let ids = self.indexes.attachments_by_volume.candidates(volume);
        dirty.subjects.extend(ids.map(Subject::Attachment));
        for id in self.indexes.claims_by_volume.candidates(volume) {
            if let Some(claim) = self.tables.claims.get(id) {
                self.touch_claim_and_pods(&claim.key(), dirty);
            }
        }
    }

    pub(super) fn touch_volume_named(&self, name: &str, dirty: &mut Dirty) {
        match self.tables.volumes.find(Kind::PersistentVolume, "", name) {
            Some(id) => self.touch_around_volume(id, dirty),
            None => self.touch_around_name(name, dirty),
        }
    }

    /// Marks a driver and everything that references it, for lookups that are not part of a fact.
    pub(super) fn touch_driver(&self, driver: &str, dirty: &mut Dirty) {
        dirty.drivers.insert(driver.into());
        dirty.volumes_of.insert(driver.into());
        let ids = self.indexes.volumes_by_driver.candidates(driver);
        dirty.subjects.extend(ids.map(Subject::Volume));
        let snapshots = self.tables.snapshots.iter().filter(|(_, row)| &*row.driver == driver);
        dirty.subjects.extend(snapshots.map(|(id, _)| Subject::Snapshot(id)));
        let attachments =
            self.tables.attachments.iter().filter(|(_, row)| &*row.attacher == driver);
        dirty.subjects.extend(attachments.map(|(id, _)| Subject::Attachment(id)));
    }

    /// Marks a claim, the volumes whose claimRef references it, and their claims, pods and attachments.
    pub(super) fn touch_claim_key(&self, key: &ClaimKey, dirty: &mut Dirty) {
        self.touch_claim_and_pods(key, dirty);
        let ids = self.indexes.volumes_by_claim.candidates((&*key.namespace, &*key.name));
        for id in ids {
            self.touch_around_volume(id, dirty);
            // Whether only a provisioner uses a volume decides about those inside it.
            if let Some(volume) = self.tables.volumes.get(id) {
                self.touch_places(volume, dirty);
            }
        }
        if let Some(id) =
            self.tables.claims.find(Kind::PersistentVolumeClaim, &key.namespace, &key.name)
            && let Some(volume) =
                self.tables.claims.get(id).and_then(|claim| claim.volume_name.as_deref())
        {
            let ids = self.indexes.attachments_by_volume.candidates(volume);
            dirty.subjects.extend(ids.map(Subject::Attachment));
        }
    }

    fn touch_claim_and_pods(&self, key: &ClaimKey, dirty: &mut Dirty) {
        if let Some(id) =
            self.tables.claims.find(Kind::PersistentVolumeClaim, &key.namespace, &key.name)
        {
            dirty.subjects.insert(Subject::Claim(id));
        }
        let pods = self.indexes.pods_by_claim.candidates((&*key.namespace, &*key.name));
        dirty.subjects.extend(pods.map(Subject::Pod));
    }

    pub(super) fn touch_attributes_class(&self, name: &str, dirty: &mut Dirty) {
        if let Some(id) = self.tables.attributes_classes.find(Kind::VolumeAttributesClass, "", name)
        {
            dirty.subjects.insert(Subject::AttributesClass(id));
        }
    }

    pub(super) fn touch_class_named(&self, name: &str, dirty: &mut Dirty) {
        for id in self.indexes.volumes_by_class.candidates(name) {
            self.touch_deletion(id, dirty);
        }
        for claim in self.indexes.claims_by_class.candidates(name) {
            dirty.subjects.insert(Subject::Claim(claim));
            self.touch_waiting_pods(claim, dirty);
        }
        // Which one is the default bears on all of them, and on the claims that wait for a default.
        self.touch_all_classes(dirty);
        dirty.subjects.extend(self.indexes.classless_claims.iter().copied().map(Subject::Claim));
    }

    pub(super) fn touch_all_classes(&self, dirty: &mut Dirty) {
        dirty.subjects.extend(self.tables.classes.iter().map(|(id, _)| Subject::Class(id)));
    }

    // --- pods, workloads, nodes ---------------------------------------------------------------

    /// Marks the claims with an owner of this name.
    pub(super) fn touch_owned(&self, namespace: &str, name: &str, dirty: &mut Dirty) {
        let ids = self.indexes.claims_by_owner.candidates((namespace, name));
        dirty.subjects.extend(ids.map(Subject::Claim));
    }

    pub(super) fn touch_set_named(&self, namespace: &str, name: &str, dirty: &mut Dirty) {
        if let Some(id) = self.tables.workloads.find(Kind::StatefulSet, namespace, name) {
            self.touch_set(id, dirty);
        }
    }

    pub(super) fn touch_set(&self, id: ObjectId, dirty: &mut Dirty) {
        dirty.subjects.insert(Subject::StatefulSet(id));
        let Some(set) = self.set_at(id) else { return };
        self.touch_owned(&set.namespace, &set.metadata.name, dirty);
        let pods = self.indexes.pods_by_set.candidates((&*set.namespace, &*set.metadata.name));
        dirty.subjects.extend(pods.map(Subject::Pod));
        // Also claims of templates that were removed from it: any stem that ends with its name.
        let name = &*set.metadata.name;
        let of_set = |claim: &crate::model::Claim| {
            claim.namespace == set.namespace
                && split_ordinal(&claim.metadata.name).is_some_and(|(stem, _)| {
                    stem.strip_suffix(name).is_some_and(|template| template.ends_with('-'))
                })
        };
        let claims = self.tables.claims.iter().filter(|(_, claim)| of_set(claim));
        dirty.subjects.extend(claims.map(|(id, _)| Subject::Claim(id)));
        // And volumes whose claim it would create again.
        let wanted = |volume: &Volume| {
            volume.claim_ref.as_ref().is_some_and(|claim| {
                claim.key.namespace == set.namespace
                    && split_ordinal(&claim.key.name).is_some_and(|(stem, _)| stem.ends_with(name))
            })
        };
        let volumes = self.tables.volumes.iter().filter(|(_, volume)| wanted(volume));
        dirty.subjects.extend(volumes.map(|(id, _)| Subject::Volume(id)));
    }

    /// Marks the attachments, claims and pods that reference a node, whether or not it exists.
    pub(super) fn touch_node_named(&self, name: &str, dirty: &mut Dirty) {
        for id in self.indexes.attachments_by_node.candidates(name) {
            self.touch_row::<Attachment>(id, dirty);
        }
        for claim in self.indexes.claims_by_node.candidates(name) {
            dirty.subjects.insert(Subject::Claim(claim));
            self.touch_waiting_pods(claim, dirty);
        }
        for id in self.indexes.pods_by_node.candidates(name) {
            self.touch_row::<PodUse>(id, dirty);
        }
    }

    /// Marks the Pending pods that need a volume.
    pub(super) fn touch_waiting_for(&self, volume: &Volume, dirty: &mut Dirty) {
        for id in self.indexes.claims_by_volume.candidates(volume.name()) {
            self.touch_waiting_pods(id, dirty);
        }
    }

    /// Marks the Pending pods that use a claim.
    fn touch_waiting_pods(&self, claim: ObjectId, dirty: &mut Dirty) {
        let Some(claim) = self.tables.claims.get(claim) else { return };
        let key = (&*claim.namespace, &*claim.metadata.name);
        let waits = |id: &ObjectId| {
            self.tables.pods.get(*id).is_some_and(|it| it.phase == PodPhase::Pending)
        };
        let pods = self.indexes.pods_by_claim.candidates(key);
        dirty.subjects.extend(pods.filter(waits).map(Subject::Pod));
    }

    pub(super) fn touch_contents_of(&self, namespace: &str, name: &str, dirty: &mut Dirty) {
        let ids = self.indexes.contents_by_snapshot.candidates((namespace, name));
        dirty.subjects.extend(ids.map(Subject::Snapshot));
    }

    /// Marks the volumes of which a `VolumeSnapshot` was taken.
    pub(super) fn touch_sources_of(&self, namespace: &str, name: &str, dirty: &mut Dirty) {
        for id in self.indexes.contents_by_snapshot.candidates((namespace, name)) {
            if let Some(content) = self.tables.snapshots.get(id) {
                self.touch_places(content, dirty);
            }
        }
    }

    // --- anything by name ------------------------------------------------------------------

    pub(super) fn touch_object(&self, key: &ObjectKey, dirty: &mut Dirty) {
        let (kind, namespace, name) = object_key(key);
        match kind {
            Kind::PersistentVolume => self.touch_volume_named(name, dirty),
            Kind::PersistentVolumeClaim => {
                let key = ClaimKey { namespace: namespace.into(), name: name.into() };
                self.touch_claim_key(&key, dirty);
            }
            Kind::Pod => {
                if let Some(id) = self.tables.pods.find(kind, namespace, name) {
                    self.touch_row::<PodUse>(id, dirty);
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
}

//! Subjects of judgements, and those that a change makes dirty.

use std::collections::BTreeSet;

use crate::model::{BackendKey, FactKey, ObjectId, Text, Time};

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
        /// What a judgement is about.
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
    /// These subjects.
    pub subjects: BTreeSet<Subject>,
    /// Drivers whose facts may differ. Their volumes are dirty only if a fact really differs, which
    /// the `Assessor` finds out: a Lease is renewed every few seconds.
    pub drivers: BTreeSet<Text>,
    /// Those of these of whose volumes something else is told. A Lease tells nothing of volumes, of
    /// which a driver may have very many.
    pub volumes_of: BTreeSet<Text>,
    /// The facts of every driver may differ, except for what volumes tell.
    pub all_drivers: bool,
}

impl Dirty {
    /// All subjects must be judged.
    pub fn everything() -> Self {
        Self { everything: true, ..Self::default() }
    }

    /// Whether a fact has to be derived again: because of what changed, or because its time came.
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

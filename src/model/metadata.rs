//! What every object carries, as far as storage is concerned.

use super::{Text, Time, Uid};

/// Labels, sorted by key; equal sets are small and rarely long, so they are compared by value.
pub type Labels = Box<[(Text, Text)]>;

/// The part of `ObjectMeta` that judgements rest on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.uid`; absent only in dumps made by hand.
    pub uid: Option<Uid>,
    /// `metadata.resourceVersion`, opaque.
    pub resource_version: Box<str>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Time>,
    /// `metadata.deletionTimestamp`: set means that the object is terminating.
    pub deleting: Option<Time>,
    /// `metadata.finalizers`, in their order.
    pub finalizers: Box<[Text]>,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `metadata.ownerReferences`.
    pub owners: Box<[OwnerReference]>,
    /// Who last changed which of the few fields that matter, from `metadata.managedFields`.
    pub managers: Box<[FieldOwner]>,
    /// `storage.kubectl.dev/ignore`: finding ids and a reason.
    pub ignore: Option<Box<str>>,
    /// `storage.kubectl.dev/keep-until`, as written; it need not be a date.
    pub keep_until: Option<Box<str>>,
}

impl Metadata {
    /// Whether the finalizer is present.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|known| &**known == finalizer)
    }

    /// Returns the latest time at which any manager changed the field.
    ///
    /// An entry's time moves when the manager changes any field that it owns, so an owner of the
    /// field cannot have changed it later (apimachinery `meta/v1/types.go`, `ManagedFieldsEntry`).
    pub fn last_change(&self, field: &ManagedField) -> Option<Time> {
        self.managers
            .iter()
            .filter(|owner| owner.field == *field)
            .filter_map(|owner| owner.time)
            .max()
    }

    /// Returns the managers that own the field.
    pub fn managers_of<'a>(
        &'a self,
        field: &'a ManagedField,
    ) -> impl Iterator<Item = &'a FieldOwner> {
        self.managers.iter().filter(move |owner| owner.field == *field)
    }

    /// Returns a label's value.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| &**known == key).map(|(_, value)| &**value)
    }
}

/// One entry of `metadata.ownerReferences`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerReference {
    /// `apiVersion` of the owner.
    pub api_version: Text,
    /// `kind` of the owner, any kind at all.
    pub kind: Text,
    /// Name of the owner, in the same namespace or cluster-wide.
    pub name: Box<str>,
    /// Uid of the owner.
    pub uid: Option<Uid>,
    /// Whether it is the managing controller.
    pub controller: bool,
    /// `blockOwnerDeletion`.
    pub blocks_deletion: bool,
}

/// Which manager last touched a field, and when it last changed anything it owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldOwner {
    /// The field.
    pub field: ManagedField,
    /// The manager's name.
    pub manager: Text,
    /// The entry's time; servers always send it, dumps may lack it.
    pub time: Option<Time>,
}

/// The fields whose managers matter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ManagedField {
    /// `status.phase`.
    Phase,
    /// `status.lastPhaseTransitionTime`.
    LastPhaseTransitionTime,
    /// `spec.persistentVolumeReclaimPolicy`.
    ReclaimPolicy,
    /// One entry of `metadata.finalizers`.
    Finalizer(Text),
    /// `metadata.ownerReferences`.
    OwnerReferences,
    /// `spec.persistentVolumeClaimRetentionPolicy`.
    RetentionPolicy,
}

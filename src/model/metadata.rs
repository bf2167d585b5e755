//! Metadata of objects: owners, finalizers, labels, and a digest of managedFields.

use std::sync::Arc;

use super::{Text, Time, Uid};

/// Labels, sorted by key. Objects with equal ones share them.
pub type Labels = Arc<[(Text, Text)]>;

/// The part of `ObjectMeta` that judgements rest on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.uid`; absent only in handwritten dumps.
    pub uid: Option<Uid>,
    /// `metadata.resourceVersion`, opaque.
    pub resource_version: Box<str>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Time>,
    /// `metadata.deletionTimestamp`: set means that the object is terminating.
    pub deleting: Option<Time>,
    /// `metadata.finalizers`, in their order. Objects with equal ones share them.
    pub finalizers: Arc<[Text]>,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `metadata.ownerReferences`.
    pub owners: Box<[OwnerReference]>,
    /// The managers of the few fields that rules read, from `metadata.managedFields`.
    pub managers: FieldManagers,
    /// Annotations that few objects have.
    pub rare_annotations: Option<Box<RareAnnotations>>,
}

/// The annotation that shows people that a volume is announced. The record decides, not this.
pub const ANNOUNCED: &str = "storage.kubectl.dev/announced";

/// Annotations that few objects have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RareAnnotations {
    /// `storage.kubectl.dev/ignore`: finding ids and a reason.
    pub ignore: Option<Box<str>>,
    /// `storage.kubectl.dev/keep-until`, as written; it need not be a date.
    pub keep_until: Option<Box<str>>,
    /// [`ANNOUNCED`], as written: every client that may patch the object can write it.
    pub announced: Option<Box<str>>,
    /// Whether Argo CD applies the object: it has `argocd.argoproj.io/tracking-id`.
    pub tracked_by_argo_cd: bool,
    /// Whether a downscaler sets the object's number of replicas by a schedule, or has set it: an annotation
    /// `downscaler/…`.
    pub scheduled_by_downscaler: bool,
}

impl Metadata {
    /// Whether the finalizer is present.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|known| &**known == finalizer)
    }

    /// Returns a time about the object, but none before its creation: a copy or a restored object
    /// keeps the times of its original. No age exceeds that of its object.
    pub fn since_creation(&self, time: Time) -> Time {
        self.created.map_or(time, |created| created.max(time))
    }

    /// Returns the latest time at which any manager changed the field.
    ///
    /// An entry's time moves when the manager changes any field that it owns, so an owner of the
    /// field cannot have changed it later (apimachinery `meta/v1/types.go`, `ManagedFieldsEntry`).
    pub fn last_change(&self, field: &ManagedField) -> Option<Time> {
        self.managers.last_change(field).map(|time| self.since_creation(time))
    }

    /// Returns the managers that own the field.
    pub fn managers_of<'a>(&'a self, field: &'a ManagedField) -> impl Iterator<Item = Managed<'a>> {
        self.managers.iter().filter(move |owner| owner.field == field)
    }

    /// Returns `storage.kubectl.dev/ignore`: finding ids and a reason.
    pub fn ignore(&self) -> Option<&str> {
        self.rare_annotations.as_ref()?.ignore.as_deref()
    }

    /// Returns `storage.kubectl.dev/keep-until`, as written; it need not be a date.
    pub fn keep_until(&self) -> Option<&str> {
        self.rare_annotations.as_ref()?.keep_until.as_deref()
    }

    /// Returns [`ANNOUNCED`], as written: every client that may patch the object can write it.
    pub fn announced(&self) -> Option<&str> {
        self.rare_annotations.as_ref()?.announced.as_deref()
    }

    /// Whether Argo CD applies the object, by its annotation.
    pub fn is_tracked_by_argo_cd(&self) -> bool {
        self.rare_annotations.as_ref().is_some_and(|it| it.tracked_by_argo_cd)
    }

    /// Whether a downscaler sets the object's number of replicas, by its annotations.
    pub fn is_scheduled_by_downscaler(&self) -> bool {
        self.rare_annotations.as_ref().is_some_and(|it| it.scheduled_by_downscaler)
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
    /// Whether the owner is the managing controller.
    pub controller: bool,
    /// `blockOwnerDeletion`.
    pub blocks_deletion: bool,
}

/// A manager of a field, and the time at which it last changed any field that it owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldOwner {
    /// The field.
    pub field: ManagedField,
    /// The manager's name.
    pub manager: Text,
    /// The entry's time; servers always send it, dumps may lack it.
    pub time: Option<Time>,
}

/// The managers of the fields that rules read, sixteen bytes each: in most objects only the times
/// differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldManagers(Box<[(Arc<FieldManager>, EntryTime)]>);

/// A field, and the name of one of its managers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldManager {
    /// The field.
    pub field: ManagedField,
    /// The manager's name.
    pub manager: Text,
}

/// Time of an entry in microseconds since 1970; Kubernetes stamps managers in whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EntryTime(i64);

/// A [`FieldOwner`] that borrows from the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Managed<'a> {
    /// The field.
    pub field: &'a ManagedField,
    /// The manager's name.
    pub manager: &'a str,
    /// The entry's time.
    pub time: Option<Time>,
}

impl FieldManagers {
    fn last_change(&self, field: &ManagedField) -> Option<Time> {
        let times = self.0.iter().filter(|(owner, _)| owner.field == *field);
        // Called for every volume: compares numbers, and converts only the largest into a time.
        times.map(|(_, time)| *time).max().and_then(EntryTime::time)
    }

    /// Returns all managers, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Managed<'_>> {
        self.0.iter().map(|(owner, time)| Managed {
            field: &owner.field,
            manager: &owner.manager,
            time: time.time(),
        })
    }
}

impl EntryTime {
    const NONE: Self = Self(i64::MIN);

    fn of(time: Option<Time>) -> Self {
        time.map_or(Self::NONE, |time| Self(time.timestamp_micros()))
    }

    fn time(self) -> Option<Time> {
        if self == Self::NONE { None } else { Time::from_timestamp_micros(self.0) }
    }
}

impl FromIterator<(Arc<FieldManager>, Option<Time>)> for FieldManagers {
    fn from_iter<I: IntoIterator<Item = (Arc<FieldManager>, Option<Time>)>>(owners: I) -> Self {
        let owners = owners.into_iter();
        Self(owners.map(|(owner, time)| (owner, EntryTime::of(time))).collect())
    }
}

impl FromIterator<FieldOwner> for FieldManagers {
    fn from_iter<I: IntoIterator<Item = FieldOwner>>(owners: I) -> Self {
        let one =
            |FieldOwner { field, manager, time }| (Arc::new(FieldManager { field, manager }), time);
        owners.into_iter().map(one).collect()
    }
}

impl<const N: usize> From<[FieldOwner; N]> for FieldManagers {
    fn from(owners: [FieldOwner; N]) -> Self {
        owners.into_iter().collect()
    }
}

/// Field whose managers are kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ManagedField {
    /// `status.phase`.
    Phase,
    /// `status.lastPhaseTransitionTime`.
    LastPhaseTransitionTime,
    /// `spec.persistentVolumeReclaimPolicy`.
    ReclaimPolicy,
    /// `spec.claimRef`, or any part of it.
    ClaimRef,
    /// `spec.claimRef.uid`.
    ClaimUid,
    /// One entry of `metadata.finalizers`.
    Finalizer(Text),
    /// `metadata.ownerReferences`.
    OwnerReferences,
    /// `spec.persistentVolumeClaimRetentionPolicy`.
    RetentionPolicy,
    /// `spec.replicas`.
    Replicas,
    /// `spec.ordinals`.
    Ordinals,
    /// `status.observedGeneration`.
    ObservedGeneration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managers_come_back_as_they_were_given() {
        let time = Time::from_timestamp(1_700_000_000, 0);
        let owner = |field, time| FieldOwner { field, manager: "m".into(), time };
        let managers: FieldManagers =
            [owner(ManagedField::Phase, time), owner(ManagedField::ReclaimPolicy, None)].into();
        let found: Vec<_> = managers.iter().collect();
        let expected = |field, time| Managed { field, manager: "m", time };
        assert_eq!(
            found,
            [expected(&ManagedField::Phase, time), expected(&ManagedField::ReclaimPolicy, None)]
        );
        assert!(time.is_some(), "or this would prove nothing");
    }

    #[test]
    fn the_latest_change_counts() {
        let time = |seconds| Time::from_timestamp(seconds, 0);
        let owner = |field, time| FieldOwner { field, manager: "m".into(), time };
        let (phase, policy) = (ManagedField::Phase, ManagedField::ReclaimPolicy);
        let managers = [
            owner(phase.clone(), time(-5)),
            owner(phase.clone(), None),
            owner(phase.clone(), time(-3)),
            owner(policy.clone(), time(9)),
            owner(ManagedField::OwnerReferences, None),
        ];
        let metadata = Metadata { managers: managers.into(), ..Metadata::default() };
        assert_eq!(metadata.last_change(&phase), time(-3));
        assert_eq!(metadata.last_change(&policy), time(9));
        assert_eq!(metadata.last_change(&ManagedField::OwnerReferences), None);
        assert_eq!(metadata.last_change(&ManagedField::RetentionPolicy), None);
        // A copy has the times of its original.
        let copy = Metadata { created: time(5), ..metadata };
        assert_eq!(copy.last_change(&phase), time(5));
        assert_eq!(copy.last_change(&policy), time(9));
        assert_eq!(copy.last_change(&ManagedField::OwnerReferences), None);
    }
}

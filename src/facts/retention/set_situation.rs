//! The input and output of a simulation: a `StatefulSet` with its pods and claims, an operation,
//! and the predicted outcome of each claim.

use std::{collections::BTreeMap, fmt};

use crate::facts::DataEffect;
use crate::model::{OwnerReference, RetentionPolicy, Text, Uid};

use super::{Ordinals, ReferenceForm};

/// Situation of a `StatefulSet`: the set, its pods and its claims.
///
/// Built by [`SetSituation::of`] from a cluster, and by tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetSituation {
    /// The set.
    pub set: SetState,
    /// The pods called `<set>-<ordinal>`, whichever controller created them.
    pub pods: BTreeMap<i32, SetPodState>,
    /// The claims that certainly belong to the set.
    pub claims: Vec<SetClaimState>,
}

/// State of a `StatefulSet`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetState {
    /// The name of the set.
    pub name: Box<str>,
    /// The uid of the set.
    pub uid: Option<Uid>,
    /// `spec.replicas`; absent means one.
    pub replicas: Option<i32>,
    /// `spec.ordinals.start`.
    pub start: i32,
    /// `spec.persistentVolumeClaimRetentionPolicy`; absent retains.
    pub policy: Option<RetentionPolicy>,
    /// The propagation of the set's deletion, if that was requested.
    pub deleting: Option<Propagation>,
    /// Whether `spec.podManagementPolicy` is `OrderedReady`, if that is known.
    pub ordered: Option<bool>,
    /// The form of the references that the server's controller writes.
    pub form: ReferenceForm,
}

impl SetState {
    /// Returns the ordinals within the range of the set.
    pub fn ordinals(&self) -> Ordinals {
        Ordinals::new(self.start, self.replicas)
    }
}

/// State of a pod called `<set>-<ordinal>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetPodState {
    /// The uid of the pod.
    pub uid: Option<Uid>,
    /// Whether the pod belongs to the set: controlled by it, or free for adoption by it.
    pub member: bool,
    /// Whether the pod is Terminating.
    pub terminating: bool,
    /// Whether the phase of the pod is `Succeeded` or `Failed`.
    pub finished: bool,
    /// Whether the pod is ready, or becomes so.
    pub readiness: Readiness,
}

/// Whether a pod is ready. A set with `OrderedReady` waits for each pod, and updates no owners of
/// the claims behind one that is not ready (R-1847-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// The pod is running and ready.
    Ready,
    /// The pod is not ready, and may become so.
    NotReady,
    /// The pod is known never to become ready.
    Never,
}

/// State of a claim of the set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetClaimState {
    /// The name of the claim's template.
    pub template: Text,
    /// The ordinal of the claim.
    pub ordinal: i32,
    /// Whether another set creates claims of the same name, so that its controller may write owner
    /// references too.
    pub contested: bool,
    /// The owner references of the claim, in their order.
    pub owners: Vec<OwnerState>,
    /// Whether the claim is Terminating already.
    pub deleting: bool,
    /// The finalizers of the claim.
    pub finalizers: Vec<Text>,
    /// The pods that use the claim besides the set's pod of its ordinal.
    pub other_users: Vec<Box<str>>,
    /// The effect of the claim's deletion on its volume.
    pub volume: VolumeEffect,
}

/// State of the owner in one owner reference, of a claim or of another owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerState {
    /// The reference.
    pub reference: OwnerReference,
    /// Whether the owner exists. Read only for owners other than the set and the pods of [`SetSituation::pods`], which
    /// are known.
    pub presence: Presence,
    /// The owners of the owner: without any of them the garbage collector deletes it too.
    pub owners: Vec<Self>,
    /// The reason for which it is unknown whether the owner remains: its presence is unknown, or its owners are.
    pub doubt: Option<OwnerDoubt>,
}

impl OwnerState {
    /// Returns the state of an owner with this presence and without owners.
    pub const fn new(reference: OwnerReference, presence: Presence) -> Self {
        Self { reference, presence, owners: Vec::new(), doubt: None }
    }

    /// Whether it is unknown if this owner, or an owner of it, exists.
    pub fn is_uncertain(&self) -> bool {
        self.presence == Presence::Unknown
            || self.doubt.is_some()
            || self.owners.iter().any(Self::is_uncertain)
    }
}

/// The reason for which it is unknown whether an owner remains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerDoubt {
    /// The owner is Terminating: when it is deleted depends on its finalizers.
    Terminating,
    /// The user may not read the owner.
    Forbidden,
    /// The owner's kind is not served in the version of the reference.
    NotServed,
    /// The owner was not read: the server did not answer, or there is only a dump.
    NotRead,
    /// The owner has more owners of owners than are followed.
    TooMany,
}

impl OwnerDoubt {
    /// Describes the doubt about an owner of this name.
    pub fn describe(self, owner: &OwnerReference) -> String {
        let name = format!("{} {}", owner.kind, owner.name);
        match self {
            Self::Terminating => format!("its owner {name} is Terminating"),
            Self::Forbidden => format!("its owner {name} may not be read"),
            Self::NotServed => format!("the kind of its owner {name} is not served"),
            Self::NotRead => format!("its owner {name} was not read"),
            Self::TooMany => format!("its owner {name} has too many owners to follow"),
        }
    }
}

/// Whether an owner exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The owner exists, with the uid of the reference.
    Present,
    /// The owner does not exist, or only with another uid.
    Absent,
    /// Its existence is unknown.
    Unknown,
}

/// The effect on a volume when its claim is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeEffect {
    /// The claim has no volume.
    None,
    /// The data is destroyed, by the policy `Delete`.
    Destroyed,
    /// The backend volume remains, and the volume stays Released: by the policy `Retain`, or because it cannot be
    /// deleted.
    Released,
    /// The data remains, and no volume references it any more: so the driver does with the policy `Delete`.
    Forgotten,
    /// The policy is `Recycle`: the data is scrubbed, and any claim can bind the volume.
    Scrubbed,
    /// The volume was not read, or what happens to it is unknown.
    Unknown,
}

impl VolumeEffect {
    /// Returns the effect on the volume that follows from an effect on the data.
    pub const fn of(effect: DataEffect) -> Self {
        match effect {
            DataEffect::Destroyed | DataEffect::Waiting => Self::Destroyed,
            DataEffect::Released | DataEffect::Failed | DataEffect::Unaffected => Self::Released,
            DataEffect::Forgotten | DataEffect::Leaked => Self::Forgotten,
            DataEffect::Scrubbed => Self::Scrubbed,
            DataEffect::Unknown => Self::Unknown,
        }
    }

    /// Describes the effect, in words that follow "if the claim is deleted".
    pub const fn describe(self) -> &'static str {
        match self {
            Self::None => "it has no volume",
            Self::Destroyed => "policy Delete of its volume destroys the data",
            Self::Released => "its volume and the data remain; the volume becomes Released",
            Self::Forgotten => "the data remains, and no PersistentVolume references it any more",
            Self::Scrubbed => "policy Recycle of its volume scrubs the data",
            Self::Unknown => "the effect on its volume is unknown",
        }
    }
}

/// The propagation policy of the deletion of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// The set is deleted first, its dependents later by the garbage collector. The default of
    /// `kubectl delete`.
    Background,
    /// The set is deleted after all dependents that block its deletion.
    Foreground,
    /// `--cascade=orphan`: its dependents are not deleted.
    Orphan,
}

/// An operation of the user on a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Nothing is done: only what the controllers do anyway happens.
    Wait,
    /// The set is deleted.
    DeleteSet(Propagation),
    /// `spec.replicas` is changed.
    Scale(i32),
    /// `spec.persistentVolumeClaimRetentionPolicy` is changed.
    SetPolicy(RetentionPolicy),
    /// Several fields are changed by one request.
    Change(SetChange),
    /// The pod of this ordinal is deleted.
    DeletePod(i32),
}

/// A change of a set by one request; what is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetChange {
    /// `spec.replicas`.
    pub replicas: Option<i32>,
    /// `spec.ordinals.start`.
    pub start: Option<i32>,
    /// `spec.persistentVolumeClaimRetentionPolicy`.
    pub policy: Option<RetentionPolicy>,
}

/// Predicted outcome of an operation for one claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    /// The claim's name.
    pub claim: Box<str>,
    /// The name of its template.
    pub template: Text,
    /// The ordinal of the claim.
    pub ordinal: i32,
    /// The predicted outcome.
    pub outcome: ClaimOutcome,
    /// Whether the claim is deleted in any way that what is unknown leaves open.
    pub may_be_deleted: bool,
    /// The reason.
    pub reason: OutcomeReason,
    /// The effect that the claim's deletion has on the volume, also if it is not deleted.
    pub volume: VolumeEffect,
    /// The obstacles to the deletion of the claim: third-party finalizers, and other pods that use it.
    pub held_by: Vec<String>,
}

/// The outcome of an operation for a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The claim is kept, and its owners do not change.
    Kept,
    /// The claim is kept, with these owners.
    Reowned(Vec<OwnerReference>),
    /// The claim is deleted.
    Deleted {
        /// The cause of its deletion.
        by: DeletionCause,
        /// The order of deletions: claims with a smaller number first, those with the same number
        /// together.
        order: u32,
        /// Whether the controller then creates an empty claim of the same name.
        recreated: bool,
    },
    /// The outcome depends on something unknown, or on which controller is faster.
    Unknown(String),
}

/// The cause of the deletion of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletionCause {
    /// The set was deleted.
    Set,
    /// The pod was deleted.
    Pod,
    /// The owners did not exist already before the operation.
    Dangling,
    /// The deletion of the claim itself was requested before.
    Somebody,
}

impl DeletionCause {
    /// Describes the cause, in words that begin a sentence.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Set => "the garbage collector deletes it with its set",
            Self::Pod => "the garbage collector deletes it with its pod",
            Self::Dangling => "the garbage collector deletes it, since its owners do not exist",
            Self::Somebody => "its deletion was requested before",
        }
    }
}

/// The reason for the outcome of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutcomeReason {
    /// The policy retains the claim, and the claim has no owner.
    Unowned,
    /// The claim has the owners that its policy requires.
    Matrix,
    /// The claim has no pod, so that the controller does not update its owners.
    Podless,
    /// The controller waits for a pod of the set, and does not update the claim's owners before.
    NotVisited,
    /// One of the claim's owners is not deleted.
    HeldByOwner,
    /// The controller does not update the claim: a reference is to an earlier set or pod.
    Stale,
    /// The controller does not update the claim, which has another managing controller.
    ForeignController,
    /// References to an owner that is deleted with `--cascade=orphan` are removed.
    Orphaned,
    /// None of the claim's owners exists any more.
    OwnersGone,
    /// The claim is owned by a pod that is being deleted, although its ordinal is in range again.
    ScaleFlap,
    /// The claim's deletion was requested before.
    DeletedBefore,
    /// The outcome is unknown.
    Depends,
}

impl OutcomeReason {
    /// Returns the id of the rule in docs/semantics.
    pub const fn rule(self) -> &'static str {
        match self {
            Self::Unowned | Self::Matrix => "R-1847-5",
            Self::Podless | Self::NotVisited => "R-1847-8",
            Self::Stale | Self::ForeignController => "R-1847-7",
            Self::HeldByOwner | Self::OwnersGone | Self::DeletedBefore => "R-1847-9",
            Self::Orphaned => "R-1847-10",
            Self::ScaleFlap => "R-1847-12",
            Self::Depends => "R-1847-13",
        }
    }
}

impl fmt::Display for OutcomeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unowned => "it has no owner",
            Self::Matrix => "it has the owners that the policy requires",
            Self::Podless => "it has no pod, and the StatefulSet controller updates owners only of claims with a pod",
            Self::NotVisited => "the StatefulSet controller waits for a pod of the set that is not ready, and updates no owners behind it",
            Self::HeldByOwner => "another owner of it remains",
            Self::Stale => "its owner is an earlier set or pod of that name, and the StatefulSet controller does not change such claims",
            Self::ForeignController => "another controller manages it",
            Self::Orphaned => "a deletion with --cascade=orphan removes the owner references to the set",
            Self::OwnersGone => "none of its owners exists, and the garbage collector deletes it",
            Self::ScaleFlap => "its owner is a Terminating pod, although its ordinal is in range again",
            Self::DeletedBefore => "it is Terminating already",
            Self::Depends => "it depends on which controller is faster, or on what is unknown",
        })
    }
}

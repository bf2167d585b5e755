//! Everything that decides what becomes of a set's claims, as plain values.

use std::{collections::BTreeMap, fmt};

use crate::model::{OwnerReference, ReclaimPolicy, RetentionPolicy, Text, Uid};

use super::{Ordinals, ReferenceForm};

/// A set, its pods and its claims.
///
/// Made by [`SetSituation::of`] from what was seen, and by tests by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetSituation {
    /// The set.
    pub set: SetState,
    /// The pods called `<set>-<ordinal>`, whoever made them.
    pub pods: BTreeMap<i32, SetPodState>,
    /// The claims that are surely the set's.
    pub claims: Vec<SetClaimState>,
}

/// A set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetState {
    /// Its name.
    pub name: Box<str>,
    /// Its uid.
    pub uid: Option<Uid>,
    /// `spec.replicas`; absent means one.
    pub replicas: Option<i32>,
    /// `spec.ordinals.start`.
    pub start: i32,
    /// `spec.persistentVolumeClaimRetentionPolicy`; absent retains.
    pub policy: Option<RetentionPolicy>,
    /// How it is being deleted, if it is.
    pub deleting: Option<Propagation>,
    /// Whether `spec.podManagementPolicy` is `OrderedReady`, where that is known.
    pub ordered: Option<bool>,
    /// How the server's controller writes references.
    pub form: ReferenceForm,
}

impl SetState {
    /// The ordinals it wants.
    pub fn ordinals(&self) -> Ordinals {
        Ordinals::new(self.start, self.replicas)
    }
}

/// A pod called `<set>-<ordinal>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetPodState {
    /// Its uid.
    pub uid: Option<Uid>,
    /// Whether it is the set's: controlled by it, or free for it to adopt.
    pub member: bool,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// Whether its phase is `Succeeded` or `Failed`.
    pub finished: bool,
}

/// A claim of the set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetClaimState {
    /// The name of its template.
    pub template: Text,
    /// Its ordinal.
    pub ordinal: i32,
    /// Whether another set makes claims of the same name, so that its controller may write owner
    /// references too.
    pub contested: bool,
    /// Its owner references, in their order.
    pub owners: Vec<OwnerState>,
    /// Whether it is being deleted already.
    pub deleting: bool,
    /// Its finalizers.
    pub finalizers: Vec<Text>,
    /// The pods that use it besides the set's pod of its ordinal.
    pub other_users: Vec<Box<str>>,
    /// What becomes of its volume.
    pub volume: VolumeEffect,
}

/// One owner reference of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerState {
    /// The reference.
    pub reference: OwnerReference,
    /// Whether its owner exists; looked at only where that is neither the set nor a pod of
    /// [`SetSituation::pods`], since these are known.
    pub presence: Presence,
}

/// Whether an owner exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It does, with this uid.
    Present,
    /// It does not, or another one has its name.
    Absent,
    /// Nobody knows.
    Unknown,
}

/// What becomes of the volume when its claim is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeEffect {
    /// The claim has none.
    None,
    /// Its policy is `Delete`: the data goes with the claim.
    Destroyed,
    /// Its policy is `Retain`: it is Released, with the data, until somebody decides.
    Released,
    /// Its policy is `Recycle`: the data is scrubbed, and the volume offered to all.
    Scrubbed,
    /// It was not read, or its policy is not known.
    Unknown,
}

impl VolumeEffect {
    /// What a reclaim policy means for the data.
    pub fn by(policy: &ReclaimPolicy) -> Self {
        match policy {
            ReclaimPolicy::Delete => Self::Destroyed,
            ReclaimPolicy::Retain => Self::Released,
            ReclaimPolicy::Recycle => Self::Scrubbed,
            ReclaimPolicy::Other(_) => Self::Unknown,
        }
    }

    /// In words, after "if the claim is deleted".
    pub const fn describe(self) -> &'static str {
        match self {
            Self::None => "it has no volume",
            Self::Destroyed => "the volume's policy is Delete, and the data is destroyed",
            Self::Released => {
                "the volume's policy is Retain, and it is left Released with its data"
            }
            Self::Scrubbed => "the volume's policy is Recycle, and the data is scrubbed",
            Self::Unknown => "what becomes of the volume is not known",
        }
    }
}

/// How a set is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// The set goes first; the garbage collector follows. What `kubectl delete` does.
    Background,
    /// The set goes when all that it owns and that blocks it has gone.
    Foreground,
    /// `--cascade=orphan`: nothing that it owns is deleted.
    Orphan,
}

/// What somebody does to a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Nothing: what is going on already.
    Wait,
    /// The set is deleted.
    DeleteSet(Propagation),
    /// `spec.replicas` is changed.
    Scale(i32),
    /// `spec.persistentVolumeClaimRetentionPolicy` is changed.
    SetPolicy(RetentionPolicy),
    /// One of the set's pods is deleted, by its ordinal.
    DeletePod(i32),
}

/// What Kubernetes will do to one claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    /// The claim's name.
    pub claim: Box<str>,
    /// The name of its template.
    pub template: Text,
    /// Its ordinal.
    pub ordinal: i32,
    /// What becomes of it.
    pub outcome: ClaimOutcome,
    /// Why.
    pub reason: OutcomeReason,
    /// What its deletion means for the data, whether it is deleted or not.
    pub volume: VolumeEffect,
    /// What would hold a deleted claim in `Terminating`: finalizers of others, and other pods that
    /// use it.
    pub held_by: Vec<String>,
}

/// What becomes of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// It stays, and its owners too.
    Kept,
    /// It stays, and these are its owners then.
    Reowned(Vec<OwnerReference>),
    /// It is deleted.
    Deleted {
        /// Which owner's absence takes it away.
        by: DeletionCause,
        /// Which go first: those of a smaller number; those of the same go together.
        order: u32,
        /// Whether the controller then makes an empty one of the same name.
        recreated: bool,
    },
    /// It depends on something that is not known, or on who is faster.
    Unknown(String),
}

/// Whose absence takes a claim away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletionCause {
    /// The set is gone.
    Set,
    /// The pod is gone.
    Pod,
    /// The owners were gone already.
    Dangling,
    /// Somebody deleted the claim itself.
    Somebody,
}

/// Why something becomes of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeReason {
    /// The policy retains it, and nothing owns it.
    Unowned,
    /// It is owned as its policy says.
    Matrix,
    /// It has no pod, so that nobody adapts its owners.
    Podless,
    /// An owner that stays holds it.
    HeldByOwner,
    /// The controller keeps its hands off: a reference names an earlier set or pod.
    Stale,
    /// The controller keeps its hands off: somebody else manages it.
    ForeignController,
    /// References to an orphaning owner are taken off.
    Orphaned,
    /// All its owners are gone.
    OwnersGone,
    /// It belongs to a pod that is going although its ordinal is wanted again.
    ScaleFlap,
    /// It was deleted before.
    DeletedBefore,
    /// It depends.
    Depends,
}

impl OutcomeReason {
    /// The rule of SEMANTICS.
    pub const fn rule(self) -> &'static str {
        match self {
            Self::Unowned | Self::Matrix => "R-1847-5",
            Self::Podless => "R-1847-8",
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
            Self::Unowned => "nothing owns it",
            Self::Matrix => "it is owned as the policy says",
            Self::Podless => "it has no pod, and the controller changes owners only of claims that have one",
            Self::HeldByOwner => "an owner that stays holds it",
            Self::Stale => "it names an earlier set or pod of that name, and the controller leaves such claims alone",
            Self::ForeignController => "somebody else is its managing controller",
            Self::Orphaned => "an orphaning deletion takes the references to the set off",
            Self::OwnersGone => "all its owners are gone, and the garbage collector deletes it",
            Self::ScaleFlap => "it belongs to a pod that is going, although its ordinal is wanted again",
            Self::DeletedBefore => "it was deleted before",
            Self::Depends => "it depends on who is faster, or on what is not known",
        })
    }
}

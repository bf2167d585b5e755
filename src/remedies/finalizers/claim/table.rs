//! The decision tables for one finalizer of a Terminating claim, and for its data where the claim
//! is deleted (F33, F41, F48, R-PVCP-9, R-PVCP-10).

use super::super::decision::{Consent, ControllerLiveness, FinalizerDecision, NotRead};
use crate::facts::{self, CLONE_SOURCE, FinalizerOwner, PVC_PROTECTION, SNAPSHOT_SOURCE};

/// What a finalizer of a claim is for, and so which controller removes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimFinalizerKind {
    /// kube-controller-manager: scheduled pods use the claim.
    Protection,
    /// csi-provisioner: another claim is being cloned from this one.
    CloneSource,
    /// snapshot-controller: a snapshot is being taken of it.
    SnapshotSource,
    /// The garbage collector.
    GarbageCollection,
    /// A third-party finalizer, or one of Kubernetes that does not belong on a claim.
    ThirdParty,
}

impl ClaimFinalizerKind {
    /// Returns the kind of a finalizer.
    pub(super) fn of(finalizer: &str) -> Self {
        match facts::owner_of(finalizer) {
            FinalizerOwner::ControllerManager if finalizer == PVC_PROTECTION => Self::Protection,
            FinalizerOwner::Cloning if finalizer == CLONE_SOURCE => Self::CloneSource,
            FinalizerOwner::Snapshotter if finalizer == SNAPSHOT_SOURCE => Self::SnapshotSource,
            FinalizerOwner::GarbageCollector => Self::GarbageCollection,
            FinalizerOwner::ControllerManager
            | FinalizerOwner::Cloning
            | FinalizerOwner::Snapshotter
            | FinalizerOwner::Provisioner
            | FinalizerOwner::Attacher(_)
            | FinalizerOwner::Unknown => Self::ThirdParty,
        }
    }

    /// Whether it blocks the deletion of an unused claim for good: the other kinds are removed by
    /// their controllers, as soon as these run.
    pub(super) const fn blocks_unused(self) -> bool {
        match self {
            Self::ThirdParty => true,
            Self::Protection
            | Self::CloneSource
            | Self::SnapshotSource
            | Self::GarbageCollection => false,
        }
    }
}

/// The inputs of the table for one finalizer of one claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClaimInputs {
    pub(super) kind: ClaimFinalizerKind,
    /// Whether anything uses the claim, running or not.
    pub(super) used: bool,
    pub(super) controller: ControllerLiveness,
    pub(super) consent: Consent,
    /// Whether the user named the claim, instead of a filter.
    pub(super) named: bool,
    /// Whether the claim has been Terminating for as long as the threshold requires.
    pub(super) waited: bool,
}

/// The one step of the table: the finalizer is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Remove;

/// Why a finalizer of a claim is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimReason {
    InUse,
    TooSoon,
    ControllerAlive,
    ControllerUnknown,
    ControllerNameless,
    OfGarbageCollector,
    NeedsFinalizerName,
    NeedsObjectName,
}

/// A decision, or what was not read of its inputs.
pub(super) type ClaimDecision = Result<FinalizerDecision<Remove, ClaimReason>, NotRead>;

/// Decides about one finalizer of a claim.
pub(super) const fn decide(inputs: ClaimInputs) -> ClaimDecision {
    use ClaimFinalizerKind::{
        CloneSource, GarbageCollection, Protection, SnapshotSource, ThirdParty,
    };
    use Consent::{Given, Missing};
    use ControllerLiveness::{Absent, Alive, Nameless, Unknown, Unread, Working};
    use FinalizerDecision::{Do, Leave};
    let ClaimInputs { kind, used, controller, consent, named, waited } = inputs;
    Ok(match (used, kind) {
        (true, _) => Leave(ClaimReason::InUse),
        (false, Protection | CloneSource | SnapshotSource) => match (controller, waited) {
            (Alive | Working, _) => Leave(ClaimReason::ControllerAlive),
            (Unknown, _) => Leave(ClaimReason::ControllerUnknown),
            (Nameless, _) => Leave(ClaimReason::ControllerNameless),
            (Unread, _) => return Err(NotRead::Controller),
            (Absent, false) => Leave(ClaimReason::TooSoon),
            (Absent, true) => Do(Remove),
        },
        (false, GarbageCollection) => match controller {
            Unread => return Err(NotRead::Controller),
            Alive | Working | Absent | Unknown | Nameless => Leave(ClaimReason::OfGarbageCollector),
        },
        (false, ThirdParty) => match (consent, named, waited) {
            (Missing, _, _) => Leave(ClaimReason::NeedsFinalizerName),
            (Given, false, _) => Leave(ClaimReason::NeedsObjectName),
            (Given, true, false) => Leave(ClaimReason::TooSoon),
            (Given, true, true) => Do(Remove),
        },
    })
}

/// What the deletion of a claim does to its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataLoss {
    /// Nothing: it has no volume of its own, or the policy keeps the backend volume.
    Nothing,
    /// The policy is Delete or Recycle, and the volume is Bound.
    LostFromBound,
    /// As above, and the volume is Terminating.
    LostFromTerminating,
    /// As above, and the volume is in another phase, in which a controller may already act on its
    /// policy.
    LostFromOther,
    /// The volume object is Terminating and is deleted with the claim; its backend volume leaks.
    Leaked,
}

/// What the user chose for the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataChoice {
    Unsaid,
    Keep,
    Destroy,
}

/// The decision about the data of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataDecision {
    /// Nothing is done: the claim is not deleted, or nothing is lost.
    LeftAlone,
    /// The policy is set to Retain before the claim is deleted.
    Kept,
    /// It is destroyed, as the user chose.
    Destroyed,
    Refused(DataRefusal),
}

impl DataDecision {
    /// Returns the flag on which it relies.
    pub(super) const fn relies_on(self) -> Option<&'static str> {
        match self {
            Self::Kept => Some("--keep-data"),
            Self::Destroyed => Some("--destroy-data"),
            Self::LeftAlone | Self::Refused(_) => None,
        }
    }
}

/// Why the deletion of a claim is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataRefusal {
    NeedsChoice,
    VolumeTerminating,
    VolumeIsNotBound,
    WouldLeak,
}

/// Decides about the data of a claim. `is_deleted`: the claim is deleted with the finalizers.
pub(super) const fn decide_data(
    is_deleted: bool,
    loss: DataLoss,
    choice: DataChoice,
) -> DataDecision {
    match (is_deleted, loss, choice) {
        (false, _, _) | (true, DataLoss::Nothing, _) => DataDecision::LeftAlone,
        (true, DataLoss::Leaked, _) => DataDecision::Refused(DataRefusal::WouldLeak),
        (
            true,
            DataLoss::LostFromBound | DataLoss::LostFromTerminating | DataLoss::LostFromOther,
            DataChoice::Unsaid,
        ) => DataDecision::Refused(DataRefusal::NeedsChoice),
        (
            true,
            DataLoss::LostFromBound | DataLoss::LostFromTerminating | DataLoss::LostFromOther,
            DataChoice::Destroy,
        ) => DataDecision::Destroyed,
        (true, DataLoss::LostFromBound, DataChoice::Keep) => DataDecision::Kept,
        (true, DataLoss::LostFromTerminating, DataChoice::Keep) => {
            DataDecision::Refused(DataRefusal::VolumeTerminating)
        }
        (true, DataLoss::LostFromOther, DataChoice::Keep) => {
            DataDecision::Refused(DataRefusal::VolumeIsNotBound)
        }
    }
}

#[cfg(test)]
mod tests;

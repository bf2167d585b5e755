//! The decision tables for one finalizer of a Terminating claim, and for its data where the claim
//! is deleted (F33, F41, F48, R-PVCP-9, R-PVCP-10).

use super::super::{
    Consent, ControllerLiveness, FinalizerDecision, FinalizerRequest, NotRead, describe_third_party,
};
use crate::cluster::{Cx, Seen};
use crate::facts::{
    self, CLONE_SOURCE, FinalizerController, FinalizerOwner, PVC_PROTECTION, SNAPSHOT_SOURCE,
};
use crate::model::{Age, Claim, Text, Threshold, format_duration};

/// The purpose of a finalizer of a claim, which decides the controller that removes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimFinalizerKind {
    /// kube-controller-manager: scheduled pods use the claim.
    Protection,
    /// csi-provisioner: another claim is being cloned from this claim.
    CloneSource,
    /// snapshot-controller: a snapshot is being taken of the claim.
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

    /// Whether the finalizer blocks the deletion of an unused claim for good: the other kinds are removed by their
    /// controllers, as soon as these run.
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

/// Reason why a finalizer of a claim is left.
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

/// A decision of the table about a finalizer of a claim, or the input that was not read.
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

/// The effect of the deletion of a claim on its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataLoss {
    /// No effect: the claim has no volume of its own, or the policy keeps the backend volume.
    Nothing,
    /// The data is lost: the policy is Delete or Recycle, and the volume is Bound.
    LostFromBound,
    /// The data is lost as above, and the volume is Terminating.
    LostFromTerminating,
    /// The data is lost as above, and the volume is in another phase, in which a controller may already act on its
    /// policy.
    LostFromOther,
    /// The volume object is Terminating and is deleted with the claim; its backend volume leaks.
    Leaked,
}

/// The user's choice about the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataChoice {
    Unsaid,
    Keep,
    Destroy,
}

/// The decision about the data of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataDecision {
    /// The data is left alone: the claim is not deleted, or nothing is lost.
    LeftAlone,
    /// The policy is set to Retain before the claim is deleted.
    Kept,
    /// The data is destroyed, as the user chose.
    Destroyed,
    Refused(DataRefusal),
}

impl DataDecision {
    /// Returns the flag on which the decision relies.
    pub(super) const fn relies_on(self) -> Option<&'static str> {
        match self {
            Self::Kept => Some("--keep-data"),
            Self::Destroyed => Some("--destroy-data"),
            Self::LeftAlone | Self::Refused(_) => None,
        }
    }
}

/// Reason why the deletion of a claim is refused.
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

/// The order in which finalizers are removed: kubernetes.io/pvc-protection is the last.
const ORDER: [ClaimFinalizerKind; 5] = [
    ClaimFinalizerKind::CloneSource,
    ClaimFinalizerKind::SnapshotSource,
    ClaimFinalizerKind::GarbageCollection,
    ClaimFinalizerKind::ThirdParty,
    ClaimFinalizerKind::Protection,
];

/// One finalizer of a Terminating claim.
#[derive(Debug)]
pub(super) struct ClaimFinalizer<'a> {
    pub(super) finalizer: Text,
    pub(super) kind: ClaimFinalizerKind,
    claim: &'a Claim,
    /// The controller that should remove the finalizer; `None` where it is unknown.
    controller: Option<FinalizerController>,
}

impl<'a> ClaimFinalizer<'a> {
    /// Returns all finalizers of a claim, in the order in which they are removed.
    pub(super) fn all(cx: &Cx, claim: &'a Claim) -> Vec<Self> {
        let mut all: Vec<_> = claim
            .metadata
            .finalizers
            .iter()
            .map(|finalizer| {
                let kind = ClaimFinalizerKind::of(finalizer);
                let controller = match kind {
                    ClaimFinalizerKind::Protection | ClaimFinalizerKind::GarbageCollection => {
                        Some(FinalizerController::controller_manager(cx))
                    }
                    ClaimFinalizerKind::CloneSource => facts::copier_of(cx, claim)
                        .map(|driver| FinalizerController::provisioner(cx, &driver)),
                    ClaimFinalizerKind::SnapshotSource => {
                        Some(FinalizerController::snapshot_controller(cx))
                    }
                    ClaimFinalizerKind::ThirdParty => None,
                };
                Self { finalizer: Text::clone(finalizer), kind, claim, controller }
            })
            .collect();
        let place = |it: &Self| ORDER.iter().position(|kind| *kind == it.kind);
        // The order of the finalizers on the object does not change the plan.
        all.sort_by(|a, b| (place(a), &a.finalizer).cmp(&(place(b), &b.finalizer)));
        all
    }

    /// Decides about the finalizer.
    ///
    /// # Errors
    /// When an object was not read on which the state of its controller rests.
    pub(super) fn decide(
        &self,
        cx: &Cx,
        request: &FinalizerRequest,
        used: bool,
    ) -> Seen<FinalizerDecision<Remove, ClaimReason>> {
        let controller = self.controller.as_ref();
        let decided = decide(ClaimInputs {
            kind: self.kind,
            used,
            controller: controller.map_or(ControllerLiveness::Nameless, ControllerLiveness::of),
            consent: Consent::new(cx.settings().remove_finalizer.as_ref() == Some(&self.finalizer)),
            named: request.named,
            waited: cx.older_than(&Age::stamped(self.claim.metadata.deleting), self.threshold()),
        });
        decided.or_else(|_| {
            controller.map_or(Ok(()), FinalizerController::was_seen)?;
            Ok(FinalizerDecision::Leave(ClaimReason::ControllerUnknown))
        })
    }

    const fn threshold(&self) -> Threshold {
        match self.kind {
            ClaimFinalizerKind::Protection => Threshold::Detach,
            ClaimFinalizerKind::CloneSource | ClaimFinalizerKind::SnapshotSource => {
                Threshold::Resync
            }
            ClaimFinalizerKind::GarbageCollection | ClaimFinalizerKind::ThirdParty => {
                Threshold::Stuck
            }
        }
    }

    /// Returns the danger flag without which the finalizer would be left.
    pub(super) fn relies_on(&self, cx: &Cx) -> Option<&'static str> {
        match self.kind {
            ClaimFinalizerKind::ThirdParty => Some("--remove-finalizer"),
            ClaimFinalizerKind::Protection
            | ClaimFinalizerKind::CloneSource
            | ClaimFinalizerKind::SnapshotSource
            | ClaimFinalizerKind::GarbageCollection => {
                let by_flag = self.controller.as_ref().is_some_and(|it| it.is_absent_by_word(cx));
                by_flag.then_some("--driver-absent")
            }
        }
    }

    /// Describes the controller that should remove the finalizer, its state, and the evidence.
    pub(super) fn described(&self) -> String {
        let who = match (&self.controller, self.kind) {
            (Some(controller), ClaimFinalizerKind::GarbageCollection) => {
                format!("the garbage collector removes it, and {}", controller.describe())
            }
            (Some(controller), _) => controller.describe(),
            (None, ClaimFinalizerKind::ThirdParty) => {
                describe_third_party(&self.claim.metadata, &self.finalizer)
            }
            (
                None,
                ClaimFinalizerKind::Protection
                | ClaimFinalizerKind::CloneSource
                | ClaimFinalizerKind::SnapshotSource
                | ClaimFinalizerKind::GarbageCollection,
            ) => "a csi-provisioner set it, and which driver it belongs to is unknown".to_owned(),
        };
        format!("{}: {who}", self.finalizer)
    }

    /// Explains why the finalizer is left, and what to do instead.
    pub(super) fn reason(&self, cx: &Cx, why: ClaimReason) -> String {
        let flag =
            || self.controller.as_ref().map_or_else(String::new, FinalizerController::absent_flag);
        let instead = match why {
            ClaimReason::InUse => return self.described(),
            ClaimReason::TooSoon => {
                let least = cx.settings().thresholds.get(self.threshold());
                let least = format_duration(least);
                format!("the claim has not been Terminating for {least} yet: wait")
            }
            ClaimReason::ControllerAlive => {
                "it removes its finalizer itself; if it does not, look at its log".to_owned()
            }
            ClaimReason::ControllerUnknown => {
                format!("see that it runs, or, if it is permanently removed, pass {}", flag())
            }
            ClaimReason::ControllerNameless => {
                "find out which driver creates the copy, and see that its csi-provisioner runs"
                    .to_owned()
            }
            ClaimReason::OfGarbageCollector => {
                "see which objects the claim owns: it is removed after they are deleted".to_owned()
            }
            ClaimReason::NeedsFinalizerName => {
                format!("removing it instead requires --remove-finalizer {}", self.finalizer)
            }
            ClaimReason::NeedsObjectName => {
                "--remove-finalizer requires that the claim is named".to_owned()
            }
        };
        format!("{}; {instead}", self.described())
    }
}

#[cfg(test)]
mod tests;

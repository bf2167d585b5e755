//! One finalizer of a Terminating claim: its controller, the decision about it, and the sentences
//! for it.

use super::super::decision::{Consent, ControllerLiveness, FinalizerDecision};
use super::super::{FinalizerRequest, describe_third_party};
use super::table::{ClaimFinalizerKind, ClaimInputs, ClaimReason, Remove, decide};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, FinalizerController};
use crate::model::{Age, Claim, Text, Threshold, format_duration};

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
    /// The controller that should remove it; `None` where it is unknown which one that is.
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

    /// Decides about it.
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

    /// Returns the danger flag without which it would be left.
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

    /// Describes the controller that should remove it, its state, and the evidence.
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

    /// Explains why it is left, and what to do instead.
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

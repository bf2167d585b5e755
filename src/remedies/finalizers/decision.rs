//! Vocabulary that the decision tables about finalizers of volumes, claims and attachments share.

use crate::facts::FinalizerController;
use crate::model::Liveness;

/// What is known of the controller that should remove a finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ControllerLiveness {
    /// Running. kube-controller-manager: it always honors the reclaim policy.
    Alive,
    /// It may still have to finish something before it removes the finalizer.
    Working,
    /// Proven absent. kube-controller-manager: it can be one that does not remove the finalizer.
    Absent,
    /// None of the above is known.
    Unknown,
    /// Which controller it is is unknown.
    Nameless,
    /// Unknown, because an object was not read.
    Unread,
}

impl ControllerLiveness {
    /// Returns what is known of a controller.
    pub(super) fn of(controller: &FinalizerController) -> Self {
        match (controller.liveness(), controller.was_seen()) {
            (Liveness::Alive, _) => Self::Alive,
            (Liveness::Absent, _) => Self::Absent,
            (Liveness::Unknown, Ok(())) => Self::Unknown,
            (Liveness::Unknown, Err(_)) => Self::Unread,
        }
    }
}

/// Whether `--remove-finalizer` names a third-party finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    /// It does not.
    Missing,
    /// It does.
    Given,
}

impl Consent {
    /// Returns `Given` where the flag names the finalizer.
    pub(super) const fn new(is_named_by_flag: bool) -> Self {
        if is_named_by_flag { Self::Given } else { Self::Missing }
    }
}

/// The decision of a table about a finalizer or an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FinalizerDecision<Step, Reason> {
    /// This is done.
    Do(Step),
    /// Nothing is done, for this reason.
    Leave(Reason),
}

/// What was not read although the decision rests on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotRead {
    /// The state of the controller that should remove the finalizer.
    Controller,
    /// The objects that may use the volume.
    Users,
}

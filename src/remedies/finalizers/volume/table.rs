//! The decision table for one finalizer of a volume: F23-F25, F27, F30, F31, F33 and F39.
//! It reads no cluster, and no match in it has a default arm.

use super::super::{Consent, ControllerLiveness, FinalizerDecision, NotRead};

/// The controller that sets and removes a finalizer of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VolumeFinalizerKind {
    /// csi-provisioner.
    External,
    /// The volume controller of kube-controller-manager.
    InTree,
    /// external-attacher.
    Attacher,
    /// No controller of Kubernetes.
    ThirdParty,
}

/// The reclaiming controller: the one that would delete the backend volume (R-2644-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReclaimingController {
    /// csi-provisioner; its finalizer is the deletion-protection finalizer.
    Provisioner,
    /// kube-controller-manager; the in-tree finalizer is the deletion-protection finalizer.
    ControllerManager,
    /// A controller whose state cannot be determined, or none.
    Unknown,
}

/// The reclaim policy of the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VolumePolicy {
    Retain,
    Recycle,
    Delete,
    Other,
}

/// The phase of the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VolumePhase {
    /// Pending or Available.
    Unbound,
    Bound,
    Released,
    Failed,
    Other,
}

/// Whether the volume has a deletion timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifecycle {
    Live,
    Terminating,
}

/// The other finalizers that block the deletion of the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OtherFinalizers {
    /// The deletion-protection finalizer of the reclaiming controller.
    DeletionProtection,
    /// kubernetes.io/pv-protection, without the above.
    PvProtection,
    /// Neither the deletion-protection finalizer nor kubernetes.io/pv-protection.
    Neither,
}

/// Whether a claim or an attachment uses the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    Free,
    Used,
    Unread,
}

/// The user's choice about a backend volume that no controller would delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeakChoice {
    /// No choice.
    Unsaid,
    /// The backend volume may leak (`--accept-leak`).
    AcceptLeak,
    /// The driver deletes the backend volume (`--reclaim`).
    Reclaim,
}

/// The inputs of the table for one finalizer of one volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VolumeInputs {
    pub(super) kind: VolumeFinalizerKind,
    pub(super) reclaimed_by: ReclaimingController,
    pub(super) policy: VolumePolicy,
    pub(super) phase: VolumePhase,
    pub(super) lifecycle: Lifecycle,
    pub(super) others: OtherFinalizers,
    pub(super) controller: ControllerLiveness,
    pub(super) usage: Usage,
    pub(super) leak: LeakChoice,
    /// Whether `--rolled-back` is given.
    pub(super) rolled_back: bool,
    /// Whether the user named the volume, instead of a filter.
    pub(super) named: bool,
    pub(super) consent: Consent,
}

/// The step that is done about a finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VolumeStep {
    /// The finalizer is removed from a volume that is not Terminating.
    Remove,
    /// The finalizer is removed; the deletion-protection finalizer still blocks the deletion.
    RemoveWhileProtected,
    /// The last finalizer is removed: the volume is deleted, and the policy keeps the backend volume.
    RemoveLastKept,
    /// The last finalizer is removed: the volume is deleted, and the user accepts that the backend volume leaks.
    RemoveLastLeaked,
    /// The last finalizer is removed: the volume is deleted, and then its driver deletes the backend volume.
    RemoveLastReclaimed,
}

/// Reason why a finalizer of a volume is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum VolumeReason {
    ReclaimingControllerUnknown,
    ControllerAlive,
    ControllerUnknown,
    ControllerNameless,
    ManagerHonors,
    ManagerUnversioned,
    NeedsRolledBack,
    SlowDeletionLooksTheSame,
    DeletionMayGoOn,
    NeedsObjectName,
    NeedsFinalizerName,
    TooSoon,
    AttacherWaitsForDeletion,
    NotTerminating,
    ReinstallDriver,
    Bound,
    BoundUnprotected,
    InUse,
    LastDeletionProtection,
    NothingElseProtects,
    NeedsLeakChoice,
    NeedsAcceptLeak,
    NeverReleased,
    PolicyUnknown,
}

/// A decision of the table about a finalizer of a volume, or the input that was not read.
pub(super) type VolumeDecision = Result<FinalizerDecision<VolumeStep, VolumeReason>, NotRead>;

#[expect(clippy::unnecessary_wraps, reason = "what every table returns")]
pub(super) const fn step(step: VolumeStep) -> VolumeDecision {
    Ok(FinalizerDecision::Do(step))
}

#[expect(clippy::unnecessary_wraps, reason = "what every table returns")]
pub(super) const fn leave(reason: VolumeReason) -> VolumeDecision {
    Ok(FinalizerDecision::Leave(reason))
}

/// Decides about one finalizer of a volume.
pub(super) const fn decide(it: &VolumeInputs) -> VolumeDecision {
    match (it.kind, it.reclaimed_by) {
        (VolumeFinalizerKind::External, ReclaimingController::Provisioner) => external_of_csi(it),
        (VolumeFinalizerKind::External, ReclaimingController::ControllerManager) => {
            external_of_in_tree(it)
        }
        (VolumeFinalizerKind::InTree, ReclaimingController::Provisioner) => in_tree_of_csi(it),
        (VolumeFinalizerKind::InTree, ReclaimingController::ControllerManager) => {
            in_tree_of_in_tree(it)
        }
        (
            VolumeFinalizerKind::External | VolumeFinalizerKind::InTree,
            ReclaimingController::Unknown,
        ) => leave(VolumeReason::ReclaimingControllerUnknown),
        (VolumeFinalizerKind::Attacher, _) => attacher(it),
        (VolumeFinalizerKind::ThirdParty, _) => third_party(it),
    }
}

/// F23, F24, F25: decides about the finalizer that csi-provisioner removes from a CSI volume.
const fn external_of_csi(it: &VolumeInputs) -> VolumeDecision {
    use ControllerLiveness::{Absent, Alive, Nameless, Unknown, Unread, Working};
    use Lifecycle::{Live, Terminating};
    use VolumePhase::{Bound, Failed, Released, Unbound};
    use VolumePolicy::{Delete, Other, Recycle, Retain};
    match (it.controller, it.policy, it.phase, it.lifecycle) {
        (Alive | Working, ..) => leave(VolumeReason::ControllerAlive),
        (Unknown | Nameless, ..) => leave(VolumeReason::ControllerUnknown),
        (Unread, ..) => Err(NotRead::Controller),
        (Absent, Other, ..) => leave(VolumeReason::PolicyUnknown),
        (Absent, Retain | Recycle, _, Live) => step(VolumeStep::Remove),
        (Absent, Delete, Bound, _) => leave(VolumeReason::Bound),
        (Absent, Delete, Released, Live) => leave(VolumeReason::ReinstallDriver),
        (Absent, Delete, Unbound | Failed | VolumePhase::Other, Live) => {
            leave(VolumeReason::NotTerminating)
        }
        (Absent, Retain | Recycle, _, Terminating)
        | (Absent, Delete, Unbound | Released | Failed | VolumePhase::Other, Terminating) => {
            remove_last(it, VolumeReason::NeedsLeakChoice)
        }
    }
}

/// F30: decides about the finalizer of csi-provisioner on an in-tree volume.
const fn external_of_in_tree(it: &VolumeInputs) -> VolumeDecision {
    use ControllerLiveness::{Absent, Alive, Nameless, Unknown, Unread, Working};
    use Lifecycle::{Live, Terminating};
    use OtherFinalizers::{DeletionProtection, Neither, PvProtection};
    use VolumePolicy::{Delete, Other, Recycle, Retain};
    match (it.controller, it.rolled_back) {
        (Alive, _) => leave(VolumeReason::ManagerHonors),
        (Unknown | Nameless, _) => leave(VolumeReason::ManagerUnversioned),
        (Unread, _) => Err(NotRead::Controller),
        (Working | Absent, false) => leave(VolumeReason::NeedsRolledBack),
        (Working | Absent, true) => match (it.others, it.policy, it.lifecycle) {
            (DeletionProtection, _, Live) | (PvProtection | Neither, Retain, Live) => {
                step(VolumeStep::Remove)
            }
            (DeletionProtection, _, Terminating) => step(VolumeStep::RemoveWhileProtected),
            (PvProtection | Neither, Retain, Terminating) => remove_last_kept(it),
            // `retain` first: then the policy keeps the backend volume.
            (PvProtection | Neither, Delete | Recycle | Other, _) => {
                leave(VolumeReason::NothingElseProtects)
            }
        },
    }
}

/// F27, T12: decides about the in-tree finalizer on a CSI volume, which no controller removes.
const fn in_tree_of_csi(it: &VolumeInputs) -> VolumeDecision {
    use Lifecycle::{Live, Terminating};
    use OtherFinalizers::{DeletionProtection, Neither, PvProtection};
    use VolumePolicy::{Delete, Other, Recycle, Retain};
    match (it.lifecycle, it.others, it.policy) {
        (Live, ..) => step(VolumeStep::Remove),
        (Terminating, DeletionProtection, _) => step(VolumeStep::RemoveWhileProtected),
        (Terminating, PvProtection | Neither, Retain) => remove_last_kept(it),
        (Terminating, PvProtection | Neither, Delete) => {
            remove_last_unreclaimed(it, VolumeReason::LastDeletionProtection)
        }
        (Terminating, PvProtection | Neither, Recycle | Other) => {
            leave(VolumeReason::LastDeletionProtection)
        }
    }
}

/// F39: decides about the in-tree finalizer on an in-tree volume, which only a rolled-back manager leaves.
const fn in_tree_of_in_tree(it: &VolumeInputs) -> VolumeDecision {
    use ControllerLiveness::{Absent, Alive, Nameless, Unknown, Unread, Working};
    use Lifecycle::{Live, Terminating};
    use VolumePolicy::{Delete, Other, Recycle, Retain};
    match (it.controller, it.rolled_back, it.lifecycle) {
        (Alive, ..) => leave(VolumeReason::ManagerHonors),
        (_, false, _) => leave(VolumeReason::SlowDeletionLooksTheSame),
        (Unknown | Nameless, true, _) => leave(VolumeReason::ManagerUnversioned),
        (Unread, true, _) => Err(NotRead::Controller),
        (Working | Absent, true, Live) => match it.named {
            true => step(VolumeStep::Remove),
            false => leave(VolumeReason::NeedsObjectName),
        },
        (Working, true, Terminating) => leave(VolumeReason::DeletionMayGoOn),
        (Absent, true, Terminating) => match (it.policy, it.leak) {
            (Retain, _) => remove_last_kept(it),
            (Delete, _) => remove_last_unreclaimed(it, VolumeReason::NeedsLeakChoice),
            (Recycle, LeakChoice::AcceptLeak) => {
                remove_last_unreclaimed(it, VolumeReason::NeedsAcceptLeak)
            }
            (Recycle, LeakChoice::Unsaid | LeakChoice::Reclaim) => {
                leave(VolumeReason::NeedsAcceptLeak)
            }
            (Other, _) => leave(VolumeReason::PolicyUnknown),
        },
    }
}

/// F31, T11: decides about the finalizer that external-attacher removes from a Terminating, detached volume.
const fn attacher(it: &VolumeInputs) -> VolumeDecision {
    use ControllerLiveness::{Absent, Alive, Nameless, Unknown, Unread, Working};
    use Lifecycle::{Live, Terminating};
    match (it.lifecycle, it.phase, it.usage, it.controller) {
        (Live, ..) => leave(VolumeReason::AttacherWaitsForDeletion),
        (Terminating, VolumePhase::Bound, ..) => leave(VolumeReason::Bound),
        (Terminating, _, Usage::Used, _) => leave(VolumeReason::InUse),
        (Terminating, _, Usage::Unread, _) => Err(NotRead::Users),
        (Terminating, _, Usage::Free, Nameless) => leave(VolumeReason::ControllerNameless),
        (Terminating, _, Usage::Free, Alive | Working) => leave(VolumeReason::ControllerAlive),
        (Terminating, _, Usage::Free, Unknown) => leave(VolumeReason::ControllerUnknown),
        (Terminating, _, Usage::Free, Unread) => Err(NotRead::Controller),
        (Terminating, _, Usage::Free, Absent) => remove_last(it, VolumeReason::NeedsLeakChoice),
    }
}

/// F33: decides about a third-party finalizer, removed only with consent, after a long time Terminating.
const fn third_party(it: &VolumeInputs) -> VolumeDecision {
    use Consent::{Given, Missing};
    use ControllerLiveness::{Absent, Alive, Nameless, Unknown, Unread, Working};
    use Lifecycle::{Live, Terminating};
    match (it.consent, it.named, it.lifecycle, it.controller) {
        (Missing, ..) => leave(VolumeReason::NeedsFinalizerName),
        (Given, false, ..) => leave(VolumeReason::NeedsObjectName),
        (Given, true, Live, _) => leave(VolumeReason::NotTerminating),
        (Given, true, Terminating, Working) => leave(VolumeReason::TooSoon),
        (Given, true, Terminating, Alive | Absent | Unknown | Nameless | Unread) => {
            match it.phase {
                VolumePhase::Bound => leave(VolumeReason::Bound),
                VolumePhase::Unbound
                | VolumePhase::Released
                | VolumePhase::Failed
                | VolumePhase::Other => remove_last(it, VolumeReason::NeedsLeakChoice),
            }
        }
    }
}

/// Decides about a finalizer with which the deletion of a Terminating volume may complete: by the effect on the backend
/// volume.
const fn remove_last(it: &VolumeInputs, unsaid: VolumeReason) -> VolumeDecision {
    use OtherFinalizers::{DeletionProtection, Neither, PvProtection};
    use VolumePolicy::{Delete, Other, Recycle, Retain};
    match (it.others, it.policy) {
        (DeletionProtection, _) => step(VolumeStep::RemoveWhileProtected),
        (PvProtection | Neither, Retain | Recycle) => remove_last_kept(it),
        (PvProtection | Neither, Delete) => remove_last_unreclaimed(it, unsaid),
        (PvProtection | Neither, Other) => leave(VolumeReason::PolicyUnknown),
    }
}

/// Decides about the last finalizer where the policy keeps the backend volume.
const fn remove_last_kept(it: &VolumeInputs) -> VolumeDecision {
    use VolumePhase::{Bound, Failed, Other, Released, Unbound};
    match (it.phase, it.others, it.usage) {
        (Bound, OtherFinalizers::Neither, _) => leave(VolumeReason::BoundUnprotected),
        (Bound, OtherFinalizers::DeletionProtection | OtherFinalizers::PvProtection, _)
        | (Unbound | Released | Failed | Other, _, Usage::Free) => step(VolumeStep::RemoveLastKept),
        (Unbound | Released | Failed | Other, _, Usage::Used) => leave(VolumeReason::InUse),
        (Unbound | Released | Failed | Other, _, Usage::Unread) => Err(NotRead::Users),
    }
}

/// Decides about the last finalizer where the policy deletes the backend volume, but no controller does.
const fn remove_last_unreclaimed(it: &VolumeInputs, unsaid: VolumeReason) -> VolumeDecision {
    use VolumePhase::{Bound, Failed, Other, Released, Unbound};
    match (it.phase, it.usage, it.leak) {
        (Bound, ..) => leave(VolumeReason::Bound),
        (Unbound | Released | Failed | Other, Usage::Used, _) => leave(VolumeReason::InUse),
        (Unbound | Released | Failed | Other, Usage::Unread, _) => Err(NotRead::Users),
        (Unbound | Released | Failed | Other, Usage::Free, LeakChoice::Unsaid) => leave(unsaid),
        (Unbound | Released | Failed | Other, Usage::Free, LeakChoice::AcceptLeak) => {
            step(VolumeStep::RemoveLastLeaked)
        }
        (Released | Failed, Usage::Free, LeakChoice::Reclaim) => {
            step(VolumeStep::RemoveLastReclaimed)
        }
        // The policy never applied to a volume that was not bound (R-2644-7).
        (Unbound | Other, Usage::Free, LeakChoice::Reclaim) => leave(VolumeReason::NeverReleased),
    }
}

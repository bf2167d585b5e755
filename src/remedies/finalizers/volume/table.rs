//! What may be done about one finalizer of a volume: SEMANTICS F23-F25, F27, F30, F31, F33 and F39
//! as one table. Nothing in it looks at a cluster, and nothing in it is left to a default.

use Decision::{Do, Refuse, Unseen};

/// Whose finalizer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// That of csi-provisioner.
    External,
    /// That of the controller manager's volume controller.
    InTree,
    /// That of an external-attacher.
    Attacher,
    /// That of nobody in Kubernetes.
    Foreign,
}

/// Who would delete the backend volume (R-2644-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reclaimer {
    /// The csi-provisioner of a driver; its finalizer is the guard.
    Provisioner,
    /// The controller manager; the in-tree finalizer is the guard.
    ControllerManager,
    /// Nobody who could be asked whether they are there.
    Unknown,
}

/// What the reclaim policy says of the backend volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    Retain,
    Recycle,
    Delete,
    Other,
}

/// How far the volume has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Pending or Available.
    Unbound,
    Bound,
    Released,
    Failed,
    Other,
}

/// Whether it is being deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Live,
    Terminating,
}

/// What keeps the object besides this finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// The finalizer of whoever deletes the backend volume.
    Guard,
    /// Only the one that keeps it while it is bound.
    Protection,
    /// Nothing of these.
    Nothing,
}

/// What is known of whoever should remove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remover {
    /// At work; of the controller manager: it always honours the reclaim policy.
    Alive,
    /// What it does before it removes the finalizer may still be going on.
    Working,
    /// Proven gone; of the controller manager: it can be one that removes no finalizers.
    Absent,
    /// Neither.
    Unknown,
    /// Whose it is cannot be told.
    Nameless,
    /// Something was not seen that this rests on.
    Unseen,
}

/// Whether anybody has to do with the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    Free,
    Used,
    Unseen,
}

/// What the user said of a backend volume that nobody would delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    None,
    AcceptLeak,
    Reclaim,
}

/// One finalizer of one volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Situation {
    pub(super) which: Which,
    pub(super) reclaimer: Reclaimer,
    pub(super) policy: Policy,
    pub(super) stage: Stage,
    pub(super) life: Life,
    pub(super) beside: Beside,
    pub(super) remover: Remover,
    pub(super) usage: Usage,
    pub(super) word: Word,
    /// `--rolled-back`.
    pub(super) rolled_back: bool,
    /// Whether the volume was named.
    pub(super) named: bool,
    /// Whether `--remove-finalizer` names it.
    pub(super) by_name: bool,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// The volume is not being deleted: the finalizer goes, and nothing else.
    TakeOff,
    /// The finalizer of whoever deletes the backend volume still holds the object.
    LeaveToGuard,
    /// The object may go, and its backend volume stays, as its policy says.
    LetGoKept,
    /// The object may go, and its backend volume is left behind, on the user's word.
    LetGoLeaked,
    /// The object may go, and then its driver is told to delete the backend volume.
    LetGoReclaimed,
}

/// Why nothing is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    ReclaimerUnknown,
    RemoverAlive,
    RemoverUnknown,
    RemoverNameless,
    ManagerHonors,
    ManagerUnversioned,
    NeedsRolledBack,
    SlowDeletionLooksTheSame,
    DeletionMayGoOn,
    OnlyWhenNamed,
    NotByName,
    TooSoon,
    AttacherKeepsItWhileLive,
    HoldsUpNothing,
    ReinstallDriver,
    Bound,
    BoundUnprotected,
    Used,
    LastGuard,
    NothingElseProtects,
    NeedsWord,
    NeedsAcceptLeak,
    NeverReleased,
    PolicyUnknown,
}

/// What was not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blind {
    Remover,
    Usage,
}

/// The answer of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Do(Act),
    Refuse(Why),
    Unseen(Blind),
}

/// Decides about one finalizer.
pub(super) const fn decide(it: &Situation) -> Decision {
    match (it.which, it.reclaimer) {
        (Which::External, Reclaimer::Provisioner) => external_of_csi(it),
        (Which::External, Reclaimer::ControllerManager) => external_of_in_tree(it),
        (Which::InTree, Reclaimer::Provisioner) => in_tree_of_csi(it),
        (Which::InTree, Reclaimer::ControllerManager) => in_tree_of_in_tree(it),
        (Which::External | Which::InTree, Reclaimer::Unknown) => Refuse(Why::ReclaimerUnknown),
        (Which::Attacher, _) => attacher(it),
        (Which::Foreign, _) => foreign(it),
    }
}

/// F23, F24, F25: its provisioner removes it, or finishes the deletion and then removes it.
const fn external_of_csi(it: &Situation) -> Decision {
    use Life::{Live, Terminating};
    use Policy::{Delete, Other, Recycle, Retain};
    match (it.remover, it.policy, it.stage, it.life) {
        (Remover::Alive | Remover::Working, ..) => Refuse(Why::RemoverAlive),
        (Remover::Unknown | Remover::Nameless, ..) => Refuse(Why::RemoverUnknown),
        (Remover::Unseen, ..) => Unseen(Blind::Remover),
        (Remover::Absent, Other, ..) => Refuse(Why::PolicyUnknown),
        (Remover::Absent, Retain | Recycle, _, Live) => Do(Act::TakeOff),
        (Remover::Absent, Delete, Stage::Bound, _) => Refuse(Why::Bound),
        (Remover::Absent, Delete, Stage::Released, Live) => Refuse(Why::ReinstallDriver),
        (Remover::Absent, Delete, Stage::Unbound | Stage::Failed | Stage::Other, Live) => {
            Refuse(Why::HoldsUpNothing)
        }
        (Remover::Absent, Retain | Recycle, _, Terminating)
        | (
            Remover::Absent,
            Delete,
            Stage::Unbound | Stage::Released | Stage::Failed | Stage::Other,
            Terminating,
        ) => let_go(it, Why::NeedsWord),
    }
}

/// F30: a controller manager that honours the reclaim policy replaces it by its own.
const fn external_of_in_tree(it: &Situation) -> Decision {
    use Beside::{Guard, Nothing, Protection};
    use Life::{Live, Terminating};
    use Policy::{Delete, Other, Recycle, Retain};
    match (it.remover, it.rolled_back) {
        (Remover::Alive, _) => Refuse(Why::ManagerHonors),
        (Remover::Unknown | Remover::Nameless, _) => Refuse(Why::ManagerUnversioned),
        (Remover::Unseen, _) => Unseen(Blind::Remover),
        (Remover::Working | Remover::Absent, false) => Refuse(Why::NeedsRolledBack),
        (Remover::Working | Remover::Absent, true) => match (it.beside, it.policy, it.life) {
            (Guard, _, Live) | (Protection | Nothing, Retain, Live) => Do(Act::TakeOff),
            (Guard, _, Terminating) => Do(Act::LeaveToGuard),
            (Protection | Nothing, Retain, Terminating) => kept(it),
            // `retain` is the way out: then its policy keeps the backend volume.
            (Protection | Nothing, Delete | Recycle | Other, _) => Refuse(Why::NothingElseProtects),
        },
    }
}

/// F27, T12: nobody removes it from a volume that is CSI, and it may be all that is left to name
/// the backend volume.
const fn in_tree_of_csi(it: &Situation) -> Decision {
    use Beside::{Guard, Nothing, Protection};
    use Life::{Live, Terminating};
    use Policy::{Delete, Other, Recycle, Retain};
    match (it.life, it.beside, it.policy) {
        (Live, ..) => Do(Act::TakeOff),
        (Terminating, Guard, _) => Do(Act::LeaveToGuard),
        (Terminating, Protection | Nothing, Retain) => kept(it),
        (Terminating, Protection | Nothing, Delete) => unreclaimed(it, Why::LastGuard),
        (Terminating, Protection | Nothing, Recycle | Other) => Refuse(Why::LastGuard),
    }
}

/// F39: only a controller manager that was rolled back leaves it there, and a slow one looks the
/// same.
const fn in_tree_of_in_tree(it: &Situation) -> Decision {
    use Life::{Live, Terminating};
    use Policy::{Delete, Other, Recycle, Retain};
    match (it.remover, it.rolled_back, it.life) {
        (Remover::Alive, ..) => Refuse(Why::ManagerHonors),
        (_, false, _) => Refuse(Why::SlowDeletionLooksTheSame),
        (Remover::Unknown | Remover::Nameless, true, _) => Refuse(Why::ManagerUnversioned),
        (Remover::Unseen, true, _) => Unseen(Blind::Remover),
        (Remover::Working | Remover::Absent, true, Live) => match it.named {
            true => Do(Act::TakeOff),
            false => Refuse(Why::OnlyWhenNamed),
        },
        (Remover::Working, true, Terminating) => Refuse(Why::DeletionMayGoOn),
        (Remover::Absent, true, Terminating) => match (it.policy, it.word) {
            (Retain, _) => kept(it),
            (Delete, _) => unreclaimed(it, Why::NeedsWord),
            (Recycle, Word::AcceptLeak) => unreclaimed(it, Why::NeedsAcceptLeak),
            (Recycle, Word::None | Word::Reclaim) => Refuse(Why::NeedsAcceptLeak),
            (Other, _) => Refuse(Why::PolicyUnknown),
        },
    }
}

/// F31, T11: the attacher lets go of a volume that is being deleted once nothing has it attached.
const fn attacher(it: &Situation) -> Decision {
    use Life::{Live, Terminating};
    use Remover::{Absent, Alive, Nameless, Unknown, Working};
    match (it.life, it.stage, it.usage, it.remover) {
        (Live, ..) => Refuse(Why::AttacherKeepsItWhileLive),
        (Terminating, Stage::Bound, ..) => Refuse(Why::Bound),
        (Terminating, _, Usage::Used, _) => Refuse(Why::Used),
        (Terminating, _, Usage::Unseen, _) => Unseen(Blind::Usage),
        (Terminating, _, Usage::Free, Nameless) => Refuse(Why::RemoverNameless),
        (Terminating, _, Usage::Free, Alive | Working) => Refuse(Why::RemoverAlive),
        (Terminating, _, Usage::Free, Unknown) => Refuse(Why::RemoverUnknown),
        (Terminating, _, Usage::Free, Remover::Unseen) => Unseen(Blind::Remover),
        (Terminating, _, Usage::Free, Absent) => let_go(it, Why::NeedsWord),
    }
}

/// F33: on the user's word alone, by its name, and only from a volume that has hung for long.
const fn foreign(it: &Situation) -> Decision {
    use Life::{Live, Terminating};
    use Remover::{Absent, Alive, Nameless, Unknown, Working};
    match (it.by_name, it.named, it.life, it.remover) {
        (false, ..) => Refuse(Why::NotByName),
        (true, false, ..) => Refuse(Why::OnlyWhenNamed),
        (true, true, Live, _) => Refuse(Why::HoldsUpNothing),
        (true, true, Terminating, Working) => Refuse(Why::TooSoon),
        (true, true, Terminating, Alive | Absent | Unknown | Nameless | Remover::Unseen) => {
            match it.stage {
                Stage::Bound => Refuse(Why::Bound),
                Stage::Unbound | Stage::Released | Stage::Failed | Stage::Other => {
                    let_go(it, Why::NeedsWord)
                }
            }
        }
    }
}

/// A terminating object may go with it: what becomes of the backend volume then.
const fn let_go(it: &Situation, unsaid: Why) -> Decision {
    use Beside::{Guard, Nothing, Protection};
    use Policy::{Delete, Other, Recycle, Retain};
    match (it.beside, it.policy) {
        (Guard, _) => Do(Act::LeaveToGuard),
        (Protection | Nothing, Retain | Recycle) => kept(it),
        (Protection | Nothing, Delete) => unreclaimed(it, unsaid),
        (Protection | Nothing, Other) => Refuse(Why::PolicyUnknown),
    }
}

/// It stays, as its policy says.
const fn kept(it: &Situation) -> Decision {
    use Stage::{Bound, Failed, Other, Released, Unbound};
    match (it.stage, it.beside, it.usage) {
        (Bound, Beside::Nothing, _) => Refuse(Why::BoundUnprotected),
        (Bound, Beside::Guard | Beside::Protection, _)
        | (Unbound | Released | Failed | Other, _, Usage::Free) => Do(Act::LetGoKept),
        (Unbound | Released | Failed | Other, _, Usage::Used) => Refuse(Why::Used),
        (Unbound | Released | Failed | Other, _, Usage::Unseen) => Unseen(Blind::Usage),
    }
}

/// It should have been deleted, and nobody is left who does.
const fn unreclaimed(it: &Situation, unsaid: Why) -> Decision {
    use Stage::{Bound, Failed, Other, Released, Unbound};
    match (it.stage, it.usage, it.word) {
        (Bound, ..) => Refuse(Why::Bound),
        (Unbound | Released | Failed | Other, Usage::Used, _) => Refuse(Why::Used),
        (Unbound | Released | Failed | Other, Usage::Unseen, _) => Unseen(Blind::Usage),
        (Unbound | Released | Failed | Other, Usage::Free, Word::None) => Refuse(unsaid),
        (Unbound | Released | Failed | Other, Usage::Free, Word::AcceptLeak) => {
            Do(Act::LetGoLeaked)
        }
        (Released | Failed, Usage::Free, Word::Reclaim) => Do(Act::LetGoReclaimed),
        // One that was never bound, or is up for grabs, was never to be deleted (R-2644-7).
        (Unbound | Other, Usage::Free, Word::Reclaim) => Refuse(Why::NeverReleased),
    }
}

//! The table: what is done about each finalizer of a claim that is being deleted, and about its
//! data where the claim goes with them (SEMANTICS F33, F41, F48, R-PVCP-9, R-PVCP-10).

use crate::facts::{self, CLONE_SOURCE, FinalizerOwner, PVC_PROTECTION, SNAPSHOT_SOURCE};

/// Whose a finalizer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The controller manager's: it keeps the claim while scheduled pods use it.
    Protection,
    /// csi-provisioner's: another claim is being filled from this one.
    CloneSource,
    /// snapshot-controller's: a snapshot is being taken of it.
    SnapshotSource,
    /// The garbage collector's.
    Collector,
    /// Somebody's who is not known, or whose finalizer has no business on a claim.
    Foreign,
}

impl Whose {
    pub(super) fn of(finalizer: &str) -> Self {
        match facts::owner_of(finalizer) {
            FinalizerOwner::ControllerManager if finalizer == PVC_PROTECTION => Self::Protection,
            FinalizerOwner::Cloning if finalizer == CLONE_SOURCE => Self::CloneSource,
            FinalizerOwner::Snapshotter if finalizer == SNAPSHOT_SOURCE => Self::SnapshotSource,
            FinalizerOwner::GarbageCollector => Self::Collector,
            FinalizerOwner::ControllerManager
            | FinalizerOwner::Cloning
            | FinalizerOwner::Snapshotter
            | FinalizerOwner::Provisioner
            | FinalizerOwner::Attacher(_)
            | FinalizerOwner::Unknown => Self::Foreign,
        }
    }

    /// Whether it holds a claim that nobody uses: the others are removed by their controllers, if
    /// not by us, as soon as one runs.
    pub(super) const fn holds_unused(self) -> bool {
        match self {
            Self::Foreign => true,
            Self::Protection | Self::CloneSource | Self::SnapshotSource | Self::Collector => false,
        }
    }
}

/// What is known of the controller that should remove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeper {
    Alive,
    Absent,
    Unknown,
    /// Which one it is cannot be told.
    Nameless,
}

/// What the user said of one finalizer of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// `--remove-finalizer` does not name it.
    Unsaid,
    /// It does, but a filter chose the claim.
    SaidOfMany,
    /// It does, and the claim was named.
    Said,
}

/// What speaks for one finalizer and against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) whose: Whose,
    /// Whether anybody uses the claim, running or not.
    pub(super) used: bool,
    pub(super) keeper: Keeper,
    pub(super) word: Word,
    /// Whether the claim has been terminating for as long as the threshold asks.
    pub(super) waited: bool,
}

/// What is done about one finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Remove,
    Leave(Why),
}

/// Why a finalizer is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    InUse,
    TooSoon,
    ItsControllerIsAlive,
    ItsControllerIsUnknown,
    ItsControllerIsNameless,
    IsTheCollectors,
    NeedsItsName,
    NeedsTheClaimsName,
}

pub(super) const fn decide(row: Row) -> Decision {
    use Decision::{Leave, Remove};
    let Row { whose, used, keeper, word, waited } = row;
    match (used, whose, keeper, word, waited) {
        (true, _, _, _, _) => Leave(Why::InUse),
        (
            false,
            Whose::Protection | Whose::CloneSource | Whose::SnapshotSource,
            keeper,
            _,
            waited,
        ) => match (keeper, waited) {
            (Keeper::Alive, _) => Leave(Why::ItsControllerIsAlive),
            (Keeper::Unknown, _) => Leave(Why::ItsControllerIsUnknown),
            (Keeper::Nameless, _) => Leave(Why::ItsControllerIsNameless),
            (Keeper::Absent, false) => Leave(Why::TooSoon),
            (Keeper::Absent, true) => Remove,
        },
        (false, Whose::Collector, _, _, _) => Leave(Why::IsTheCollectors),
        (false, Whose::Foreign, _, Word::Unsaid, _) => Leave(Why::NeedsItsName),
        (false, Whose::Foreign, _, Word::SaidOfMany, _) => Leave(Why::NeedsTheClaimsName),
        (false, Whose::Foreign, _, Word::Said, false) => Leave(Why::TooSoon),
        (false, Whose::Foreign, _, Word::Said, true) => Remove,
    }
}

/// What a claim's going does to its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stake {
    /// Nothing: there is no volume of its own, or its policy keeps it.
    Nothing,
    /// The policy is Delete or Recycle, and the volume is bound.
    LostFromBound,
    /// As above, and the volume is terminating itself.
    LostFromTerminating,
    /// As above, and the volume is in another phase, where somebody may act on its policy.
    LostFromOther,
    /// The volume's object is terminating and goes at once; nobody deletes its backend volume.
    Leaked,
}

/// What the user said of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataWord {
    Unsaid,
    Keep,
    Destroy,
}

/// What is done about the data of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    /// Nothing: the claim stays, or there is nothing to lose.
    LeftAlone,
    /// The volume's policy becomes Retain before the claim goes.
    Kept,
    /// It is destroyed, as the user said.
    Destroyed,
    Refused(Danger),
}

impl Data {
    /// The flag on whose word it is done.
    pub(super) const fn relies_on(self) -> Option<&'static str> {
        match self {
            Self::Kept => Some("--keep-data"),
            Self::Destroyed => Some("--destroy-data"),
            Self::LeftAlone | Self::Refused(_) => None,
        }
    }
}

/// Why a claim is not let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Danger {
    NeedsAWord,
    VolumeGoesToo,
    VolumeIsNotBound,
    WouldLeak,
}

/// What becomes of the data, where the claim goes with these finalizers.
pub(super) const fn data(goes: bool, stake: Stake, word: DataWord) -> Data {
    match (goes, stake, word) {
        (false, _, _) | (true, Stake::Nothing, _) => Data::LeftAlone,
        (true, Stake::Leaked, _) => Data::Refused(Danger::WouldLeak),
        (
            true,
            Stake::LostFromBound | Stake::LostFromTerminating | Stake::LostFromOther,
            DataWord::Unsaid,
        ) => Data::Refused(Danger::NeedsAWord),
        (
            true,
            Stake::LostFromBound | Stake::LostFromTerminating | Stake::LostFromOther,
            DataWord::Destroy,
        ) => Data::Destroyed,
        (true, Stake::LostFromBound, DataWord::Keep) => Data::Kept,
        (true, Stake::LostFromTerminating, DataWord::Keep) => Data::Refused(Danger::VolumeGoesToo),
        (true, Stake::LostFromOther, DataWord::Keep) => Data::Refused(Danger::VolumeIsNotBound),
    }
}

#[cfg(test)]
mod tests;

//! What could be written, as plain data. Only `apply` turns it into requests.

use super::{ObjectRef, ReclaimPolicy, Text};

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// P-POLICY: patches the reclaim policy, testing everything that the decision rested on.
    SetReclaimPolicy { volume: ObjectRef, from: ReclaimPolicy, to: ReclaimPolicy },
    /// P-RESERVE: drops the dead uid from claimRef and keeps the claim's name.
    ReserveVolume { volume: ObjectRef },
    /// P-FIN-DEL: removes one finalizer, by its position and name.
    RemoveFinalizer { object: ObjectRef, finalizer: Text },
    /// P-FIN-ADD: adds one protection finalizer.
    AddFinalizer { object: ObjectRef, finalizer: Text },
}

/// What carrying out a proposal would do, and what it costs if the judgement is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// What it would do.
    pub what: String,
    /// What is lost if the judgement is wrong.
    pub risk: String,
}

/// How far a proposal can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undo {
    /// The same patch in the other direction, where no controller can have acted.
    Revert,
    /// Never, and why.
    Never(&'static str),
}

/// What a remedy would do, all its checks having passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The writes, in their order.
    pub steps: Vec<Action>,
    /// What they would do.
    pub effect: Effect,
    /// Whether they can be undone.
    pub undo: Undo,
    /// Things to know that are no reason to refuse.
    pub notices: Vec<String>,
}

/// Why a remedy would do nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The check that did not pass, as a sentence without a full stop.
    pub reason: String,
    /// What the remedy would do otherwise.
    pub effect: Effect,
}

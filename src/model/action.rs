//! What could be written, as plain data. Only `apply` turns it into requests.

use super::{ObjectRef, Phase, ReclaimPolicy, Text};

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// P-POLICY: patches the reclaim policy, testing everything that the decision rested on.
    SetReclaimPolicy {
        volume: ObjectRef,
        from: ReclaimPolicy,
        to: ReclaimPolicy,
        /// Whether the same patch annotates `storage.kubectl.dev/backend-state: unknown`: a
        /// provisioner may have begun to delete the backend volume (SEMANTICS T31).
        doubts_backend: bool,
    },
    /// P-RESERVE: drops the dead uid from claimRef and keeps the claim's name.
    ReserveVolume { volume: ObjectRef },
    /// P-FIN-DEL: removes one finalizer, by its position and name.
    RemoveFinalizer {
        object: ObjectRef,
        finalizer: Text,
        /// What the patch tests besides uid, resourceVersion and the finalizer itself.
        guards: Vec<Guard>,
    },
    /// P-FIN-ADD: adds one protection finalizer.
    AddFinalizer { object: ObjectRef, finalizer: Text },
}

/// What a patch tests, because the decision rested on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// `spec.persistentVolumeReclaimPolicy` is this.
    ReclaimPolicy(ReclaimPolicy),
    /// `status.phase` is this.
    Phase(Phase),
    /// This finalizer is there too: it keeps the object until the backend volume is deleted, or
    /// while a claim is bound.
    Finalizer(Text),
    /// `metadata.deletionTimestamp` is absent: nothing goes with the finalizer.
    NotTerminating,
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

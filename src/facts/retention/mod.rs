//! Claims of `StatefulSet`s: membership, ownership, retention, and a simulation of what Kubernetes
//! does to them (semantics#retention).
//!
//! - [`membership`]: the set that a claim belongs to, by its name, its owners and its pods.
//! - [`Ordinals`]: the ordinals in the range of a set.
//! - [`expected_ownership`]: what the `StatefulSet` controller does to the owner references of a
//!   claim.
//! - [`owner_agreement`]: what the owner references of a claim should be.
//! - [`leftover_age`]: for how long at least a claim has been out of range.
//! - [`scalers`]: who sets the number of replicas by itself.
//! - [`dependent_claims`]: the other claims that the garbage collector deletes with a set.
//! - [`simulate`]: what Kubernetes does to every claim of a set after an operation on the set. Its
//!   input is plain values: a [`SetSituation`] and an [`Operation`].
//!
//! Sources, all of Kubernetes 1.36.3: `pkg/controller/statefulset/stateful_set_utils.go` (names,
//! ranges, references), `stateful_set_control.go` (which pods are visited, and when),
//! `stateful_pod_control.go` (claims), `pkg/controller/garbagecollector/garbagecollector.go`
//! (`classifyReferences`, `attemptToDeleteItem`, `orphanDependents`).

mod ownership;
mod observe;
mod membership;
mod simulate;
mod set_situation;
mod simulation;

pub use membership::Ordinals;
pub use membership::{Membership, TemplateClaim, is_member, membership};
pub use membership::{Scaler, scalers};
pub use membership::{is_leftover, is_paused, leftover_age, unused_age};
pub use observe::{DependentClaim, DependentFate, dependent_claims};
pub use observe::{OBSERVED, is_held, presence, volume_effect};
pub use ownership::{
    ClaimPod, NoUpdateReason, OwnerIdentity, ReferenceForm, ReferenceUpdate, UNLESS_IT_WAITS,
    WantedOwners, expected_ownership, foreign_controller, is_stale, names_pod, names_set, retains,
    wanted_owners,
};
pub use ownership::{OwnerAgreement, SurplusReason, owner_agreement};
pub use set_situation::{
    ClaimOutcome, DeletionCause, Operation, OutcomeReason, OwnerDoubt, OwnerState, Prediction,
    Presence, Propagation, Readiness, SetChange, SetClaimState, SetPodState, SetSituation,
    SetState, VolumeEffect,
};
pub use simulate::{simulate, simulate_steps};

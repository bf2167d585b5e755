//! What becomes of the claims of a `StatefulSet` (SEMANTICS A.3).
//!
//! - [`membership`]: whose a claim is, by its name, its owners and its pods.
//! - [`Ordinals`]: which ordinals the set wants.
//! - [`expected_ownership`]: what the set's controller does to a claim's owner references.
//! - [`simulate`]: what Kubernetes does to every claim when somebody does something to the set. It
//!   takes values alone: a [`Situation`] and an [`Operation`].
//!
//! Sources, all of Kubernetes 1.36.3: `pkg/controller/statefulset/stateful_set_utils.go` (names,
//! ranges, references), `stateful_set_control.go` (which pods are visited, and when),
//! `stateful_pod_control.go` (claims), `pkg/controller/garbagecollector/garbagecollector.go`
//! (`classifyReferences`, `attemptToDeleteItem`, `orphanDependents`).

mod member;
mod observe;
mod ordinals;
mod ownership;
mod simulate;
mod situation;
mod world;

pub use member::{Member, Membership, is_member, membership};
pub use observe::{OBSERVED, is_held, presence, volume_fate};
pub use ordinals::Ordinals;
pub use ownership::{
    Because, Form, Identity, Next, Place, Wanted, expected_ownership, foreign_controller, is_stale,
    names_pod, names_set, retains, wanted,
};
pub use simulate::simulate;
pub use situation::{
    ClaimState, Collector, Operation, Outcome, OwnerState, PodState, Prediction, Presence,
    Propagation, Reason, SetState, Situation, VolumeFate,
};

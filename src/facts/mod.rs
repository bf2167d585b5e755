//! Derived truths that several rules share, one per file.

mod age;
mod controller;
mod deletion_secret;
mod finalizer;
mod node;
mod owner;
mod provisioner;
mod released;

pub use age::{LastTransition, phase_age, policy_age, untrusted_reason};
pub use controller::{controller_manager, attacher, provisioner, sanitize};
pub use deletion_secret::{SecretState, deletion_secret};
pub use finalizer::{
    EXTERNAL_PROVISIONER, FinalizerOwner, IN_TREE, PV_PROTECTION, PVC_PROTECTION,
    attacher_finalizer, has_attacher_finalizer, owner_of,
};
pub use node::node_gone;
pub use owner::{Owner, known_deletable, owner};
pub use provisioner::{ClaimedVersion, Defect, claimed_versions, defect, honors_reclaim_policy};
pub use released::{ClaimState, claim_state, semantically_released};

//! Derived truths that several rules share, one per file.

mod age;
mod controller;
mod deletion_secret;
mod event;
mod finalizer;
mod names;
mod node;
mod obstacle;
mod owner;
mod protection;
mod provisioner;
mod released;
pub mod retention;

pub use age::{LastTransition, phase_age, policy_age, untrusted_reason};
pub use controller::{attacher, controller_manager, is_absent, is_csi, provisioner};
pub use deletion_secret::{SecretState, deletion_secret};
pub use event::{FAILED_DELETE, FAILED_RECYCLE, UNKNOWN_POLICY, last_event};
pub use finalizer::{
    EXTERNAL_PROVISIONER, FinalizerOwner, IN_TREE, PV_PROTECTION, PVC_PROTECTION,
    attacher_finalizer, attacher_of, has_attacher_finalizer, owner_of, set_by_attacher,
};
pub use names::sanitize;
pub use node::node_gone;
pub use obstacle::{Obstacle, obstacle};
pub use owner::{Owner, known_deletable, owner};
pub use protection::{
    always_honors_reclaim_policy, expects_in_tree_finalizer, in_tree_finalizer_is_stale,
    looks_rolled_back, server_version,
};
pub use provisioner::{
    Defect, claimed_versions, defect, deletes_static_volumes, honors_reclaim_policy,
    may_patch_volumes, provisioners_seen, surely_deletes_static_volumes,
};
pub use released::{ClaimState, claim_state, semantically_released};

use crate::cluster::Cx;
use crate::model::{Fact, FactKey};

/// Derives a shared fact from what is seen now, for whoever compares it with what it was.
pub fn derive(cx: &Cx, key: &FactKey) -> Fact {
    match key {
        FactKey::Controller(role, driver) => {
            Fact::Controller(controller::derive(cx, *role, driver))
        }
        FactKey::DeletionSecrets(driver) => {
            Fact::DeletionSecrets(deletion_secret::derive(cx, driver))
        }
        FactKey::ProvisionerVersions(driver) => {
            Fact::ProvisionerVersions(provisioner::derive(cx, driver))
        }
    }
}

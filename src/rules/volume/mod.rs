//! Findings about volumes.

mod age_untrusted;
mod available_was_bound;
mod failed;
mod leak_imminent;
mod node_gone;
mod pending_too_long;
mod recycle_policy;
mod referenced_by_other_pvc;
mod released_claim_recreated;
mod released_delete_stuck;
mod released_handle_shared;
mod released_past_threshold;
mod released_snapshot_dependent;
mod released_still_attached;
mod released_unknown_age;
mod shared_backend;
mod static_delete_now_effective;
mod terminating_bound;

use super::Rule;

/// The rules of this folder, in the order of the documentation.
pub(super) static RULES: &[&Rule] = &[
    &released_past_threshold::RULE,
    &released_unknown_age::RULE,
    &age_untrusted::RULE,
    &released_claim_recreated::RULE,
    &released_delete_stuck::RULE,
    &released_still_attached::RULE,
    &released_handle_shared::RULE,
    &released_snapshot_dependent::RULE,
    &referenced_by_other_pvc::RULE,
    &pending_too_long::RULE,
    &available_was_bound::RULE,
    &failed::RULE,
    &recycle_policy::RULE,
    &static_delete_now_effective::RULE,
    &leak_imminent::RULE,
    &terminating_bound::RULE,
    &shared_backend::RULE,
    &node_gone::RULE,
];

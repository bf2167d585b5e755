//! Findings about volumes.

mod age_untrusted;
mod available_was_bound;
mod claim_ref_changed;
mod delete_in_progress_or_failing;
mod deletion_secret_missing;
mod duplicate_volume_handle;
mod ext_finalizer_orphaned_driver;
mod failed;
mod intree_finalizer_missing;
mod intree_finalizer_rolled_back;
mod intree_plugin_removed;
mod leak_imminent;
mod missing_deletion_protection;
mod missing_pv_protection;
mod node_gone;
mod pending_too_long;
mod reclaim_announced;
mod recycle_policy;
mod referenced_by_other_pvc;
mod released_claim_recreated;
mod released_delete_stuck;
mod released_handle_shared;
mod released_past_threshold;
mod released_snapshot_dependent;
mod released_still_attached;
mod released_unknown_age;
mod stale_ext_finalizer_intree;
mod stale_ext_finalizer_retain;
mod stale_intree_finalizer_migrated;
mod static_delete_now_effective;
mod stuck_attacher_finalizer;
mod terminating_bound;
mod terminating_intree_deadlock;
mod unknown_finalizer;

use super::Rule;

/// The rules of this folder, in the order of the documentation.
pub(super) static RULES: &[&Rule] = &[
    &released_past_threshold::RULE,
    &released_unknown_age::RULE,
    &age_untrusted::RULE,
    &released_claim_recreated::RULE,
    &claim_ref_changed::RULE,
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
    &missing_deletion_protection::RULE,
    &stale_ext_finalizer_retain::RULE,
    &ext_finalizer_orphaned_driver::RULE,
    &delete_in_progress_or_failing::RULE,
    &stale_intree_finalizer_migrated::RULE,
    &intree_finalizer_missing::RULE,
    &intree_plugin_removed::RULE,
    &stale_ext_finalizer_intree::RULE,
    &stuck_attacher_finalizer::RULE,
    &missing_pv_protection::RULE,
    &unknown_finalizer::RULE,
    &deletion_secret_missing::RULE,
    &terminating_intree_deadlock::RULE,
    &intree_finalizer_rolled_back::RULE,
    &duplicate_volume_handle::RULE,
    &node_gone::RULE,
    &reclaim_announced::RULE,
];

#[cfg(test)]
mod healthy;

//! Findings about volumes.

mod released;
mod deletion;
mod failed;
mod doomed;
mod finalizers;
mod in_tree;
mod binding;
mod node_gone;
mod reclaim_announced;

use super::Rule;

/// The rules about volumes, in the order of the documentation.
pub(super) static RULES: &[&Rule] = &[
    &released::RELEASED_PAST_THRESHOLD,
    &released::RELEASED_UNKNOWN_AGE,
    &released::AGE_UNTRUSTED,
    &released::RELEASED_CLAIM_RECREATED,
    &binding::CLAIM_REF_CHANGED,
    &deletion::RELEASED_DELETE_STUCK,
    &deletion::RELEASED_STILL_ATTACHED,
    &released::RELEASED_HANDLE_SHARED,
    &released::RELEASED_SNAPSHOT_DEPENDENT,
    &binding::REFERENCED_BY_OTHER_PVC,
    &binding::PENDING_TOO_LONG,
    &binding::AVAILABLE_WAS_BOUND,
    &failed::FAILED,
    &deletion::RECYCLE_POLICY,
    &doomed::STATIC_DELETE_NOW_EFFECTIVE,
    &doomed::LEAK_IMMINENT,
    &doomed::TERMINATING_BOUND,
    &doomed::MISSING_DELETION_PROTECTION,
    &finalizers::STALE_EXT_FINALIZER_RETAIN,
    &finalizers::EXT_FINALIZER_ORPHANED_DRIVER,
    &deletion::DELETE_IN_PROGRESS_OR_FAILING,
    &in_tree::STALE_INTREE_FINALIZER_MIGRATED,
    &in_tree::INTREE_FINALIZER_MISSING,
    &in_tree::INTREE_PLUGIN_REMOVED,
    &in_tree::STALE_EXT_FINALIZER_INTREE,
    &finalizers::STUCK_ATTACHER_FINALIZER,
    &doomed::MISSING_PV_PROTECTION,
    &finalizers::UNKNOWN_FINALIZER,
    &deletion::DELETION_SECRET_MISSING,
    &in_tree::TERMINATING_INTREE_DEADLOCK,
    &in_tree::INTREE_FINALIZER_ROLLED_BACK,
    &binding::DUPLICATE_VOLUME_HANDLE,
    &node_gone::NODE_GONE,
    &reclaim_announced::RECLAIM_ANNOUNCED,
];

#[cfg(test)]
mod healthy;

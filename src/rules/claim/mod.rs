//! Findings about claims.

mod doomed_by_gc;
mod ephemeral_name_conflict;
mod held_by_completed_pods;
mod lost;
mod misbound;
mod missing_protection;
mod owner_kind_not_served;
mod pending_too_long;
mod resize_stuck;
mod source_finalizer_stuck;
mod stale_selected_node;
mod terminating_in_use;
mod terminating_stuck;
mod unused;

use super::Rule;

/// The rules of this folder, in the order of the documentation.
pub(super) static RULES: &[&Rule] = &[
    &terminating_in_use::RULE,
    &terminating_stuck::RULE,
    &missing_protection::RULE,
    &lost::RULE,
    &misbound::RULE,
    &pending_too_long::RULE,
    &unused::RULE,
    &stale_selected_node::RULE,
    &source_finalizer_stuck::RULE,
    &held_by_completed_pods::RULE,
    &ephemeral_name_conflict::RULE,
    &doomed_by_gc::RULE,
    &owner_kind_not_served::RULE,
    &resize_stuck::RULE,
];

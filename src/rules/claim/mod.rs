//! Findings about claims.

mod deletion;
mod binding;
mod owners;
mod fullness;
mod use_and_size;

use super::Rule;
use crate::model::RuleId;

/// The rules about claims, in the order of the documentation.
pub(super) static RULES: &[&Rule] = &[
    &deletion::TERMINATING_IN_USE,
    &deletion::TERMINATING_STUCK,
    &deletion::MISSING_PROTECTION,
    &binding::LOST,
    &binding::MISBOUND,
    &binding::PENDING_TOO_LONG,
    &use_and_size::UNUSED,
    &binding::STALE_SELECTED_NODE,
    &deletion::SOURCE_FINALIZER_STUCK,
    &deletion::HELD_BY_COMPLETED_PODS,
    &owners::EPHEMERAL_NAME_CONFLICT,
    &owners::DOOMED_BY_GC,
    &owners::OWNER_KIND_NOT_SERVED,
    &use_and_size::RESIZE_STUCK,
];

/// The rule about volumes that are too large.
pub(super) const OVER_PROVISIONED_ID: RuleId = fullness::OVER_PROVISIONED.id;
/// The rules about how full the volumes of claims are.
pub(super) static USAGE: &[&Rule] =
    &[&fullness::NEARLY_FULL, &fullness::INODES_NEARLY_FULL, &fullness::OVER_PROVISIONED];

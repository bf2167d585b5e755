//! Findings about attachments.

mod node_missing;
mod not_referenced;
mod orphan_pv_missing;
mod stuck_detaching;

use super::Rule;

/// The rules of this folder, in the order of the documentation.
pub(super) static RULES: &[&Rule] =
    &[&orphan_pv_missing::RULE, &stuck_detaching::RULE, &node_missing::RULE, &not_referenced::RULE];

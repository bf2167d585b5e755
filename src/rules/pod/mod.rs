//! Findings about pods.

mod waiting_for_volume;

use super::Rule;

/// The rules of this folder.
pub(super) static RULES: &[&Rule] = &[&waiting_for_volume::RULE];

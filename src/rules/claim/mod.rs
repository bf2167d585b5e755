//! Findings about claims.

mod resize_stuck;

use super::Rule;

/// The rules of this folder.
pub(super) static RULES: &[&Rule] = &[&resize_stuck::RULE];

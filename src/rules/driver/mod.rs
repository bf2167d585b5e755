//! Findings about drivers.

use super::Rule;

/// The rules of this folder.
pub(super) static RULES: &[&Rule] = &[];

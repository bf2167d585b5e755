//! Findings about claims.

use super::Rule;

/// The rules of this folder.
pub(super) static RULES: &[&Rule] = &[];

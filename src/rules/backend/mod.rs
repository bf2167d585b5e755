//! Findings about backend volumes that no volume references.

mod kept_backend;

use super::Rule;

/// The rules of this folder.
pub(super) static RULES: &[&Rule] = &[&kept_backend::RULE];

//! Findings about volumes at the storage system that no volume object names.

mod kept_backend;

use super::Rule;

/// The rules of this folder.
pub(super) static RULES: &[&Rule] = &[&kept_backend::RULE];

//! Findings about drivers.

mod absent;
mod known_bad_version;
mod rbac_missing_patch;

use super::Rule;

/// The rules of this folder, in the order of the documentation.
pub(super) static RULES: &[&Rule] =
    &[&rbac_missing_patch::RULE, &known_bad_version::RULE, &absent::RULE];

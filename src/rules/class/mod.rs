//! Findings about storage classes and volume attributes classes.

mod default_count;
mod terminating_in_use;

use super::Rule;

/// The rules of this folder, in the order of the documentation.
pub(super) static RULES: &[&Rule] = &[&terminating_in_use::RULE, &default_count::RULE];

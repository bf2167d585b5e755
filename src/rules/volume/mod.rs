//! Findings about volumes.

mod leak_imminent;
mod released_past_threshold;
mod released_unknown_age;
mod shared_backend;
mod terminating_bound;

use super::Rule;

/// The rules of this folder, in the order of the documentation.
pub(super) static RULES: &[&Rule] = &[
    &released_past_threshold::RULE,
    &released_unknown_age::RULE,
    &leak_imminent::RULE,
    &terminating_bound::RULE,
    &shared_backend::RULE,
];

//! Findings about the guard: its policies and bindings, and the namespaces that rely on it.

mod changed;
mod label_unknown;
mod not_enforced;

use super::Rule;

/// The rules of this folder, in the order of the documentation.
pub(super) static RULES: &[&Rule] = &[&not_enforced::RULE, &changed::RULE, &label_unknown::RULE];

//! Findings about snapshots.

mod content_orphan;

use super::Rule;

/// The rules of this folder.
pub(super) static RULES: &[&Rule] = &[&content_orphan::RULE];

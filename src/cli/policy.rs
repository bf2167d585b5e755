//! A policy file that is not accepted, as a command says so.

use super::{Exit, Failure, terminal};
use crate::{model::escape_control, watch::policy::PolicyError};

/// Tells everything that is wrong with a policy; the last of it is the failure.
pub(super) fn refused(error: &PolicyError) -> Failure {
    let mut lines = error.lines();
    let last = lines.pop().unwrap_or_default();
    for line in lines {
        terminal::note(&format!("error: {}", escape_control(&line)));
    }
    Failure { exit: exit_of(error), ..Failure::usage(last) }
}

/// A file that cannot be read is no mistake in it.
pub(super) fn exit_of(error: &PolicyError) -> Exit {
    match error {
        PolicyError::Unreadable { .. } => Exit::Error,
        PolicyError::Refused(_) => Exit::Usage,
    }
}

//! Why nothing could be read, or nothing saved, as the failure of a command.

use crate::{
    cli::{Exit, Failure},
    dump::DumpError,
    sources::live::LiveError,
};

/// The failure to read a cluster at all.
pub(super) fn live_failure(error: LiveError) -> Failure {
    match error {
        LiveError::Read(error) => {
            let hint = error.hint();
            Failure::error(error).hint(hint)
        }
        LiveError::Save(error) => dump_failure(error),
    }
}

/// The failure to read or to save a dump.
pub(in crate::cli) fn dump_failure(error: DumpError) -> Failure {
    let hint = error.hint();
    let exit = match error {
        DumpError::StdinTwice => Exit::Usage,
        _ => Exit::Error,
    };
    Failure { exit, ..Failure::error(error) }.hint(hint)
}

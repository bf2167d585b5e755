//! Exit codes, and the errors that lead to them.

use std::process::ExitCode;

/// Exit codes; part of the public interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// An error.
    Error = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// Findings at or above `--fail-on`.
    Findings = 3,
    /// Something was not seen.
    Incomplete = 4,
    /// Refused or not confirmed; nothing changed.
    Refused = 5,
    /// Applied in part, pending, or outcome unknown.
    Unfinished = 6,
    /// Ctrl-C.
    Interrupted = 130,
    /// SIGTERM.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command failed, with the exit code and what to do next.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// What went wrong.
    pub error: anyhow::Error,
    /// What to do next.
    pub hint: Option<String>,
}

impl Failure {
    /// An error that is nobody's usage mistake.
    pub fn error(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Error, error: error.into(), hint: None }
    }

    /// A mistake on the command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, error: anyhow::anyhow!(message.into()), hint: None }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(Into::into);
        self
    }
}

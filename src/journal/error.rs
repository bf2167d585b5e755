//! Errors of the journal, and what each means for the write.

use std::{fmt, io, path::PathBuf};

/// What an error of the journal means for the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalConsequence {
    /// The intent was not recorded, so the request was not sent.
    NothingSent,
    /// The request was sent, but the outcome of the entry with this sequence is not recorded.
    EndUnrecorded(u64),
    /// The entries are unknown.
    NotRead,
}

impl fmt::Display for JournalConsequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingSent => f.write_str("nothing was sent"),
            Self::EndUnrecorded(entry) => {
                write!(f, "how entry {entry} ended is not recorded, and it remains open")
            }
            Self::NotRead => f.write_str("the journal was not read"),
        }
    }
}

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// No permission, no space, a file where a folder should be.
    #[error(
        "{consequence}: failed to write {path}; free space there, or set XDG_STATE_HOME to a folder that can be written"
    )]
    Unwritable { consequence: JournalConsequence, path: PathBuf, source: io::Error },
    /// No permission, or a broken disk.
    #[error("{consequence}: failed to read {path}; set XDG_STATE_HOME to a folder of your own")]
    Unreadable { consequence: JournalConsequence, path: PathBuf, source: io::Error },
    /// Without a lock, two runs would write over each other.
    #[error("{consequence}: failed to lock {path}; set XDG_STATE_HOME to a folder on a local disk")]
    Unlockable { consequence: JournalConsequence, path: PathBuf, source: io::Error },
    /// A folder, a device, a pipe.
    #[error(
        "{consequence}: {path} is not a file; move it away, or set XDG_STATE_HOME to another folder"
    )]
    NotAFile { consequence: JournalConsequence, path: PathBuf },
    /// None of its lines was written by this tool.
    #[error(
        "{consequence}: {path} is not a journal of kubectl-storage; move it away, or set XDG_STATE_HOME to another folder"
    )]
    Foreign { consequence: JournalConsequence, path: PathBuf },
    /// Its lines may matter, and cannot be read.
    #[error(
        "{consequence}: {path} was written by a newer kubectl-storage (version {version} of the journal); use that one"
    )]
    Newer { consequence: JournalConsequence, path: PathBuf, version: u32 },
    /// Lines were removed since it was opened.
    #[error(
        "{consequence}: lines were removed from {path} while this run was writing to it; check \
         it, then start again"
    )]
    Shrunk { consequence: JournalConsequence, path: PathBuf },
}

impl JournalError {
    /// Returns the message with its cause.
    pub fn with_cause(&self) -> String {
        use std::error::Error as _;
        match self.source() {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }
}

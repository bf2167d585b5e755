//! Why the journal of writes cannot be used, and what that means for the write.

use std::{fmt, io, path::PathBuf};

/// What follows from an error of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// It was not written down, so it was not done.
    NothingSent,
    /// It was done, and the entry of this sequence does not say how it ended.
    EndUnrecorded(u64),
    /// What it holds is not known.
    NotRead,
}

impl fmt::Display for Consequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingSent => f.write_str("nothing was sent"),
            Self::EndUnrecorded(entry) => {
                write!(f, "how entry {entry} ended is not recorded, and it stays open")
            }
            Self::NotRead => f.write_str("the journal was not read"),
        }
    }
}

/// Why the journal of writes cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// No permission, no space, a file where a folder should be.
    #[error(
        "{consequence}: failed to write {path}; free space there, or set XDG_STATE_HOME to a folder that can be written"
    )]
    Unwritable { consequence: Consequence, path: PathBuf, source: io::Error },
    /// No permission, or a broken disk.
    #[error("{consequence}: failed to read {path}; set XDG_STATE_HOME to a folder of your own")]
    Unreadable { consequence: Consequence, path: PathBuf, source: io::Error },
    /// Without a lock, two runs would write over each other.
    #[error("{consequence}: failed to lock {path}; set XDG_STATE_HOME to a folder on a local disk")]
    Unlockable { consequence: Consequence, path: PathBuf, source: io::Error },
    /// A folder, a device, a pipe.
    #[error(
        "{consequence}: {path} is not a file; move it away, or set XDG_STATE_HOME to another folder"
    )]
    NotAFile { consequence: Consequence, path: PathBuf },
    /// None of its lines is one of ours.
    #[error(
        "{consequence}: {path} is not a journal of kubectl-storage; move it away, or set XDG_STATE_HOME to another folder"
    )]
    Foreign { consequence: Consequence, path: PathBuf },
    /// What it says may matter, and cannot be told.
    #[error(
        "{consequence}: {path} was written by a newer kubectl-storage (version {version} of the journal); use that one"
    )]
    Newer { consequence: Consequence, path: PathBuf, version: u32 },
    /// It is no longer the one that was opened.
    #[error(
        "{consequence}: lines were removed from {path} while this run was writing to it; look at it, then start again"
    )]
    Shrunk { consequence: Consequence, path: PathBuf },
}

impl JournalError {
    /// What happened, with its cause.
    pub fn whole(&self) -> String {
        use std::error::Error as _;
        match self.source() {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }
}

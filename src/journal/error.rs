//! Errors of the journal, and the consequence of each for the write.

use std::{fmt, io, path::PathBuf};

pub use super::chain::ChainDoubt;
use crate::model::escape_control;

/// Consequence of an error of the journal for the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalConsequence {
    /// The intent was not recorded, so the request was not sent.
    NothingSent,
    /// The request was sent, but the outcome of the entry with this sequence is not recorded.
    EndUnrecorded(u64),
    /// The entries are unknown.
    NotRead,
}

impl JournalConsequence {
    /// Returns the text for users; `place` is the prefix of the numbers of entries in the journal.
    fn told(self, place: &str) -> String {
        match self {
            Self::NothingSent => "nothing was sent".to_owned(),
            Self::EndUnrecorded(entry) => {
                format!("how entry {place}{entry} ended is not recorded, and it remains open")
            }
            Self::NotRead => "the journal was not read".to_owned(),
        }
    }
}

impl fmt::Display for JournalConsequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(""))
    }
}

/// Reason why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be written: no permission, no space, or a file where a folder should be.
    #[error(
        "{consequence}: failed to write {path}; free space there, or set XDG_STATE_HOME to a folder that can be written"
    )]
    Unwritable { consequence: JournalConsequence, path: PathBuf, source: io::Error },
    /// The file cannot be read: no permission, or a broken disk.
    #[error("{consequence}: failed to read {path}; set XDG_STATE_HOME to a folder of your own")]
    Unreadable { consequence: JournalConsequence, path: PathBuf, source: io::Error },
    /// The file cannot be locked: without a lock, two runs would write over each other.
    #[error("{consequence}: failed to lock {path}; set XDG_STATE_HOME to a folder on a local disk")]
    Unlockable { consequence: JournalConsequence, path: PathBuf, source: io::Error },
    /// The path is a folder, a device or a pipe.
    #[error(
        "{consequence}: {path} is not a file; move it away, or set XDG_STATE_HOME to another folder"
    )]
    NotAFile { consequence: JournalConsequence, path: PathBuf },
    /// No line of the file was written by this tool.
    #[error(
        "{consequence}: {path} is not a journal of kubectl-storage; move it away, or set XDG_STATE_HOME to another folder"
    )]
    Foreign { consequence: JournalConsequence, path: PathBuf },
    /// The file has lines of a newer version, which may matter and cannot be read.
    #[error(
        "{consequence}: {path} was written by a newer kubectl-storage (version {version} of the journal); use that one"
    )]
    Newer { consequence: JournalConsequence, path: PathBuf, version: u32 },
    /// Lines were removed from the file since it was opened.
    #[error(
        "{consequence}: lines were removed from {path} while this run was writing to it; check \
         it, then start again"
    )]
    Shrunk { consequence: JournalConsequence, path: PathBuf },
    /// The journal is in the cluster, and has this failure.
    #[error("{}: {failure}", consequence.told("c"))]
    InCluster { consequence: JournalConsequence, failure: SegmentFailure },
}

/// The uid of the cluster in which a line was recorded, if the line says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedIn(pub Option<String>);

impl fmt::Display for RecordedIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(uid) => write!(f, "cluster {}", escape_control(uid)),
            None => f.write_str("a cluster that it does not name"),
        }
    }
}

/// Reason why the journal in a cluster cannot be used. `place` is the `ConfigMap`, or all of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SegmentFailure {
    /// A `ConfigMap` cannot be read: no permission, or no answer.
    #[error("failed to read {place}: {reason}")]
    Unreadable { place: String, reason: String },
    /// A `ConfigMap` cannot be written: no permission, no such namespace, a quota, or an admission webhook.
    #[error("failed to write {place}: {reason}")]
    Unwritable { place: String, reason: String },
    /// No try was answered, or other runs were first each time. The lines may be stored, and are
    /// ignored: what they announce was not sent.
    #[error("failed to append to {place}: {reason}, {tries} times")]
    Unanswered { place: String, reason: String, tries: u32 },
    /// Lines that were read do not exist any more.
    #[error(
        "{place} was deleted, or its lines were changed, while this run was writing to it; check \
         it, then start again"
    )]
    Changed { place: String },
    /// No line of the journal was written by this tool.
    #[error("{place} is not a journal of kubectl-storage; choose another namespace")]
    Foreign { place: String },
    /// The journal has lines of a newer version, which may matter and cannot be read.
    #[error(
        "{place} was written by a newer kubectl-storage (version {version} of the journal); use \
         that one"
    )]
    Newer { place: String, version: u32 },
    /// A record is longer than a segment, of at most a mebibyte, has room for.
    #[error("the record has {length} bytes, and {place} holds records of up to {longest}")]
    TooLong { place: String, length: usize, longest: usize },
    /// The uid of the namespace `kube-system` is unknown, without which the journal may be that of another cluster.
    #[error("the identity of the cluster is unknown: {reason}")]
    Unidentified { reason: String },
    /// The journal was restored or copied from another cluster, whose volumes may be in use.
    #[error(
        "{place} was recorded in {recorded}, and this is cluster {cluster}: it was restored or \
         copied; move the ConfigMaps of the journal away, or choose another namespace"
    )]
    OtherCluster { place: String, recorded: RecordedIn, cluster: String },
    /// A segment between two others does not exist.
    #[error(
        "{place} does not exist, although a later one does; restore it, or move the ConfigMaps of the \
         journal away"
    )]
    Gap { place: String },
    /// The `ConfigMap` holds something else too, or is being deleted.
    #[error("{place} {defect}")]
    Defect { place: String, defect: String },
    /// The journal was edited or restored, so it is unknown which leader appended last.
    #[error("{place}: {doubt}; leaders append again when that is resolved")]
    Doubtful { place: String, doubt: ChainDoubt },
    /// A later leader has written to the journal, or is elected.
    #[error("{place} has records of a later leader: this process does not lead any more")]
    Overtaken { place: String },
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

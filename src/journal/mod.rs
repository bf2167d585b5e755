//! Records of this tool about each cluster: the journal of writes, and the absent controllers that earlier runs found.
//!
//! The journal of writes is in a file of this machine, or in segments: `ConfigMap`s of a namespace of
//! the cluster. Both hold the same lines.
//!
//! - [`Log`] appends to the file, `journal.jsonl`: each request before it is sent, and its outcome.
//! - [`SegmentLog`] does so to the segments. It knows no API server: what stores them is a
//!   [`SegmentStore`], which `apply` implements.
//! - [`history()`] reads the file, [`history_of_segments`] the segments, whatever happened to them since.
//! - [`rate`] counts what was done lately, for limits that a restart must not lift, and tells
//!   which requests may destroy something.
//! - [`kept_backend`] is the format of the record of kept backend volumes in the cluster, for the
//!   code that reads it and for the code that writes it.
//! - [`announcement`] is the format of the records of announcements in the cluster, and of vetoes.
//! - [`line`] is the format of the lines of the journal, with a version of its own.
//! - [`sightings`] is the record of absent controllers.
//!
//! Pre-images are volumes, claims and attachments as the API server returned them: they contain
//! names of Secrets, never their contents. Messages contain line numbers and names of types,
//! nothing else that was read.

pub(crate) mod announcement;
pub(crate) mod chain;
pub(crate) mod error;
pub mod history;
pub(crate) mod history_reader;
pub(crate) mod kept_backend;
pub(crate) mod line;
pub(crate) mod log;
pub mod rate;
pub(crate) mod segment;
pub(crate) mod segment_log;
pub(crate) mod sightings;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::platform::{private_file, state_folder};

pub use error::{JournalConsequence, JournalError, SegmentFailure};
pub use history::{Entry, EntryOutcome, History, HistoryDoubt};
pub use history_reader::history;
pub(crate) use history_reader::history_of_segments;
pub use line::{Backend, Intent, Outcome, SentRequest, Term};
pub use log::{JournalRecord, Log};
pub(crate) use segment::{Segment, SegmentEnd, SegmentStore, SegmentWrite};
pub use segment_log::Opening;
pub(crate) use segment_log::{SegmentBounds, SegmentLog};

/// The name of the journal in the folder of a cluster.
const JOURNAL: &str = "journal.jsonl";

/// Returns the folder of a cluster: `kubectl-storage/<id>` in the folder for state, where the id is the
/// uid of its namespace `kube-system`, or a hash of server URL and CA where the namespace may not be
/// read.
///
/// `None` without a home directory.
pub(crate) fn folder(
    cluster_uid: Option<&str>,
    server: &str,
    authority: &[Vec<u8>],
) -> Option<PathBuf> {
    let home = home()?;
    let plain = |uid: &&str| uid.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let id = cluster_uid.filter(plain).filter(|uid| !uid.is_empty()).map_or_else(
        || {
            let mut hash = Sha256::new_with_prefix(server);
            for certificate in authority {
                hash.update(certificate);
            }
            let digest = hash.finalize();
            let short: [u8; 16] = std::array::from_fn(|index| digest[index]);
            format!("server-{:032x}", u128::from_be_bytes(short))
        },
        str::to_owned,
    );
    Some(home.join(id))
}

/// Returns the parent of the folders of all clusters; `None` without a home directory.
pub(crate) fn home() -> Option<PathBuf> {
    Some(state_folder()?.join("kubectl-storage"))
}

/// Returns the folders of all clusters that contain a journal, in the order of their names.
///
/// # Errors
/// When they cannot be listed; a missing parent is no error.
pub(crate) fn folders(home: &Path) -> io::Result<Vec<PathBuf>> {
    let listed = match fs::read_dir(home) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut folders = Vec::new();
    for entry in listed {
        let folder = entry?.path();
        if folder.join(JOURNAL).exists() {
            folders.push(folder);
        }
    }
    folders.sort();
    Ok(folders)
}

/// Returns the journal in the folder of a cluster.
pub(crate) fn file(folder: &Path) -> PathBuf {
    folder.join(JOURNAL)
}

/// Creates a file that only its owner may read.
fn create_private_file(path: &Path) -> io::Result<fs::File> {
    private_file().create(true).truncate(true).open(path)
}

#[cfg(test)]
mod tests;

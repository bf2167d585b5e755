//! Files of our own: what earlier runs saw, and what was done.
//!
//! - [`Log`] writes the journal of writes, `journal.jsonl`: what is about to be sent, before it is
//!   sent, and what became of it (DESIGN 5).
//! - [`history()`] reads it back, whatever happened to it since.
//! - [`kept`] is what the record of kept backends in the cluster looks like: whoever reads clusters
//!   reads it, and whoever writes to them writes it.
//! - [`record`] is what its lines look like, with a version of their own.
//! - [`sightings`] records of which controllers nothing was found.
//!
//! Pre-images are volumes and claims as the API server returned them, never a Secret: those hold
//! names of secrets, not what is in them. Nothing here prints what it read, but for the numbers of
//! lines and the names of types.

pub mod error;
pub mod history;
pub mod kept;
pub mod log;
pub mod record;
pub mod sightings;

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

pub use error::{Consequence, JournalError};
pub use history::{Ended, Entry, History, history};
pub use log::Log;
pub use record::{Backend, Intent, Outcome, Request};

/// The journal of writes in our folder for a cluster.
const JOURNAL: &str = "journal.jsonl";

/// Returns our folder for a cluster: `$XDG_STATE_HOME/kubectl-storage/<id>`, where the id is the
/// uid of its namespace `kube-system`, or a hash of what leads to it where that may not be read.
///
/// `None` when there is no home.
pub fn folder(cluster_uid: Option<&str>, server: &str, authority: &[Vec<u8>]) -> Option<PathBuf> {
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

/// Returns where our folders of all clusters are; `None` when there is no home.
pub fn home() -> Option<PathBuf> {
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| env::home_dir().map(|home| home.join(".local/state")))?;
    Some(state.join("kubectl-storage"))
}

/// Returns our folders of all clusters that hold a journal of writes, in the order of their names.
///
/// # Errors
/// When they cannot be listed; that there are none yet is no error.
pub fn folders(home: &Path) -> io::Result<Vec<PathBuf>> {
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

/// The file that holds the journal of writes in our folder for a cluster.
pub fn file(folder: &Path) -> PathBuf {
    folder.join(JOURNAL)
}

/// Creates a folder that only its owner may enter.
fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Creates a file that only its owner may read.
fn create_private_file(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests;

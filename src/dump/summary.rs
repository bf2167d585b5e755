//! Summary of a file that was read: its lists, its counts, and whether it was read to its end. This
//! is the evidence for what does not exist in the cluster.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::piece::Origin;

/// What was found in one file, or in one file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSummary {
    /// The name that [`Origin`] prints.
    pub path: Arc<str>,
    /// How it is written.
    pub format: FileFormat,
    /// Which tool laid out the folder or archive it comes from.
    pub layout: FileLayout,
    /// Which part of the cluster its place in that layout promises.
    pub scope: FileScope,
    /// When the dump was taken, where the layout says so. Read by the clock of the machine that
    /// took it, not by that of the API server.
    pub taken_at: Option<DateTime<Utc>>,
    /// Objects delivered.
    pub objects: u64,
    /// Lines of our own delivered.
    pub records: u64,
    /// Pieces delivered as broken.
    pub broken: u64,
    /// Documents passed over in silence: valid, without `kind`, `apiVersion` and a name, in a file
    /// that nobody named. Folders of diagnostics are full of them.
    pub foreign: u64,
    /// The lists that began in this file, whether they have items or not.
    pub lists: Vec<ListSummary>,
    /// Whether the file was read to its end, and its end is really there. A single bad object
    /// does not change this; it spoils its list only.
    pub intact: bool,
}

/// A list. Only a typed one (`PersistentVolumeList`) is evidence of what it does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListSummary {
    /// Where it begins.
    pub origin: Origin,
    /// Empty when the list names none.
    pub api_version: String,
    /// `List`, `PersistentVolumeList`…; empty when the list names none.
    pub kind: String,
    /// Objects delivered.
    pub items: u64,
    /// Items delivered as broken.
    pub broken: u64,
    /// Whether it says that more pages follow it.
    pub continues: bool,
    /// Whether all that the API server had to say is here: the list ends, no pages follow it, every
    /// item could be read, and so could the file. The last of several pages looks complete as well.
    pub complete: bool,
}

impl ListSummary {
    /// Returns the kind of which this is evidence, present or absent: `PersistentVolume` for a
    /// `PersistentVolumeList`, nothing for a plain `List`.
    pub fn of(&self) -> Option<&str> {
        self.kind.strip_suffix("List").filter(|kind| !kind.is_empty())
    }
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// JSON: an object, a list, several one after the other, one in each line.
    Json,
    /// YAML: one document or several.
    Yaml,
    /// The dump of [`DumpWriter`](super::DumpWriter).
    OwnDump,
    /// A must-gather's note of when it was taken.
    Timestamp,
    /// Nothing could be made of it.
    Unknown,
}

/// Which tool laid out a folder or an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileLayout {
    /// None that is known.
    Loose,
    /// `oc adm must-gather`, `oc adm inspect` or crust-gather.
    Gathered,
    /// `kubectl cluster-info dump`, which holds neither volumes nor claims.
    ClusterInfoDump,
}

/// The part of the cluster that a file speaks of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileScope {
    /// Its place does not say. A typed list in it may be that of one namespace.
    Unknown,
    /// What lives in no namespace.
    Cluster,
    /// One namespace.
    Namespace(String),
}

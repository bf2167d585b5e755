//! The epoch of a leader, which every record of it carries.

use serde::{Deserialize, Serialize};

/// The time for which one process leads without a break. Of two terms of one Lease the later one has
/// more transitions; a Lease that was deleted and created again has another uid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// The uid of the Lease.
    pub lease: String,
    /// How often the holder had changed when it began.
    pub transitions: u64,
}

/// What each line of the journal in a cluster says of where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Author {
    /// The uid of the cluster: that of its namespace `kube-system`. A restored segment has that of
    /// the cluster in which it was recorded.
    pub(crate) cluster: String,
    /// The epoch of the leader that appends; `None` for a person's command.
    pub(crate) term: Option<Term>,
}

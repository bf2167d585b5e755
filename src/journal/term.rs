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

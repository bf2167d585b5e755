//! Sources: what clusters, dumps and answers contain becomes changes of a `Cluster`.
//!
//! - [`intake`]: owns the `Cluster` while it is read; saves, folds and applies what arrives.
//! - [`live`]: lists and watches of a cluster.
//! - [`answers`]: answers to questions about single objects.
//! - [`documents`]: dumps in files, archives, folders and on standard input.
//! - `deletion_witness`: how the deletion of volumes was seen by a watch.
//! - `records`, `answer_line`, `announcements_line`, `custom_users_line`, `kept_backend_line`: the lines of our own dumps
//!   that are not Kubernetes objects.

mod custom_users_line;
mod announcements_line;
mod answer_line;
mod kept_backend_line;
mod records;
mod deletion_witness;
pub mod intake;
pub mod answers;
pub mod live;
pub mod documents;

pub(crate) use records::DumpHeader;

//! Sources of a `Cluster`: what clusters, dumps and answers contain becomes changes of it.
//!
//! - [`intake`]: owns the `Cluster` while it is read; saves, folds and applies what arrives, and
//!   remembers how a watch saw the deletion of volumes.
//! - [`live`]: lists and watches of a cluster.
//! - [`answers`]: answers to questions about single objects.
//! - [`kubelets`]: how full volumes are, by the kubelets of the nodes that mount them.
//! - [`documents`]: dumps in files, archives, folders and on standard input.
//! - `records`, `answer_line`: the lines of our own dumps that are not Kubernetes objects.

mod answer_line;
mod records;
pub mod intake;
pub mod answers;
pub mod live;
pub(crate) mod kubelets;
pub mod documents;

pub(crate) use records::DumpHeader;

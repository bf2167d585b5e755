//! The state of a cluster as far as it was read: rows, indexes, coverage; and lookups in it.
//!
//! One task owns a [`Cluster`] and applies [`Change`]s to it, whatever their source. Lookups return
//! [`Seen`], so that not read is never taken for absent: `Ok(None)` means known to be absent, `Err`
//! means not read. There are no locks, no clock and no I/O in here.

mod access;
mod beyond;
mod coverage;
mod cx;
mod indexes;
mod places;
mod recognition;
mod rows;
mod store;
mod table;
mod touch;

pub use beyond::{
    ClustersBeside, CommonKeys, NamedBeyond, NamedClusters, NamedStorage, PackedReferences,
    ReferencesOfClusters, ReferencingVolume, StorageReference,
};
pub(crate) use coverage::{Coverage, Seen, Unseen};
pub use cx::{Cx, Facts, Lookup, Others};
pub use places::Placed;
pub use store::{Change, Cluster, Doubt, Gap, OddObject, Reach};
pub(crate) use touch::for_each_judged_row;
pub use touch::{Dirty, Subject};

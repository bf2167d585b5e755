//! Our look at a cluster: the rows, their indexes, and what was not seen.
//!
//! One task owns a [`Cluster`] and feeds it [`Change`]s, wherever they come from. Lookups answer
//! with [`Seen`], so that nobody can take silence for absence: `Ok(None)` means known to be
//! absent, `Err` means not seen. There are no locks, no clock and no I/O in here.

mod change;
mod coverage;
mod cx;
mod dirty;
mod index;
mod indexes;
mod rows;
mod store;
mod table;
mod touch;

pub use change::{Change, Gap, Reach};
pub use coverage::{Coverage, Seen, Unseen};
pub use cx::{Cx, Facts, Lookup};
pub(crate) use dirty::for_each_judged_row;
pub use dirty::{Dirty, Subject};
pub use store::Cluster;

//! Door in: everything that is read becomes a change of the cluster that is judged.

mod kept;
mod saved;
pub mod intake;
pub mod answers;
pub mod live;
pub mod dumped;

pub use kept::Kept;
pub use saved::{DumpHeader, SavedSighting};

//! Door in: everything that is read becomes a change of the cluster that is judged.

mod kept;
mod records;
pub mod intake;
pub mod answers;
pub mod live;
pub mod documents;

pub use kept::Kept;
pub use records::{DumpHeader, SavedSighting};

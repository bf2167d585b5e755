//! Door in: everything that is read becomes a change of the cluster that is judged.

mod kept_backend_line;
mod saved;
pub mod intake;
pub mod answers;
pub mod live;
pub mod dumped;

pub use saved::Header;

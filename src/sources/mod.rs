//! Door in: everything that is read becomes a change of the cluster that is judged.

pub mod objects;

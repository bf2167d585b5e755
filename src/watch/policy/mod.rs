//! The policy file of `watch`.

pub mod report;

//! `kubectl storage`: finds and repairs what goes wrong with Kubernetes storage.

pub mod sources;
pub mod output;

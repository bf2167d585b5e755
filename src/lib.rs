//! `kubectl storage`: finds and repairs what goes wrong with Kubernetes storage.

pub mod output;
pub mod sources;

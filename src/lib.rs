//! `kubectl storage`: finds and repairs what goes wrong with Kubernetes storage.

pub mod model;
pub mod cluster;
pub mod sources;
pub mod facts;
pub mod output;

//! `kubectl storage`: finds and repairs what goes wrong with Kubernetes storage.

pub mod cluster;
pub mod facts;
pub mod model;
pub mod output;
pub mod remedies;
pub mod rules;
pub mod sources;

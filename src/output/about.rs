//! What every shape says of the cluster, of the tool, and of the durations that ages were compared with.

use std::collections::BTreeMap;

use super::wire::{ClusterIdentity, Tool};
use crate::cluster::Cluster;
use crate::model::{Settings, Threshold, format_duration};

/// Tells which cluster it is about.
pub(super) fn cluster_identity(cluster: &Cluster) -> ClusterIdentity {
    let server = cluster.server().cloned().unwrap_or_default();
    let owned = |text: Option<Box<str>>| text.map(String::from);
    ClusterIdentity {
        uid: owned(server.cluster_uid),
        server: owned(server.url),
        version: owned(server.git_version),
    }
}

/// Tells which tool this is.
pub(super) fn tool() -> Tool {
    Tool { version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// Tells every duration that ages were compared with.
pub(super) fn thresholds(settings: &Settings) -> BTreeMap<String, String> {
    let text = |threshold: Threshold| format_duration(settings.thresholds.get(threshold));
    Threshold::ALL.into_iter().map(|it| (it.name().to_owned(), text(it))).collect()
}

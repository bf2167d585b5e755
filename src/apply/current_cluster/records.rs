//! The records that this tool keeps in the cluster.

use super::CurrentCluster;
use crate::apply::config_map::{self, StoredConfigMap};
use crate::client::ReadError;

impl CurrentCluster {
    /// Reads a `ConfigMap` in the namespace of the records; `None` where it does not exist.
    pub(in crate::apply) async fn record(
        &self,
        name: &str,
    ) -> Result<Option<StoredConfigMap>, ReadError> {
        config_map::read(&self.reader, &self.settings.recording.namespace, name).await
    }
}

//! The records that this tool keeps in the cluster.

use std::sync::Arc;

use super::CurrentCluster;
use crate::apply::config_map::{self, StoredConfigMap};
use crate::client::ReadError;
use crate::facts;
use crate::model::Announcements;

impl CurrentCluster {
    /// Reads a `ConfigMap` in the namespace of the records; `None` where it does not exist.
    pub(in crate::apply) async fn record(
        &self,
        name: &str,
    ) -> Result<Option<StoredConfigMap>, ReadError> {
        config_map::read(&self.reader, &self.settings.recording.namespace, name).await
    }

    /// Looks for a `ConfigMap` among those of the namespace of the records; `None` where it is not
    /// there.
    pub(in crate::apply) async fn listed_record(
        &self,
        name: &str,
    ) -> Result<Option<StoredConfigMap>, ReadError> {
        config_map::find(&self.reader, &self.settings.recording.namespace, name).await
    }

    /// Returns what is recorded of announcements, as it was last read; nothing where it was not, and
    /// then nothing is announced either.
    pub(in crate::apply) fn announcements(&self) -> Arc<Announcements> {
        let state = self.state.borrow();
        facts::announcements(&state.cx(&self.settings)).unwrap_or_default()
    }
}

//! Reads, creates and replaces one `ConfigMap` of this tool.

use std::collections::BTreeMap;

use super::config_map::{self, ConfigMapWrite, NewConfigMap, StoredConfigMap};
use super::journal;
use super::writer::{WhoAmI, Writer, who_am_i};
use crate::client::{Connection, ReadError, Reader};

/// Reads and writes one `ConfigMap`.
pub(crate) struct RecordWriter {
    reader: Reader,
    writer: Writer,
    namespace: String,
    name: &'static str,
}

impl RecordWriter {
    /// Returns a reader and writer of the `ConfigMap` with this namespace and name.
    pub(crate) fn new(
        connection: &Connection,
        field_manager: &str,
        (namespace, name): (&str, &'static str),
    ) -> Self {
        Self {
            reader: Reader::new(connection),
            writer: Writer::new(connection, field_manager),
            namespace: namespace.to_owned(),
            name,
        }
    }

    /// Reads the `ConfigMap`; `None` where it does not exist.
    ///
    /// # Errors
    /// Why it could not be read.
    pub(crate) async fn read(&self) -> Result<Option<StoredConfigMap>, ReadError> {
        config_map::read(&self.reader, &self.namespace, self.name).await
    }

    /// Writes these keys and values to the `ConfigMap`, only if it is as it was read.
    pub(crate) async fn write(
        &self,
        over: Option<&StoredConfigMap>,
        data: &BTreeMap<String, String>,
        about: &str,
    ) -> ConfigMapWrite {
        let new = || {
            NewConfigMap {
                namespace: &self.namespace,
                name: self.name,
                labels: &[],
                about,
                data,
                immutable: false,
            }
            .request()
        };
        let request = over.map_or_else(new, |over| config_map::replace(over, data));
        config_map::send(&self.writer, &request, false).await
    }

    /// Reads the uid of the cluster.
    ///
    /// # Errors
    /// Why it is not known.
    pub(crate) async fn cluster(&self) -> Result<String, String> {
        journal::cluster(&self.reader).await
    }

    /// Asks for the user and the API server's time.
    ///
    /// # Errors
    /// Why it is not known.
    pub(crate) async fn who_am_i(&self) -> Result<WhoAmI, String> {
        who_am_i(&self.writer).await
    }
}

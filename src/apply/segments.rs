//! The segments of the journal in a cluster, as `ConfigMap`s of a namespace.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::config_map::{self, ConfigMapWrite, NewConfigMap, StoredConfigMap};
use super::lease::LeaseWriter;
use super::writer::Writer;
use crate::client::{Connection, ReadError, Reader, collection_path};
use crate::journal::segment::{SEGMENT_KEY, segment_name, segment_number, shown};
use crate::journal::{
    History, JournalConsequence, JournalError, Segment, SegmentEnd, SegmentFailure, SegmentStore,
    SegmentWrite, history_of_segments,
};

/// The label of all segments.
const LABEL: (&str, &str) = ("storage.kubectl.dev/record", "journal");
/// An annotation that explains a segment.
const ABOUT: &str = "Changes that kubectl storage made, each recorded before it was sent; \
                     `kubectl storage journal --cluster-journal` lists them. Do not edit: each line \
                     has the hash of the line before.";

/// Reads and writes the segments of a namespace.
pub(crate) struct ConfigMapSegments {
    reader: Reader,
    writer: Writer,
    namespace: String,
    /// The Lease by which leaders are elected, if one is.
    lease: Option<LeaseWriter>,
}

/// A list of `ConfigMap`s.
#[derive(Deserialize)]
struct ConfigMaps {
    items: Vec<Value>,
}

impl ConfigMapSegments {
    pub(super) fn new(
        connection: &Connection,
        field_manager: &str,
        namespace: &str,
        lease: Option<LeaseWriter>,
    ) -> Self {
        Self {
            reader: Reader::new(connection),
            writer: Writer::new(connection, field_manager),
            namespace: namespace.to_owned(),
            lease,
        }
    }
}

/// Reads the journal in a namespace of the cluster; without segments, it is an empty history.
///
/// # Errors
/// When it cannot be read.
pub(crate) async fn cluster_history(
    reader: &Reader,
    namespace: &str,
) -> Result<History, JournalError> {
    let segments = list(reader, namespace).await.map_err(|error| JournalError::InCluster {
        consequence: JournalConsequence::NotRead,
        failure: SegmentFailure::Unreadable { place: shown(namespace), reason: told(&error) },
    })?;
    Ok(history_of_segments(&segments))
}

/// Names the journal in a namespace.
pub(crate) fn cluster_journal(namespace: &str) -> String {
    shown(namespace)
}

/// Reads all segments of a namespace, in the order of their numbers.
async fn list(
    reader: &Reader,
    namespace: &str,
) -> Result<Vec<Segment<StoredConfigMap>>, ReadError> {
    let (key, value) = LABEL;
    let all = collection_path("", "v1", Some(namespace), "configmaps");
    let path = format!("{all}?labelSelector={}%3D{value}", key.replace('/', "%2F"));
    let listed = reader.get_json::<ConfigMaps>(&path).await?;
    let stored = listed.value.items.into_iter().filter_map(StoredConfigMap::of);
    let mut segments: Vec<_> = stored.filter_map(segment).collect();
    segments.sort_by_key(|it| it.number);
    // One whose label was removed is not listed. The last ones must not be missed: what is appended
    // follows from them.
    loop {
        let next = segments.last().map_or(0, |it| it.number).saturating_add(1);
        match read(reader, namespace, next).await? {
            Some(found) => segments.push(found),
            None => return Ok(segments),
        }
    }
}

async fn read(
    reader: &Reader,
    namespace: &str,
    number: u32,
) -> Result<Option<Segment<StoredConfigMap>>, ReadError> {
    let stored = config_map::read(reader, namespace, &segment_name(number)).await?;
    Ok(stored.and_then(segment))
}

/// Returns what a `ConfigMap` holds of the journal; `None` where its name is not that of a segment.
fn segment(stored: StoredConfigMap) -> Option<Segment<StoredConfigMap>> {
    Some(Segment {
        number: segment_number(stored.name())?,
        text: stored.value(SEGMENT_KEY).unwrap_or_default().to_owned(),
        closed: stored.is_immutable(),
        version: stored,
    })
}

fn told(error: &ReadError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

impl SegmentStore for ConfigMapSegments {
    type Version = StoredConfigMap;

    async fn list(&self) -> Result<Vec<Segment<StoredConfigMap>>, String> {
        list(&self.reader, &self.namespace).await.map_err(|error| told(&error))
    }

    async fn read(&self, number: u32) -> Result<Option<Segment<StoredConfigMap>>, String> {
        read(&self.reader, &self.namespace, number).await.map_err(|error| told(&error))
    }

    async fn write(
        &self,
        write: SegmentWrite<'_, StoredConfigMap>,
        rehearsal: bool,
    ) -> SegmentEnd<StoredConfigMap> {
        let data = BTreeMap::from([(SEGMENT_KEY.to_owned(), write.text.to_owned())]);
        let mut request = match write.over {
            Some(stored) => config_map::replace(stored, &data),
            None => NewConfigMap {
                namespace: &self.namespace,
                name: &segment_name(write.number),
                labels: &[LABEL],
                about: ABOUT,
                data: &data,
                immutable: false,
            }
            .request(),
        };
        if write.closed {
            request.body["immutable"] = json!(true);
        }
        match config_map::send(&self.writer, &request, rehearsal).await {
            ConfigMapWrite::Stored(stored) => match segment(stored) {
                Some(segment) => SegmentEnd::Stored(segment),
                None => SegmentEnd::Unanswered("the answer is no segment".to_owned()),
            },
            ConfigMapWrite::Overtaken => SegmentEnd::Overtaken,
            ConfigMapWrite::Refused(reason) => SegmentEnd::Refused(format!(
                "{reason} (requires get, list, create and update of configmaps in namespace {}, \
                 which must exist)",
                self.namespace
            )),
            ConfigMapWrite::Failed(reason) | ConfigMapWrite::Unanswered(reason) => {
                SegmentEnd::Unanswered(reason)
            }
        }
    }

    async fn lease(&self) -> Result<Option<String>, String> {
        let Some(lease) = &self.lease else { return Ok(None) };
        let (lease, _) = lease.read().await?;
        Ok(lease.map(|it| it.uid().to_owned()))
    }

    fn shown(&self, number: Option<u32>) -> String {
        match number {
            Some(number) => format!("configmap {}/{}", self.namespace, segment_name(number)),
            None => shown(&self.namespace),
        }
    }
}

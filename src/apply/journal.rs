//! The journal to which a run appends: the file of this machine, or the segments in the cluster, as
//! `ConfigMap`s of a namespace.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use serde::Deserialize;
use serde_json::json;
use tokio::{task::spawn_blocking, time::timeout};

use super::{
    config_map::{self, ConfigMapWrite, NewConfigMap, StoredConfigMap},
    lease::LeaseWriter,
    writer::Writer,
};
use crate::client::{self, Connection, ListForm, ListRequest, ReadError, Reader};
use crate::journal::{
    History, Intent, JournalConsequence, JournalError, JournalRecord, Log, Opening, Outcome,
    Segment, SegmentBounds, SegmentEnd, SegmentFailure, SegmentLog, SegmentStore, SegmentWrite,
    Term, history_of_segments,
    segment::{SEGMENT_KEY, number_after, segment_name, segment_number, shown},
};
use crate::model::{JournalEntryNumber, JournalPlace, Text, Time};

/// A journal that is open for appending. Clones append to the same one.
#[derive(Clone)]
pub struct OpenJournal(Place);

/// The place of an open journal.
#[derive(Clone)]
enum Place {
    /// In a file of this machine.
    File(Arc<Log>),
    /// In a namespace of the cluster.
    Cluster(Arc<SegmentLog<ConfigMapSegments>>, Text),
}

/// The leader that appends to a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalLeader {
    /// The epoch of the leader.
    pub term: Term,
    /// The namespace of the Lease that elected the leader.
    pub namespace: Text,
    /// The name of the Lease.
    pub lease: Text,
}

impl OpenJournal {
    /// Returns the journal in a file of this machine.
    pub(crate) const fn in_file(log: Arc<Log>) -> Self {
        Self(Place::File(log))
    }

    /// Opens the journal in a namespace of the cluster. `leader` is the one that appends: it begins with a record of
    /// its epoch, from which on no earlier one appends; `None` for a person's command.
    ///
    /// # Errors
    /// When lines cannot be appended to it.
    pub async fn in_cluster(
        connection: &Connection,
        field_manager: &str,
        namespace: &str,
        leader: Option<&JournalLeader>,
    ) -> Result<(Self, Opening), JournalError> {
        let lease = leader
            .map(|it| LeaseWriter::new(connection, (&it.namespace, &it.lease), SEGMENT_PATIENCE));
        let store = ConfigMapSegments::new(connection, field_manager, namespace, lease);
        let term = leader.map(|it| it.term.clone());
        let (log, opening) = SegmentLog::open(store, term, SegmentBounds::default()).await?;
        Ok((Self(Place::Cluster(Arc::new(log), namespace.into())), opening))
    }

    /// Names the journal: the path of the file, or the `ConfigMap`s.
    pub(crate) fn shown(&self) -> String {
        match &self.0 {
            Place::File(log) => log.path().display().to_string(),
            Place::Cluster(log, _) => log.shown(),
        }
    }

    /// Returns the number of the entry with this sequence, as users name it.
    pub(crate) fn numbered(&self, sequence: u64) -> JournalEntryNumber {
        let place = match &self.0 {
            Place::File(_) => JournalPlace::Machine,
            Place::Cluster(_, namespace) => JournalPlace::Cluster(Text::clone(namespace)),
        };
        JournalEntryNumber { place, sequence }
    }

    /// Ends a run: records that were stored after they had been given up are recorded as not sent.
    pub(crate) async fn settle(&self) {
        if let Place::Cluster(log, _) = &self.0 {
            log.settle().await;
        }
    }

    /// Whether the journal is on this machine only.
    pub(crate) const fn is_local(&self) -> bool {
        matches!(self.0, Place::File(_))
    }

    /// Appends records in their order, and returns the sequence of each once it is on disk or stored.
    ///
    /// # Panics
    /// Never: appending a line to a file does not panic.
    pub async fn append_all(&self, records: Vec<JournalRecord>) -> Vec<Result<u64, JournalError>> {
        match &self.0 {
            Place::File(log) => {
                let log = Arc::clone(log);
                let appended = spawn_blocking(move || log.append_all(&records)).await;
                appended.expect("because appending a line does not panic")
            }
            Place::Cluster(log, _) => log.append_all(&records).await,
        }
    }

    /// Appends an intent and returns its sequence.
    ///
    /// # Errors
    /// When it cannot be recorded: then the request must not be sent.
    pub(super) async fn begin(
        &self,
        run: &str,
        at: Option<Time>,
        intent: Intent,
    ) -> Result<u64, JournalError> {
        let (run, intent) = (run.to_owned(), Box::new(intent));
        self.append(JournalRecord::Intent { run, at, intent }).await
    }

    /// Appends an outcome of the intent with this sequence.
    ///
    /// # Errors
    /// When it cannot be recorded: then the entry stays as it was.
    pub(super) async fn end(
        &self,
        of: u64,
        at: Option<Time>,
        outcome: Outcome,
        detail: &str,
    ) -> Result<(), JournalError> {
        let detail = detail.to_owned();
        self.append(JournalRecord::Outcome { of, at, outcome, detail }).await.map(drop)
    }

    async fn append(&self, record: JournalRecord) -> Result<u64, JournalError> {
        let mut appended = self.append_all(vec![record]).await;
        appended.pop().expect("because each record is answered")
    }
}

/// The label of all segments.
const LABEL: (&str, &str) = ("storage.kubectl.dev/record", "journal");
/// An annotation that explains a segment.
const ABOUT: &str = "Changes that kubectl storage made, each recorded before it was sent; \
                     `kubectl storage journal --cluster-journal` lists them. Do not edit: each line \
                     has the hash of the line before.";

/// Number of segments in a page of a list: about a mebibyte.
const PAGE: u32 = 50;
/// Number of segments in a page of a list without their content.
const METADATA_PAGE: u32 = 500;
/// Number of segments missing from the list that are read by name.
const MISSING: u32 = 100;
/// The time within which the API server must answer about a segment: a write waits for it.
pub(super) const SEGMENT_PATIENCE: Duration = Duration::from_secs(5);

/// Reads and writes the segments of a namespace.
pub(crate) struct ConfigMapSegments {
    reader: Reader,
    writer: Writer,
    namespace: String,
    /// The Lease by which leaders are elected, if one is.
    lease: Option<LeaseWriter>,
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
pub async fn cluster_history(reader: &Reader, namespace: &str) -> Result<History, JournalError> {
    let (segments, cluster) = futures::join!(list(reader, namespace), cluster(reader));
    let segments = segments.map_err(|error| JournalError::InCluster {
        consequence: JournalConsequence::NotRead,
        failure: SegmentFailure::Unreadable { place: shown(namespace), reason: told(&error) },
    })?;
    let cluster = cluster.as_deref().map_err(String::as_str);
    let mut history = history_of_segments(&segments, cluster);
    history.place = JournalPlace::Cluster(namespace.into());
    Ok(history)
}

#[derive(Deserialize)]
struct ListedSegment {
    metadata: ListedMetadata,
}

#[derive(Deserialize)]
struct ListedMetadata {
    name: String,
    namespace: String,
}

/// Returns the namespaces that hold a journal: among all, if the user may list the `ConfigMap`s of all, else among
/// those that are `likely` to. What cannot be listed is not known.
pub(crate) async fn journal_namespaces(reader: &Reader, likely: &[&str]) -> BTreeSet<String> {
    if let Ok(all) = holding(reader, None).await {
        return all;
    }
    let mut found = BTreeSet::new();
    for namespace in likely {
        found.extend(holding(reader, Some(namespace)).await.unwrap_or_default());
    }
    found
}

/// Lists the metadata of segments, and returns the namespaces of these.
async fn holding(reader: &Reader, namespace: Option<&str>) -> Result<BTreeSet<String>, ReadError> {
    let request = ListRequest { form: ListForm::Metadata, ..request(namespace, METADATA_PAGE) };
    let listed = client::list_json::<ListedSegment>(reader, &request).await?.value;
    let segments = listed.into_iter().map(|it| it.metadata);
    let segments = segments.filter(|it| segment_number(&it.name).is_some());
    Ok(segments.map(|it| it.namespace).collect())
}

/// The request for the segments of a namespace, or of all, with `limit` segments in a page.
fn request(namespace: Option<&str>, limit: u32) -> ListRequest {
    let (key, value) = LABEL;
    ListRequest {
        namespace: namespace.map(str::to_owned),
        label_selector: Some(format!("{key}={value}")),
        page: Some(limit),
        ..config_map::all()
    }
}

/// Names the journal in a namespace, for users.
pub(crate) fn cluster_journal(namespace: &str) -> String {
    shown(namespace)
}

/// Reads the uid of the cluster. `Err` is why it is not known.
pub(super) async fn cluster(reader: &Reader) -> Result<String, String> {
    match client::cluster_uid(reader).await {
        Ok(Some(uid)) if !uid.is_empty() => Ok(uid),
        Ok(_) => Err("you may not get namespace kube-system".to_owned()),
        Err(error) => Err(told(&error)),
    }
}

/// Reads all segments of a namespace, in the order of their numbers.
async fn list(
    reader: &Reader,
    namespace: &str,
) -> Result<Vec<Segment<StoredConfigMap>>, ReadError> {
    let listed = client::list_json(reader, &request(Some(namespace), PAGE)).await?.value;
    let stored = listed.into_iter().filter_map(StoredConfigMap::of);
    let mut segments: BTreeMap<_, _> =
        stored.filter_map(segment).map(|it| (it.number, it)).collect();
    // One whose label was removed is not listed. None may be missed: what is appended follows from the
    // last ones, and what is judged rests on all of them.
    let mut looked = 0;
    let mut before = 0;
    let mut unlisted = BTreeMap::new();
    for &number in segments.keys() {
        // The first ones may have been moved away.
        if before > 0 {
            for missing in before + 1..number {
                looked += 1;
                if looked > MISSING {
                    break;
                }
                unlisted.extend(read(reader, namespace, missing).await?.map(|it| (missing, it)));
            }
        }
        before = number;
    }
    let mut first = segments.keys().next().copied().unwrap_or_default();
    while first > 1 {
        first -= 1;
        let Some(found) = read(reader, namespace, first).await? else { break };
        unlisted.insert(first, found);
    }
    segments.extend(unlisted);
    let mut last = segments.keys().next_back().copied().unwrap_or_default();
    while let Some(next) = number_after(last) {
        let Some(found) = read(reader, namespace, next).await? else { break };
        segments.insert(next, found);
        last = next;
    }
    Ok(segments.into_values().collect())
}

async fn read(
    reader: &Reader,
    namespace: &str,
    number: u32,
) -> Result<Option<Segment<StoredConfigMap>>, ReadError> {
    let stored = config_map::read(reader, namespace, &segment_name(number)).await?;
    Ok(stored.and_then(segment))
}

/// Returns the segment in a `ConfigMap`; `None` where its name is not that of a segment.
fn segment(stored: StoredConfigMap) -> Option<Segment<StoredConfigMap>> {
    let (key, value) = LABEL;
    let foreign = stored.keys().any(|it| it != SEGMENT_KEY);
    let defect = if stored.is_terminating() {
        Some("is being deleted".to_owned())
    } else if foreign || stored.value(SEGMENT_KEY).is_none() {
        Some(format!("is not a segment of the journal: its only key must be {SEGMENT_KEY}"))
    } else if stored.label(key) != Some(value) {
        Some(format!("has no label {key}={value}: it was edited"))
    } else {
        None
    };
    Some(Segment {
        number: segment_number(stored.name())?,
        created: stored.created(),
        defect,
        text: stored.value(SEGMENT_KEY).unwrap_or_default().to_owned(),
        closed: stored.is_immutable(),
        version: stored,
    })
}

fn unanswered() -> String {
    format!("no answer came within {}s", SEGMENT_PATIENCE.as_secs())
}

fn told(error: &ReadError) -> String {
    // The permissions that it is about are those of `audit`.
    match error.hint().filter(|_| !error.is_forbidden()) {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

impl SegmentStore for ConfigMapSegments {
    type Version = StoredConfigMap;

    async fn cluster(&self) -> Result<String, String> {
        cluster(&self.reader).await
    }

    async fn list(&self) -> Result<Vec<Segment<StoredConfigMap>>, String> {
        list(&self.reader, &self.namespace).await.map_err(|error| told(&error))
    }

    async fn read(&self, number: u32) -> Result<Option<Segment<StoredConfigMap>>, String> {
        let read = read(&self.reader, &self.namespace, number);
        timeout(SEGMENT_PATIENCE, read)
            .await
            .map_err(|_| unanswered())?
            .map_err(|error| told(&error))
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
        let Ok(sent) =
            timeout(SEGMENT_PATIENCE, config_map::send(&self.writer, &request, rehearsal)).await
        else {
            return SegmentEnd::Unanswered { reason: unanswered(), after: None };
        };
        match sent {
            ConfigMapWrite::Stored(stored) => match segment(stored) {
                Some(segment) => SegmentEnd::Stored(segment),
                None => SegmentEnd::Unanswered {
                    reason: "the answer is no segment".to_owned(),
                    after: None,
                },
            },
            ConfigMapWrite::Overtaken => SegmentEnd::Overtaken,
            ConfigMapWrite::Refused(reason) => SegmentEnd::Refused(format!(
                "{reason} (requires get, list, create and update of configmaps in namespace {}, \
                 which must exist)",
                self.namespace
            )),
            ConfigMapWrite::Failed { reason, after } => SegmentEnd::Unanswered { reason, after },
            ConfigMapWrite::Unanswered(reason) => SegmentEnd::Unanswered { reason, after: None },
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

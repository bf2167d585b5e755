//! The journal to which a run appends: the file of this machine, or the segments in the cluster.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::lease::LeaseWriter;
use super::segments::{ConfigMapSegments, WAIT as SEGMENT_PATIENCE};
use crate::client::Connection;
use crate::journal::{
    Intent, JournalError, JournalRecord, Log, Opening, Outcome, SegmentBounds, SegmentLog, Term,
};
use crate::model::{JournalEntryNumber, JournalPlace, Text, Time};

/// A journal that is open for appending. Clones append to the same one.
#[derive(Clone)]
pub struct OpenJournal(Place);

/// Where it is.
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
    /// Its epoch.
    pub term: Term,
    /// The namespace of the Lease by which it was elected.
    pub namespace: Text,
    /// The name of the Lease.
    pub lease: Text,
}

impl OpenJournal {
    /// The journal in a file of this machine.
    pub(crate) const fn in_file(log: Arc<Log>) -> Self {
        Self(Place::File(log))
    }

    /// Opens the journal in a namespace of the cluster. `leader` is the one that appends: it begins with a
    /// record of its epoch, from which on no earlier one appends; `None` for a person's command.
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

    /// Names it: the path of the file, or the `ConfigMap`s.
    pub(crate) fn shown(&self) -> String {
        match &self.0 {
            Place::File(log) => log.path().display().to_string(),
            Place::Cluster(log, _) => log.shown(),
        }
    }

    /// Returns how people name the entry with this sequence.
    pub(crate) fn numbered(&self, sequence: u64) -> JournalEntryNumber {
        let place = match &self.0 {
            Place::File(_) => JournalPlace::Machine,
            Place::Cluster(_, namespace) => JournalPlace::Cluster(Text::clone(namespace)),
        };
        JournalEntryNumber { place, sequence }
    }

    /// Ends a run: what was stored after it had been given up is recorded as not sent.
    pub(crate) async fn settle(&self) {
        if let Place::Cluster(log, _) = &self.0 {
            log.settle().await;
        }
    }

    /// Whether it is on this machine only.
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

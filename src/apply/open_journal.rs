//! The journal to which a run appends: the file of this machine, or the segments in the cluster.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::lease::LeaseWriter;
use super::segments::ConfigMapSegments;
use crate::client::Connection;
use crate::journal::{
    Intent, JournalError, JournalRecord, Log, Opening, Outcome, SegmentBounds, SegmentLog, Term,
};
use crate::model::{JournalEntryNumber, JournalPlace, Text, Time};

/// A journal that is open for appending. Clones append to the same one.
#[derive(Clone)]
pub(crate) enum OpenJournal {
    /// In a file of this machine.
    File(Arc<Log>),
    /// In a namespace of the cluster.
    Cluster(Arc<SegmentLog<ConfigMapSegments>>, Text),
}

impl OpenJournal {
    /// Opens the journal in a namespace of the cluster. `leading` is the epoch of the leader that
    /// appends, with the Lease that elected it; `None` for a person's command.
    ///
    /// # Errors
    /// When lines cannot be appended to it.
    pub(crate) async fn in_cluster(
        connection: &Connection,
        field_manager: &str,
        namespace: &str,
        leading: Option<(Term, LeaseWriter)>,
    ) -> Result<(Self, Opening), JournalError> {
        let (term, lease) = leading.unzip();
        let store = ConfigMapSegments::new(connection, field_manager, namespace, lease);
        let (log, opening) = SegmentLog::open(store, term, SegmentBounds::default()).await?;
        Ok((Self::Cluster(Arc::new(log), namespace.into()), opening))
    }

    /// Names it: the path of the file, or the `ConfigMap`s.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::File(log) => log.path().display().to_string(),
            Self::Cluster(log, _) => log.shown(),
        }
    }

    /// Returns how people name the entry with this sequence.
    pub(crate) fn numbered(&self, sequence: u64) -> JournalEntryNumber {
        let place = match self {
            Self::File(_) => JournalPlace::Machine,
            Self::Cluster(_, namespace) => JournalPlace::Cluster(Text::clone(namespace)),
        };
        JournalEntryNumber { place, sequence }
    }

    /// Ends a run: what was stored after it had been given up is recorded as not sent.
    pub(crate) async fn settle(&self) {
        if let Self::Cluster(log, _) = self {
            log.settle().await;
        }
    }

    /// Whether it is on this machine only.
    pub(crate) const fn is_local(&self) -> bool {
        matches!(self, Self::File(_))
    }

    /// Appends records in their order, and returns the sequence of each once it is on disk or stored.
    pub(crate) async fn append_all(
        &self,
        records: Vec<JournalRecord>,
    ) -> Vec<Result<u64, JournalError>> {
        match self {
            Self::File(log) => {
                let log = Arc::clone(log);
                let appended = spawn_blocking(move || log.append_all(&records)).await;
                appended.expect("because appending a line does not panic")
            }
            Self::Cluster(log, _) => log.append_all(&records).await,
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

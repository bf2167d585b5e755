//! Appends to the journal for changes that are under way at the same time.

use std::cell::RefCell;

use tokio::sync::{Mutex, oneshot};

use super::open_journal::OpenJournal;
use crate::journal::{JournalError, JournalRecord};
use crate::model::JournalEntryNumber;

/// A record that waits to be appended, and who waits for its sequence.
type Waiting = (JournalRecord, oneshot::Sender<Result<u64, JournalError>>);

/// Appends records that wait at the same time together: they wait for the disk, or for the API server,
/// once, and none of them returns before its line is stored. The other changes go on meanwhile.
pub(super) struct JournalQueue {
    journal: OpenJournal,
    waiting: RefCell<Vec<Waiting>>,
    /// Held while lines are being written.
    writing: Mutex<()>,
}

impl JournalQueue {
    /// Returns a queue for a journal.
    pub(super) fn new(journal: &OpenJournal) -> Self {
        Self { journal: journal.clone(), waiting: RefCell::default(), writing: Mutex::new(()) }
    }

    /// Returns how people name the entry with this sequence.
    pub(super) fn numbered(&self, sequence: u64) -> JournalEntryNumber {
        self.journal.numbered(sequence)
    }

    /// Appends a record and returns its sequence once it is stored.
    pub(super) async fn append(&self, record: JournalRecord) -> Result<u64, JournalError> {
        let (answer, mut answered) = oneshot::channel();
        self.waiting.borrow_mut().push((record, answer));
        let writing = self.writing.lock().await;
        // Another change has appended it.
        if let Ok(appended) = answered.try_recv() {
            return appended;
        }
        let (records, answers): (Vec<_>, Vec<_>) = self.waiting.take().into_iter().unzip();
        let appended = self.journal.append_all(records).await;
        for (answer, appended) in answers.into_iter().zip(appended) {
            // Whoever has stopped waiting needs no answer.
            let _ = answer.send(appended);
        }
        drop(writing);
        answered.try_recv().expect("because its record was among those that waited")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::future::join_all;

    use super::{JournalQueue, OpenJournal};
    use crate::journal::{JournalRecord, Log, Outcome};

    fn outcome(of: u64) -> JournalRecord {
        JournalRecord::Outcome { of, at: None, outcome: Outcome::Done, detail: String::new() }
    }

    #[tokio::test]
    async fn each_record_gets_its_own_sequence_in_the_order_of_asking() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = Arc::new(Log::open(folder.path()).expect("writable"));
        let queue = JournalQueue::new(&OpenJournal::in_file(Arc::clone(&log)));
        let sequences = join_all((0..20).map(|of| queue.append(outcome(of)))).await;
        let sequences: Vec<_> = sequences.into_iter().map(|it| it.expect("room")).collect();
        assert_eq!(sequences, (1..=20).collect::<Vec<_>>());
        let text = std::fs::read_to_string(log.path()).expect("readable");
        let of = |line: &str| -> Option<u64> {
            serde_json::from_str::<serde_json::Value>(line).ok()?["of"].as_u64()
        };
        let written: Vec<_> = text.lines().map(of).collect();
        assert_eq!(written, (0..20).map(Some).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn an_error_reaches_everybody_who_waits_with_its_own_consequence() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = Arc::new(Log::open(folder.path()).expect("writable"));
        std::fs::remove_file(log.path()).expect("it exists");
        let queue = JournalQueue::new(&OpenJournal::in_file(Arc::clone(&log)));
        let ended = join_all((1..4).map(|of| queue.append(outcome(of)))).await;
        let told: Vec<_> = ended.into_iter().map(|it| it.expect_err("gone").to_string()).collect();
        for (of, told) in (1..4).zip(&told) {
            assert!(told.starts_with(&format!("how entry {of} ended is not recorded")), "{told}");
        }
    }
}

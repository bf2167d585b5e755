//! State that concurrent changes share: turns, which limit how many changes of a lane read and send at once, and the
//! queue in which changes append to the journal.

use std::{
    cell::{Cell, RefCell},
    time::Duration,
};

use tokio::{
    sync::{Mutex, Notify, Semaphore, SemaphorePermit, oneshot},
    time::timeout,
};

use super::journal::OpenJournal;
use crate::journal::{JournalError, JournalRecord};
use crate::model::JournalEntryNumber;

/// The turns of a lane of changes.
pub(super) struct LaneTurns {
    turns: Semaphore,
    /// Number of changes that have not ended their first turn.
    left: Cell<usize>,
    all_had_one: Notify,
}

impl LaneTurns {
    /// Returns the turns of this many changes.
    pub(super) fn new(turns: usize, changes: usize) -> Self {
        let all_had_one = Notify::new();
        Self { turns: Semaphore::new(turns), left: Cell::new(changes), all_had_one }
    }
}

/// The right of a change to read, to judge and to send. The next change of its lane waits for it.
pub(super) struct Turn<'a> {
    lane: &'a LaneTurns,
    permit: Cell<Option<SemaphorePermit<'a>>>,
    is_first: Cell<bool>,
}

impl<'a> Turn<'a> {
    /// Waits for a turn; turns are given in the order of the calls.
    pub(super) async fn wait(lane: &'a LaneTurns) -> Self {
        let turn = Self { lane, permit: Cell::new(None), is_first: Cell::new(true) };
        turn.wait_again().await;
        turn
    }

    /// Waits for another turn, if this one was passed.
    pub(super) async fn wait_again(&self) {
        if let Some(held) = self.permit.take() {
            self.permit.set(Some(held));
            return;
        }
        let permit = self.lane.turns.acquire().await;
        self.permit.set(Some(permit.expect("because nothing closes the semaphore of a lane")));
    }

    /// Lets the next change begin while the effect of this one settles.
    pub(super) fn pass(&self) {
        self.permit.take();
        if self.is_first.replace(false) {
            self.lane.left.set(self.lane.left.get().saturating_sub(1));
            if self.lane.left.get() == 0 {
                self.lane.all_had_one.notify_waiters();
            }
        }
    }

    /// Waits until every change of the lane has had a turn, but not longer than `longest`: for work that is not to
    /// delay them.
    pub(super) async fn all_had_one(&self, longest: Duration) {
        let all_had_one = self.lane.all_had_one.notified();
        if self.lane.left.get() > 0 {
            // Elapsed: it may delay them then.
            let _ = timeout(longest, all_had_one).await;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.pass();
    }
}

/// A record that waits to be appended, with the sender that reports its sequence.
type Waiting = (JournalRecord, oneshot::Sender<Result<u64, JournalError>>);

/// Appends records that wait at the same time together: they wait once for the disk, or for the API server, and none
/// returns before its line is stored. The other changes go on meanwhile.
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

    /// Returns the number of the entry with this sequence, as users name it.
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
    use std::{sync::Arc, time::Duration};

    use futures::{FutureExt as _, future::join_all};

    use super::{JournalQueue, LaneTurns, OpenJournal, Turn};
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

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn a_turn_that_was_passed_is_waited_for_again() {
        let lane = LaneTurns::new(1, 2);
        let first = Turn::wait(&lane).await;
        first.wait_again().await;
        assert!(Turn::wait(&lane).now_or_never().is_none(), "it was not passed");
        first.pass();
        let second = Turn::wait(&lane).await;
        assert!(first.wait_again().now_or_never().is_none(), "the second has it");
        drop(second);
        first.wait_again().await;
        assert!(Turn::wait(&lane).now_or_never().is_none(), "the first has it again");
    }

    #[tokio::test]
    async fn what_may_wait_waits_for_the_first_turn_of_every_change() {
        let lane = LaneTurns::new(2, 2);
        let first = Turn::wait(&lane).await;
        first.pass();
        first.wait_again().await;
        first.pass();
        assert!(first.all_had_one(LONG).now_or_never().is_none(), "the second had none");
        first.all_had_one(Duration::from_millis(1)).await;
        let second = Turn::wait(&lane).await;
        let waiting = first.all_had_one(LONG);
        let mut waiting = std::pin::pin!(waiting);
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(second);
        waiting.await;
        first.all_had_one(LONG).await;
    }
}

//! Permission to change anything: this process leads, is neither paused nor ended, and the hour has room.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Mutex, MutexGuard, watch},
    time::{sleep, timeout},
};

use super::ActingTerms;
use crate::{
    apply::{Moment, SendPermit},
    cli::Interrupt,
    client::Connection,
    journal::Term,
    model::{Text, Time},
    watch::{
        Leadership,
        acting::Breaker,
        pause::{self, Pause},
    },
};

/// Field manager of the reader of pause records, which writes nothing.
const FIELD_MANAGER: &str = "kubectl-storage";
const UNREAD: &str = "not read yet";
/// Interval at which the pause records are read.
const LOOK: Duration = Duration::from_secs(3);
/// Longest wait for an answer about the pause records.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time for which an answer holds: the next one may come four seconds late. Nothing is sent later than this after a
/// pause.
pub(in crate::cli) const HEARD: Duration = Duration::from_secs(12);

/// State of the records by which acting can be paused, as last read.
#[derive(Clone)]
pub(in crate::cli) struct ReadPause {
    pub(in crate::cli) pause: Pause,
    /// Moment at which the records were asked for.
    asked: Moment,
}

impl ReadPause {
    /// Whether the records let anything act, and were read recently: this process may have been stopped since.
    fn may_act(&self) -> bool {
        self.pause.may_act() && self.asked.elapsed() < HEARD
    }
}

/// Permit to change anything, as it stands now.
#[derive(Clone)]
pub(in crate::cli) struct Permit {
    /// Whether this process leads.
    pub(in crate::cli) leadership: Leadership,
    /// Pause records as last read; `None` where there are none, as at a terminal.
    pub(in crate::cli) pause: Option<watch::Receiver<ReadPause>>,
    /// Whether this process was asked to end.
    pub(in crate::cli) interrupt: Interrupt,
}

impl Permit {
    /// Whether this process leads.
    pub(super) fn leads(&self) -> bool {
        self.leadership.leads()
    }

    /// Whether a change may begin now.
    pub(super) fn allows(&self) -> bool {
        self.leads() && self.is_unpaused() && !self.interrupt.asked()
    }

    fn is_unpaused(&self) -> bool {
        match &self.pause {
            // A process that began without an election has no term by which the journal knows it.
            Some(pause) => self.leadership.lease().is_some() && pause.borrow().may_act(),
            None => true,
        }
    }

    /// Returns the breaker that forbids destroying anything after a long time without a leader, until a resume.
    pub(super) fn unattended(&self) -> Option<Breaker> {
        let unattended = self.leadership.unattended()?;
        let resumed = self.pause.as_ref()?.borrow().pause.since;
        (resumed.is_none_or(|it| it <= unattended.until)).then_some(Breaker::Unattended(unattended))
    }

    /// Returns the time from which on announcements count: earlier records may be incomplete.
    pub(super) fn counts_from(&self) -> Option<Time> {
        self.leadership.restarted()
    }

    /// Returns why a change that began in a term must not be written any more: this process may have been stopped
    /// since. A request to end is no reason, because the end waits for such a change.
    pub(super) fn withdrawn(&self, term: Option<&Term>) -> Option<&'static str> {
        if !self.leads() || self.leadership.term().as_ref() != term {
            Some("it is not certain that this process leads")
        } else if self.is_unpaused() {
            None
        } else {
            Some("reconcilers are paused, or may be")
        }
    }
}

/// Permit to send changes that began in one term.
pub(super) struct TermPermit {
    pub(super) permit: Permit,
    pub(super) term: Option<Term>,
}

impl SendPermit for TermPermit {
    fn withdrawn(&self) -> Option<&'static str> {
        self.permit.withdrawn(self.term.as_ref())
    }

    fn lasts(&self) -> Option<Duration> {
        let term = self.term.as_ref()?;
        let led = self.permit.leadership.led().filter(|(now, _)| now == term);
        Some(led.map_or(Duration::ZERO, |(_, left)| left))
    }
}

/// Number of runs that make changes now. Clones share it.
#[derive(Clone)]
pub(in crate::cli) struct Busy(watch::Sender<usize>);

impl Default for Busy {
    fn default() -> Self {
        Self(watch::channel(0).0)
    }
}

/// Mark that a run makes changes, until it is dropped.
pub(super) struct Making<'a>(&'a Busy);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|runs| *runs = runs.saturating_sub(1));
    }
}

impl Busy {
    /// Counts one more run that makes changes, until the mark is dropped.
    pub(super) fn begin(&self) -> Making<'_> {
        self.0.send_modify(|runs| *runs += 1);
        Making(self)
    }

    /// Whether any run makes changes.
    pub(in crate::cli) fn is_busy(&self) -> bool {
        *self.0.borrow() > 0
    }

    /// Waits until no run makes changes.
    pub(in crate::cli) async fn wait(&self) {
        let _ = self.0.subscribe().wait_for(|runs| *runs == 0).await;
    }
}

/// Reader of the records by which acting can be paused.
pub(in crate::cli) struct PauseFollower<'a> {
    connection: &'a Connection,
    /// The namespaces of the records.
    namespaces: Vec<Text>,
    /// Current terms: the records are read only while something acts.
    terms: watch::Receiver<Arc<ActingTerms>>,
    tell: watch::Sender<ReadPause>,
}

impl<'a> PauseFollower<'a> {
    /// Builds a reader of the records in these namespaces, of which the first has to exist. It begins as paused.
    pub(in crate::cli) fn new(
        connection: &'a Connection,
        namespaces: Vec<Text>,
        terms: watch::Receiver<Arc<ActingTerms>>,
    ) -> (Self, watch::Receiver<ReadPause>) {
        let (tell, pause) =
            watch::channel(ReadPause { pause: unread(UNREAD.to_owned()), asked: Moment::now() });
        (Self { connection, namespaces, terms, tell }, pause)
    }

    /// Reads the records again and again, for ever.
    pub(in crate::cli) async fn follow(self) -> Infallible {
        let Self { connection, namespaces, mut terms, tell } = self;
        loop {
            while !terms.borrow_and_update().acts() {
                set(&tell, unread(UNREAD.to_owned()), Moment::now());
                if terms.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
            let asked = Moment::now();
            let read = pause::read_all(connection, FIELD_MANAGER, &namespaces);
            let pause = timeout(PATIENCE, read).await.unwrap_or_else(|_| {
                unread(format!("not answered within {} s", PATIENCE.as_secs()))
            });
            set(&tell, pause, asked);
            sleep(LOOK).await;
        }
    }
}

/// Stores what was read, and wakes its receivers if that is news.
fn set(tell: &watch::Sender<ReadPause>, pause: Pause, asked: Moment) {
    tell.send_if_modified(|known| {
        let is_new = known.pause != pause;
        *known = ReadPause { pause, asked };
        is_new
    });
}

/// Returns the state of records that were not read in time, and may have changed: paused.
fn unread(why: String) -> Pause {
    Pause::of(Err(why), Err("it was not read"))
}

/// Room for the changes of an hour, of which works that run side by side take their parts. Clones share it.
#[derive(Clone, Default)]
pub(in crate::cli) struct HourRoom(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Held while one work reads what was changed, and takes its room.
    counting: Mutex<()>,
    /// Number of changes that have room, and may not be in the journal yet.
    taken: AtomicUsize,
}

/// Exclusive right of one work to count changes and take room.
pub(super) struct Counting<'a> {
    shared: &'a Arc<Shared>,
    _alone: MutexGuard<'a, ()>,
    /// Number of changes for which other works had room before the journal was read.
    others: usize,
}

/// Room for changes of one work, until it is dropped.
pub(super) struct TakenRoom {
    shared: Arc<Shared>,
    count: usize,
}

impl HourRoom {
    /// Waits for the exclusive right to count. The journal has to be read after that.
    pub(super) async fn count(&self) -> Counting<'_> {
        let alone = self.0.counting.lock().await;
        let others = self.0.taken.load(Ordering::SeqCst);
        Counting { shared: &self.0, _alone: alone, others }
    }
}

impl Counting<'_> {
    /// Returns how many changes other works are about to make. Those that the journal contains by now are counted
    /// twice, so that never too much is changed.
    pub(super) fn others(&self) -> usize {
        self.others
    }

    /// Takes room for this number of changes.
    pub(super) fn take(self, count: usize) -> TakenRoom {
        self.shared.taken.fetch_add(count, Ordering::SeqCst);
        TakenRoom { shared: Arc::clone(self.shared), count }
    }
}

impl Drop for TakenRoom {
    fn drop(&mut self) {
        self.shared.taken.fetch_sub(self.count, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn what_one_takes_the_others_have_not() {
        let room = HourRoom::default();
        let one = room.count().await;
        assert_eq!(one.others(), 0);
        let other = room.clone();
        // Only one work counts at a time.
        assert!(timeout(Duration::from_millis(1), other.count()).await.is_err());
        let taken = one.take(7);
        let two = other.count().await;
        assert_eq!(two.others(), 7);
        let more = two.take(2);
        assert_eq!(room.count().await.others(), 9);
        drop(taken);
        assert_eq!(room.count().await.others(), 2);
        drop(more);
        assert_eq!(room.count().await.others(), 0);
    }
}

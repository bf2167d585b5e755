//! Whether anything may be changed now, and how much: this process leads, nobody has paused or ended it, and the hour has room.

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

/// Nothing is written by it.
const FIELD_MANAGER: &str = "kubectl-storage";
const UNREAD: &str = "not read yet";
/// How often it is read whether somebody has paused it.
const LOOK: Duration = Duration::from_secs(3);
/// How long one answer about that may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// For how long an answer holds: another one may come four seconds late. Nothing is sent that much later than somebody
/// has paused it.
pub(in crate::cli) const HEARD: Duration = Duration::from_secs(12);

/// What was read of the record by which everybody can pause what acts.
#[derive(Clone)]
pub(in crate::cli) struct ReadPause {
    pub(in crate::cli) pause: Pause,
    /// When it was asked for.
    asked: Moment,
}

impl ReadPause {
    /// Whether it lets anything act, and is not too old for that: this process may have been stopped.
    fn may_act(&self) -> bool {
        self.pause.may_act() && self.asked.elapsed() < HEARD
    }
}

/// Whether anything may be changed now.
#[derive(Clone)]
pub(in crate::cli) struct Permit {
    /// Whether this process leads.
    pub(in crate::cli) leadership: Leadership,
    /// Whether somebody has paused it; `None` where nobody can, as at a terminal.
    pub(in crate::cli) pause: Option<watch::Receiver<ReadPause>>,
    /// Whether somebody has ended it.
    pub(in crate::cli) interrupt: Interrupt,
}

impl Permit {
    /// Whether it leads.
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

    /// What speaks against destroying anything: nobody has led for long, and nobody has resumed since.
    pub(super) fn unattended(&self) -> Option<Breaker> {
        let unattended = self.leadership.unattended()?;
        let resumed = self.pause.as_ref()?.borrow().pause.since;
        (resumed.is_none_or(|it| it <= unattended.until)).then_some(Breaker::Unattended(unattended))
    }

    /// Since when announcements count: what was recorded before may be incomplete.
    pub(super) fn counts_from(&self) -> Option<Time> {
        self.leadership.restarted()
    }

    /// Why a change that began in a term must not be written any more: the process may have been stopped since. Whoever
    /// ends it waits for such a change.
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

/// The permit of changes that began in a term.
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

/// How many runs make changes now. Clones share it.
#[derive(Clone)]
pub(in crate::cli) struct Busy(watch::Sender<usize>);

impl Default for Busy {
    fn default() -> Self {
        Self(watch::channel(0).0)
    }
}

/// Changes are being made until this is dropped.
pub(super) struct Making<'a>(&'a Busy);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|runs| *runs = runs.saturating_sub(1));
    }
}

impl Busy {
    /// Says that changes are being made.
    pub(super) fn begin(&self) -> Making<'_> {
        self.0.send_modify(|runs| *runs += 1);
        Making(self)
    }

    /// Whether changes are being made.
    pub(in crate::cli) fn is_busy(&self) -> bool {
        *self.0.borrow() > 0
    }

    /// Waits until none are.
    pub(in crate::cli) async fn wait(&self) {
        let _ = self.0.subscribe().wait_for(|runs| *runs == 0).await;
    }
}

/// Follows the records by which everybody can pause what acts.
pub(in crate::cli) struct PauseFollower<'a> {
    connection: &'a Connection,
    /// The namespaces of the records.
    namespaces: Vec<Text>,
    /// It is read while something acts.
    terms: watch::Receiver<Arc<ActingTerms>>,
    tell: watch::Sender<ReadPause>,
}

impl<'a> PauseFollower<'a> {
    /// Follows the records in these namespaces, of which the first has to be there. Begins with doubt: paused.
    pub(in crate::cli) fn new(
        connection: &'a Connection,
        namespaces: Vec<Text>,
        terms: watch::Receiver<Arc<ActingTerms>>,
    ) -> (Self, watch::Receiver<ReadPause>) {
        let (tell, pause) =
            watch::channel(ReadPause { pause: unread(UNREAD.to_owned()), asked: Moment::now() });
        (Self { connection, namespaces, terms, tell }, pause)
    }

    /// Goes on to.
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

/// Tells what was read; whoever waits hears of it if it is another one.
fn set(tell: &watch::Sender<ReadPause>, pause: Pause, asked: Moment) {
    tell.send_if_modified(|known| {
        let is_new = known.pause != pause;
        *known = ReadPause { pause, asked };
        is_new
    });
}

/// What is not read in time may have changed.
fn unread(why: String) -> Pause {
    Pause::of(Err(why), Err("it was not read"))
}

/// What works that go on side by side are about to change. Clones share it.
#[derive(Clone, Default)]
pub(in crate::cli) struct HourRoom(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Held while one of them reads what was changed, and takes its room.
    counting: Mutex<()>,
    /// Changes for which there is room, and which may not be in the journal yet.
    taken: AtomicUsize,
}

/// One work counts, and nobody else takes room meanwhile.
pub(super) struct Counting<'a> {
    shared: &'a Arc<Shared>,
    _alone: MutexGuard<'a, ()>,
    /// What others had taken before the journal was read.
    others: usize,
}

/// Room that was taken, until this is dropped.
pub(super) struct TakenRoom {
    shared: Arc<Shared>,
    count: usize,
}

impl HourRoom {
    /// Waits for whoever is counting, and counts next. The journal has to be read after that.
    pub(super) async fn count(&self) -> Counting<'_> {
        let alone = self.0.counting.lock().await;
        let others = self.0.taken.load(Ordering::SeqCst);
        Counting { shared: &self.0, _alone: alone, others }
    }
}

impl Counting<'_> {
    /// What others are about to change. What of that is in the journal by now is counted twice, so that never too
    /// much is changed.
    pub(super) fn others(&self) -> usize {
        self.others
    }

    /// Takes room for so many changes.
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
        // Nobody counts while somebody does.
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

//! `Watches`: the watch tasks of an intake, their messages, the server's clock, and the return to a kind that was not
//! listed whole.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::SubsecRound as _;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::super::intake::Intake;
use super::kind_lister::{KindLister, ListedKind};
use super::reach_watch::{WatchHealth, WatchLinks};
use super::{Delivery, Message, Outbox};
use crate::client::{Reader, is_still_unserved};
use crate::cluster::{Change, Reach};
use crate::dump::DumpError;
use crate::model::{Kind, Time};

/// Watches that keep an intake current: one for each list that was complete.
///
/// Every kind is watched, events and leases too: it is evidence that a driver wrote no event and
/// holds no lease. Events may come a moment late, and later for one kind than for another: before a
/// write, the objects that it depends on are read once more.
///
/// The tasks end when this is dropped. What arrives is kept in memory until it is taken in, so do
/// that at least every few minutes.
pub struct Watches {
    receiver: mpsc::UnboundedReceiver<Delivery>,
    clock: ServerClock,
    /// Counter of the lists of all volumes that were taken in.
    volume_lists: watch::Sender<u64>,
    /// The reaches that the intake holds to be broken.
    broken: watch::Sender<BTreeSet<Reach>>,
    /// Counter of the times that everything had to be listed again.
    all_lists: watch::Sender<u64>,
    /// The reaches that were watched when the watches began.
    reaches: Vec<Reach>,
    /// Time for which a kind may be silent before a decision rests on it.
    trusted: Duration,
    health: WatchHealth,
    /// The tasks, one for each kind.
    _tasks: JoinSet<()>,
}

impl Watches {
    /// Starts the watches of what was listed.
    pub(super) fn start(
        kinds: Vec<FollowedKind>,
        returns: Return,
        reader: &Reader,
        intake: &Intake,
    ) -> Self {
        let (outbox, receiver) = Outbox::new(intake.is_saving());
        let (volume_lists, _) = watch::channel(0);
        let (all_lists, _) = watch::channel(0);
        let health = WatchHealth::default();
        let (broken, _) = watch::channel(intake.broken().keys().cloned().collect());
        let links = WatchLinks {
            reader: reader.apart(),
            outbox,
            volume_lists: volume_lists.subscribe(),
            broken: broken.subscribe(),
            all_lists: all_lists.subscribe(),
            health: health.clone(),
        };
        let watched = |kind: &FollowedKind| match &kind.listed {
            ListedKind::Watched(watches) => watches.iter().map(|it| it.reach().clone()).collect(),
            ListedKind::NotServed => Vec::new(),
        };
        let reaches: Vec<_> = kinds.iter().flat_map(watched).collect();
        // What was listed just now was heard; a watch has yet to begin.
        for reach in &reaches {
            health.heard(reach.kind);
        }
        // Half of what a watch waits for: more than the minute or so between two bookmarks.
        let trusted = reader.limits().silence / 2;
        let mut tasks = JoinSet::new();
        for kind in kinds {
            tasks.spawn(kind.run(returns, links.clone()));
        }
        // The lists' answers began before now: the clock starts slow, and no age is too long.
        let base = intake.cluster.clock().map(|time| (time, Instant::now()));
        let clock = ServerClock { base };
        Self {
            receiver,
            clock,
            volume_lists,
            broken,
            all_lists,
            reaches,
            trusted,
            health,
            _tasks: tasks,
        }
    }

    /// Returns watches that bring these changes, the next time that something is taken in, and then nothing.
    #[cfg(test)]
    pub(crate) fn that_bring(changes: impl IntoIterator<Item = Change>) -> Self {
        let (outbox, receiver) = Outbox::new(false);
        changes.into_iter().for_each(|change| outbox.send(Message::Change(change)));
        Self {
            receiver,
            clock: ServerClock::default(),
            volume_lists: watch::channel(0).0,
            broken: watch::channel(BTreeSet::new()).0,
            all_lists: watch::channel(0).0,
            reaches: Vec::new(),
            trusted: Duration::MAX,
            health: WatchHealth::default(),
            _tasks: JoinSet::new(),
        }
    }

    /// Returns watches of lists of whose kinds nothing was heard since.
    #[cfg(test)]
    pub(crate) fn that_are_silent(reaches: Vec<Reach>) -> Self {
        Self { reaches, trusted: Duration::ZERO, ..Self::that_bring([]) }
    }

    /// Takes in everything that has arrived, without waiting.
    ///
    /// # Errors
    /// When a list that was read again cannot be saved.
    pub fn drain(&mut self, intake: &mut Intake) -> Result<(), DumpError> {
        while let Ok(delivery) = self.receiver.try_recv() {
            self.take_in(delivery, intake)?;
        }
        self.tick(intake);
        Ok(())
    }

    /// Waits until something arrives, and takes it in. Nothing is lost when this future is dropped.
    ///
    /// # Errors
    /// When a list that was read again cannot be saved.
    pub async fn next(&mut self, intake: &mut Intake) -> Result<(), DumpError> {
        match self.receiver.recv().await {
            Some(delivery) => self.take_in(delivery, intake)?,
            // There is no watch.
            None => std::future::pending().await,
        }
        self.drain(intake)
    }

    /// Returns how many lists were watched when the watches began.
    pub fn count(&self) -> usize {
        self.reaches.len()
    }

    /// Returns the reaches that may have changed unnoticed: nothing was heard of their kinds for longer than the API
    /// server is ever silent, because the connection is dead or the machine was suspended. Events have no bookmarks,
    /// and what a Lease proves is judged by its own times.
    pub fn unheard(&self) -> Vec<Reach> {
        let counts = |it: &&Reach| !matches!(it.kind, Kind::Event | Kind::Lease);
        let silent = |it: &&Reach| self.health.is_silent(it.kind, self.trusted);
        self.reaches.iter().filter(counts).filter(silent).cloned().collect()
    }

    /// Returns the health of the watches.
    pub fn health(&self) -> &WatchHealth {
        &self.health
    }

    /// Returns the server's clock: its last time, and the monotonic time since then.
    pub fn now(&self) -> Option<Time> {
        self.clock.now()
    }

    /// Makes all that is watched be listed again: after a gap in time, it is unknown which connections are still alive.
    pub fn list_all_again(&self) {
        self.all_lists.send_modify(|lists| *lists += 1);
    }

    fn take_in(&mut self, delivery: Delivery, intake: &mut Intake) -> Result<(), DumpError> {
        let message = &delivery.message;
        let all_volumes = Reach::all(Kind::PersistentVolume);
        let lists_volumes = matches!(message, Message::Complete(it, _) if *it == all_volumes);
        match message {
            Message::Complete(_, Some(date)) => self.clock.set_from_past(*date),
            Message::Date(date, at) => self.clock.set(*date, *at),
            _ => {}
        }
        delivery.take_in(intake)?;
        self.broken.send_if_modified(|known| {
            let differs = !known.iter().eq(intake.broken().keys());
            if differs {
                *known = intake.broken().keys().cloned().collect();
            }
            differs
        });
        if lists_volumes {
            self.volume_lists.send_modify(|lists| *lists += 1);
        }
        Ok(())
    }

    fn tick(&self, intake: &mut Intake) {
        // Servers write times in whole seconds.
        let Some(now) = self.clock.now().map(|now| now.trunc_subsecs(0)) else { return };
        // The cluster's clock is not set back by a second or two.
        if !intake.cluster.clock().is_some_and(|known| lags(now, known)) {
            intake.apply(Change::Clock(now));
        }
    }
}

/// The server's clock: a time that it sent, and the monotonic time since then.
#[derive(Debug, Default)]
struct ServerClock {
    base: Option<(Time, Instant)>,
}

/// Time by which a time may lag when it arrives: headers have whole seconds, and take a while. A time that lags by more
/// is of a clock that was set back, or of another server.
const LAG: Duration = Duration::from_secs(10);

/// Whether a time is before a known one, by no more than [`LAG`].
fn lags(date: Time, known: Time) -> bool {
    known > date && (known - date).to_std().is_ok_and(|behind| behind <= LAG)
}

impl ServerClock {
    /// Takes over a time that the server sent at an instant.
    fn set(&mut self, date: Time, at: Instant) {
        if !self.at(at).is_some_and(|known| lags(date, known)) {
            self.base = Some((date, at));
        }
    }

    /// Takes over a time that the server sent a while ago, such as when a long list began.
    fn set_from_past(&mut self, date: Time) {
        if self.now().is_none_or(|known| known < date) {
            self.base = Some((date, Instant::now()));
        }
    }

    fn now(&self) -> Option<Time> {
        self.at(Instant::now())
    }

    fn at(&self, instant: Instant) -> Option<Time> {
        let (date, set) = self.base?;
        let passed = chrono::Duration::from_std(instant.saturating_duration_since(set)).ok()?;
        date.checked_add_signed(passed)
    }
}

/// Choice whether what was not listed whole is tried again after a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// A gap remains: a writer decides by what was read. Only a kind that was not served is looked for, since that it
    /// has no objects was read as well.
    Never,
    /// A gap is tried again: a right may be granted, and a kind may be installed.
    AfterAWhile,
}

/// A kind that is followed, with the end of its list.
pub(super) struct FollowedKind {
    pub(super) kind: Kind,
    pub(super) listed: ListedKind,
    /// `--chunk-size`, as [`KindLister`] takes it.
    pub(super) page: Option<u32>,
    /// The only namespaces that are listed where neither the cluster nor its namespaces may be.
    pub(super) namespaces: Vec<String>,
}

impl FollowedKind {
    /// Watches the kind, and lists it anew where its lists were not complete, or once it is served. Never returns.
    pub(super) async fn run(mut self, returns: Return, mut links: WatchLinks) {
        let mut tried = 0;
        loop {
            let mut tasks = JoinSet::new();
            match self.listed {
                ListedKind::NotServed => {
                    tried = 0;
                    until_served(&links.reader, self.kind).await;
                }
                ListedKind::Watched(watches) => {
                    let is_whole = watches.iter().any(|it| it.reach().namespace.is_none());
                    for watch in watches {
                        tasks.spawn(watch.run(links.clone()));
                    }
                    if is_whole {
                        tried = 0;
                        // It ends when the kind seems not to be served any more.
                        tasks.join_next().await;
                    } else if returns == Return::Never {
                        while tasks.join_next().await.is_some() {}
                        return;
                    }
                    tried += 1;
                    sleep(links.reader.limits().return_pause(tried)).await;
                }
            }
            // Whatever these watches would still report is in the new lists, and nothing of it may
            // arrive once those have begun.
            tasks.shutdown().await;
            links.begin_list();
            let (_, volumes_listed) = watch::channel(true);
            let outbox = links.outbox.clone();
            let lister =
                KindLister::new(&links.reader, self.page, &self.namespaces, outbox, volumes_listed);
            self.listed = Arc::new(lister).list_kind(self.kind).await;
        }
    }
}

/// Waits until the server stops denying that it serves a kind. The pause does not grow: what is done meanwhile rests on
/// that there are no objects of the kind.
async fn until_served(reader: &Reader, kind: Kind) {
    loop {
        sleep(reader.limits().first_return).await;
        if !is_still_unserved(reader, kind).await {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{LAG, ServerClock};
    use crate::model::{Time, parse_time};

    fn noon(seconds: i64) -> Time {
        let noon = parse_time("2026-11-21T12:00:00Z").ok().flatten();
        noon.expect("because it is a time") + chrono::Duration::seconds(seconds)
    }

    #[test]
    fn the_clock_goes_on_by_itself() {
        let begun = Instant::now();
        let mut clock = ServerClock::default();
        assert_eq!(clock.at(begun), None);
        clock.set(noon(0), begun);
        let later = begun + Duration::from_secs(90);
        assert_eq!(clock.at(later), Some(noon(90)));
        // Headers have whole seconds: the clock does not go back for that.
        clock.set(noon(89), later);
        assert_eq!(clock.at(later), Some(noon(90)));
        clock.set(noon(95), later);
        assert_eq!(clock.at(later), Some(noon(95)));
        clock.set_from_past(noon(0));
        assert_eq!(clock.at(later), Some(noon(95)));
    }

    #[test]
    fn a_clock_that_was_set_back_is_believed() {
        let begun = Instant::now();
        let mut clock = ServerClock::default();
        clock.set(noon(3600), begun);
        clock.set(noon(0), begun + LAG);
        assert_eq!(clock.at(begun + LAG), Some(noon(0)));
    }
}

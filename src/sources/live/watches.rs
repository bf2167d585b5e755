//! `Watches`: the watch tasks of an intake, what they send, and the server's clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::SubsecRound as _;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::message::{Message, Outbox};
use super::reach_watch::{ReachWatch, WatchLinks};
use crate::client::Reader;
use crate::cluster::{Change, Reach};
use crate::dump::DumpError;
use crate::model::{Kind, Time};
use crate::sources::intake::Intake;

/// Keeps an intake current: one watch for each list that was complete.
///
/// Every kind is watched, events and leases too: it is evidence that a driver wrote no event and
/// holds no lease. Events may come a moment late, and later for one kind than for another: before a
/// write, the objects that it depends on are read once more.
///
/// The tasks end when this is dropped. What arrives is kept in memory until it is taken in, so do
/// that at least every few minutes.
pub struct Watches {
    receiver: mpsc::UnboundedReceiver<Message>,
    clock: ServerClock,
    /// Counts the lists of all volumes that were taken in.
    volume_lists: watch::Sender<u64>,
    /// Whether the intake holds each reach to be broken.
    broken: BTreeMap<Reach, Arc<AtomicBool>>,
    tasks: JoinSet<()>,
}

impl Watches {
    /// Starts the watches of what was listed.
    pub(super) fn start(watches: Vec<ReachWatch>, reader: &Reader, intake: &Intake) -> Self {
        let reader = reader.apart();
        let (outbox, receiver) = Outbox::new(intake.is_saving());
        let (volume_lists, _) = watch::channel(0);
        let mut broken = BTreeMap::new();
        let mut tasks = JoinSet::new();
        for watch in watches {
            let flag = Arc::new(AtomicBool::new(is_broken(intake, watch.reach())));
            broken.insert(watch.reach().clone(), Arc::clone(&flag));
            tasks.spawn(watch.run(WatchLinks {
                reader: reader.clone(),
                outbox: outbox.clone(),
                volume_lists: volume_lists.subscribe(),
                broken: flag,
            }));
        }
        // The lists' answers began before now: the clock starts slow, and no age is too long.
        let base = intake.cluster.clock().map(|time| (time, Instant::now()));
        Self { receiver, clock: ServerClock { base }, volume_lists, broken, tasks }
    }

    /// Takes in everything that has arrived, without waiting.
    ///
    /// # Errors
    /// When a list that was read again cannot be saved.
    pub fn drain(&mut self, intake: &mut Intake) -> Result<(), DumpError> {
        while let Ok(message) = self.receiver.try_recv() {
            self.take_in(message, intake)?;
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
            Some(message) => self.take_in(message, intake)?,
            // There is no watch.
            None => std::future::pending().await,
        }
        self.drain(intake)
    }

    /// Returns how many lists are watched.
    pub fn count(&self) -> usize {
        self.tasks.len()
    }

    fn take_in(&mut self, message: Message, intake: &mut Intake) -> Result<(), DumpError> {
        let reach = match &message {
            Message::Complete(reach, _)
            | Message::Objects(reach, ..)
            | Message::Broken(reach, _) => Some(reach.clone()),
            Message::Change(_) | Message::Date(..) => None,
        };
        let all_volumes = Reach::all(Kind::PersistentVolume);
        let lists_volumes = matches!(&message, Message::Complete(it, _) if *it == all_volumes);
        match &message {
            Message::Complete(_, Some(date)) => self.clock.set_from_past(*date),
            Message::Date(date, at) => self.clock.set(*date, *at),
            _ => {}
        }
        message.take_in(intake)?;
        if let Some(reach) = reach
            && let Some(flag) = self.broken.get(&reach)
        {
            flag.store(is_broken(intake, &reach), Ordering::Relaxed);
        }
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

fn is_broken(intake: &Intake, reach: &Reach) -> bool {
    let broken = intake.broken();
    broken.contains_key(reach) || broken.contains_key(&Reach::all(reach.kind))
}

/// The server's clock: a time that it sent, and the monotonic time since then.
#[derive(Debug, Default)]
struct ServerClock {
    base: Option<(Time, Instant)>,
}

/// By how much a time may lag when it arrives: headers have whole seconds, and take a while. A time
/// that lags by more is of a clock that was set back, or of another server.
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

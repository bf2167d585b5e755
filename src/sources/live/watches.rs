//! The owner's side of watches: what arrives is taken in, and time goes on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::SubsecRound as _;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::follow::Ties;
use super::lists::Found;
use super::message::{Message, Outbox};
use crate::client::Reader;
use crate::cluster::{Change, Reach};
use crate::dump::DumpError;
use crate::model::{Kind, Time};
use crate::sources::intake::Intake;

/// What keeps an intake current: one watch per list that was complete.
///
/// Every kind is watched, events and leases among them: that a driver wrote no event and holds no
/// lease counts as evidence. What a watch tells may come a moment late, and later for one kind than
/// for another: who writes asks once more for what the write is about.
///
/// The tasks end when this is dropped. What arrives meanwhile is kept until it is taken in: do not
/// leave it for hours.
pub struct Watches {
    receiver: mpsc::UnboundedReceiver<Message>,
    clock: ServerClock,
    /// Counts the lists of all volumes that were taken in.
    volumes: watch::Sender<u64>,
    /// Whether something within reach could not be read.
    doubtful: BTreeMap<Reach, Arc<AtomicBool>>,
    tasks: JoinSet<()>,
}

impl Watches {
    /// Begins to watch what was found.
    pub(super) fn start(found: Found, reader: &Reader, intake: &Intake) -> Self {
        let reader = reader.apart();
        let (outbox, receiver) = Outbox::new(intake.is_saving());
        let (volumes, _) = watch::channel(0);
        let mut doubtful = BTreeMap::new();
        let mut tasks = JoinSet::new();
        for follow in found {
            let flag = Arc::new(AtomicBool::new(is_broken(intake, follow.reach())));
            doubtful.insert(follow.reach().clone(), Arc::clone(&flag));
            tasks.spawn(follow.follow(Ties {
                reader: reader.clone(),
                outbox: outbox.clone(),
                volumes: volumes.subscribe(),
                doubtful: flag,
            }));
        }
        // The lists' answers began before now: the clock starts slow, and no age is too long.
        let base = intake.cluster.clock().map(|time| (time, Instant::now()));
        Self { receiver, clock: ServerClock { base }, volumes, doubtful, tasks }
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

    /// Waits until something arrives, and takes it in. Nothing is lost when it is not waited for to
    /// the end.
    ///
    /// # Errors
    /// When a list that was read again cannot be saved.
    pub async fn next(&mut self, intake: &mut Intake) -> Result<(), DumpError> {
        match self.receiver.recv().await {
            Some(message) => self.take_in(message, intake)?,
            // There was nothing to watch.
            None => std::future::pending().await,
        }
        self.drain(intake)
    }

    /// How many lists are watched.
    pub fn count(&self) -> usize {
        self.tasks.len()
    }

    fn take_in(&mut self, message: Message, intake: &mut Intake) -> Result<(), DumpError> {
        let reach = match &message {
            Message::Complete(reach, _) | Message::Seen(reach, _) | Message::Broken(reach, _) => {
                Some(reach.clone())
            }
            Message::Change(_) | Message::Objects(..) | Message::Gone(..) | Message::Date(..) => {
                None
            }
        };
        let volumes = matches!(&message, Message::Complete(reach, _) if *reach == Reach::all(Kind::PersistentVolume));
        match &message {
            Message::Complete(_, Some(date)) => self.clock.hear_late(*date),
            Message::Date(date, at) => self.clock.hear(*date, *at),
            _ => {}
        }
        message.take_in(intake)?;
        if let Some(reach) = reach
            && let Some(flag) = self.doubtful.get(&reach)
        {
            flag.store(is_broken(intake, &reach), Ordering::Relaxed);
        }
        if volumes {
            self.volumes.send_modify(|lists| *lists += 1);
        }
        Ok(())
    }

    fn tick(&self, intake: &mut Intake) {
        // A server tells whole seconds, and so does everything that records one.
        let Some(now) = self.clock.now().map(|now| now.trunc_subsecs(0)) else { return };
        // What an answer has told since is not taken back for a second or two.
        if !intake.cluster.clock().is_some_and(|known| lags(now, known)) {
            intake.apply(Change::Clock(now));
        }
    }
}

fn is_broken(intake: &Intake, reach: &Reach) -> bool {
    let broken = intake.broken();
    broken.contains_key(reach) || broken.contains_key(&Reach::all(reach.kind))
}

/// The server's clock: what it last said, and the time since then by a clock that nobody sets.
#[derive(Debug, Default)]
struct ServerClock {
    base: Option<(Time, Instant)>,
}

/// How much later than it is a time may seem when it arrives: headers have whole seconds, and take
/// their time. A time that lags by more was told by a clock that was set, or by another server's.
const LAG: Duration = Duration::from_secs(10);

/// Whether a time is behind what is known by no more than that.
fn lags(date: Time, known: Time) -> bool {
    known > date && (known - date).to_std().is_ok_and(|behind| behind <= LAG)
}

impl ServerClock {
    /// Hears a time that was just told.
    fn hear(&mut self, date: Time, at: Instant) {
        if !self.at(at).is_some_and(|known| lags(date, known)) {
            self.base = Some((date, at));
        }
    }

    /// Hears a time that was told a while ago, such as when a long list began.
    fn hear_late(&mut self, date: Time) {
        if self.now().is_none_or(|known| known < date) {
            self.base = Some((date, Instant::now()));
        }
    }

    fn now(&self) -> Option<Time> {
        self.at(Instant::now())
    }

    fn at(&self, instant: Instant) -> Option<Time> {
        let (date, heard) = self.base?;
        let passed = chrono::Duration::from_std(instant.saturating_duration_since(heard)).ok()?;
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
        clock.hear(noon(0), begun);
        let later = begun + Duration::from_secs(90);
        assert_eq!(clock.at(later), Some(noon(90)));
        // Headers have whole seconds: the clock does not go back for that.
        clock.hear(noon(89), later);
        assert_eq!(clock.at(later), Some(noon(90)));
        clock.hear(noon(95), later);
        assert_eq!(clock.at(later), Some(noon(95)));
        clock.hear_late(noon(0));
        assert_eq!(clock.at(later), Some(noon(95)));
    }

    #[test]
    fn a_clock_that_was_set_back_is_believed() {
        let begun = Instant::now();
        let mut clock = ServerClock::default();
        clock.hear(noon(3600), begun);
        clock.hear(noon(0), begun + LAG);
        assert_eq!(clock.at(begun + LAG), Some(noon(0)));
    }
}

//! The edge of the loop: waits for changes and for time to pass, asks, and hands over the news; and the probes of a
//! kubelet: whether the loop turns, and whether the first look is over.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::judging::settle;
use super::policy::WatchPolicy;
use super::reconciler::{News, Reconciler};
use super::refresh::{AnswerAges, Records};
use crate::client::Reader;
use crate::cluster::{Cluster, Dirty};
use crate::dump::DumpError;
use crate::sources::answers;
use crate::sources::intake::Intake;
use crate::sources::live::Watches;

/// Time for which the loop waits for answers before it reports what it knows, and after which it asks again.
const ANSWERS: Duration = Duration::from_secs(15);
/// Time between two checks whether this machine was asleep, and what is too old.
const TICK: Duration = Duration::from_secs(10);
/// Time after which the records are read again.
const RECORDS: Duration = Duration::from_secs(300);
/// Difference by which the date may be ahead of the stopwatch before that is a gap in time.
const ASLEEP: chrono::Duration = chrono::Duration::seconds(30);

/// A cluster that is watched, and what was judged of it.
pub(crate) struct Watching {
    /// The way to the cluster, for questions.
    pub(crate) reader: Reader,
    /// The watches, which keep the intake current.
    pub(crate) watches: Watches,
    /// The objects that were read.
    pub(crate) intake: Intake,
    /// The judgements, kept in step with the intake.
    pub(crate) reconciler: Reconciler,
    /// The records that are read beside the cluster's objects.
    pub(crate) records: Records,
    /// Policies that come into force while the loop goes on; `None` where there is no policy.
    pub(crate) policies: Option<mpsc::Receiver<Arc<WatchPolicy>>>,
}

/// News that the loop hands to its listener.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Findings and gaps that are new.
    pub(crate) news: News,
    /// Number of findings that a full pass judged otherwise: a defect of this program.
    pub(crate) defects: usize,
    /// Other messages for the user.
    pub(crate) notes: Vec<String>,
    /// The policy that has just come into force; the findings are those by it.
    pub(crate) policy: Option<Arc<WatchPolicy>>,
    /// Time that it took to judge what had changed, with the answers that were waited for; `None` if nothing was
    /// judged.
    pub(crate) took: Option<Duration>,
}

impl Told {
    /// Whether there is no news: something was judged, and that is all.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { news, defects, notes, policy, took: _ } = self;
        news.is_empty() && *defects == 0 && notes.is_empty() && policy.is_none()
    }
}

/// Receiver of the loop's news: for people, for the cluster, for a chat.
pub(crate) trait Listener: Send {
    /// Hears the news, after the first look and after everything that was judged, even if nothing is new. The loop
    /// waits for it: whatever takes long is left to a task of its own.
    fn hear(&mut self, told: &Told, cluster: &Cluster, reconciler: &Reconciler);

    /// Whether the listener has to hear even if nothing is new.
    fn is_behind(&self) -> bool {
        false
    }

    /// Notes that the loop goes on, although there may be nothing to hear: at least every ten seconds, unless it
    /// judges.
    fn turned(&mut self) {}
}

/// Times at which the loop acts without a change.
struct LoopClock {
    begun: Instant,
    /// The date and the stopwatch when they were last compared.
    compared: (DateTime<Utc>, Instant),
    /// Time at which the records are read again.
    records: Duration,
    /// Time at which open questions are asked again.
    questions: Duration,
}

impl Watching {
    /// Runs the loop until `tell` ends it, and returns what that ended it with. It is called at every turn, also when
    /// there is nothing to tell.
    ///
    /// # Errors
    /// When a list that was read again cannot be saved.
    pub(crate) async fn run<T>(
        &mut self,
        tell: &mut dyn FnMut(Told, &Cluster, &Reconciler) -> ControlFlow<T>,
    ) -> Result<T, DumpError> {
        let begun = Instant::now();
        let mut clock = LoopClock {
            begun,
            compared: (Utc::now(), begun),
            records: RECORDS,
            questions: ANSWERS,
        };
        let mut ages = AnswerAges::default();
        loop {
            let at = clock.begun.elapsed();
            let wait = self.reconciler.wait(at, self.watches.now()).min(TICK);
            let mut told = Told::default();
            tokio::select! {
                taken = self.watches.next(&mut self.intake) => taken?,
                () = sleep(wait) => self.watches.drain(&mut self.intake)?,
                policy = next(&mut self.policies) => told.policy = Some(policy),
            }
            let at = clock.begun.elapsed();
            if clock.was_asleep() {
                self.watches.list_all_again();
            }
            // What was forgotten is asked again before anything else is forgotten.
            if self.reconciler.is_settled() {
                ages.forget_old(&mut self.intake, at);
            }
            if clock.records <= at {
                clock.records = at + RECORDS;
                self.read_records(&mut told).await?;
            }
            self.reconciler.note(&self.intake.dirty, at);
            let open = !self.reconciler.questions().is_empty() && clock.questions <= at;
            if let Some(policy) = &told.policy {
                self.reconciler.adopt(policy.settings());
                self.intake.dirty = Dirty::everything();
            }
            let is_due = open || told.policy.is_some();
            if is_due || self.reconciler.is_due(at, self.intake.cluster.clock()) {
                self.settle(&mut told).await?;
                clock.questions = clock.begun.elapsed() + ANSWERS;
                told.took = Some(clock.begun.elapsed().saturating_sub(at));
                told.news = self.reconciler.report(&self.intake.cluster);
                self.pass(clock.begun.elapsed(), &mut told);
            } else if self.reconciler.is_full_pass_due(at) {
                // Nothing waits but the clock, which was advanced.
                self.settle(&mut told).await?;
                told.news = self.reconciler.report(&self.intake.cluster);
                self.pass(clock.begun.elapsed(), &mut told);
            }
            if let ControlFlow::Break(end) = tell(told, &self.intake.cluster, &self.reconciler) {
                return Ok(end);
            }
        }
    }

    /// Judges what has changed, and asks what that raises, as a single look does.
    async fn settle(&mut self, told: &mut Told) -> Result<(), DumpError> {
        let Self { reader, intake, reconciler, records, .. } = self;
        let judge = &mut |intake: &mut Intake| {
            reconciler.judge(&intake.cluster, std::mem::take(&mut intake.dirty));
            records.note_absences(reconciler.assessor(), intake, &mut told.notes);
            if !intake.dirty.is_empty() {
                reconciler.judge(&intake.cluster, std::mem::take(&mut intake.dirty));
            }
            reconciler.questions().clone()
        };
        settle(reader, intake, ANSWERS, judge).await
    }

    /// Makes a full pass if it is time for one. What it changes is told, and counted.
    fn pass(&mut self, at: Duration, told: &mut Told) {
        if self.reconciler.is_full_pass_due(at) && self.intake.dirty.is_empty() {
            let changed = self.reconciler.full_pass(&self.intake.cluster, at);
            told.defects += changed.len();
            told.news.findings.extend(changed);
        }
    }

    async fn read_records(&mut self, told: &mut Told) -> Result<(), DumpError> {
        let asked = answers::replies(&self.reader, [self.records.question()]);
        let Ok(replies) = timeout(ANSWERS, asked).await else { return Ok(()) };
        self.records.take_in(replies, &mut self.intake, &mut told.notes)
    }
}

/// Returns the next policy that comes into force.
async fn next(policies: &mut Option<mpsc::Receiver<Arc<WatchPolicy>>>) -> Arc<WatchPolicy> {
    if let Some(receiver) = policies
        && let Some(policy) = receiver.recv().await
    {
        return policy;
    }
    // There is none, or nobody looks for one any more.
    std::future::pending().await
}

impl LoopClock {
    /// Whether the date has moved on since the last call although the stopwatch stood still, as it
    /// does while a machine is suspended.
    fn was_asleep(&mut self) -> bool {
        let (date, instant) = self.compared;
        if instant.elapsed() < TICK {
            return false;
        }
        self.compared = (Utc::now(), Instant::now());
        let passed = chrono::Duration::from_std(instant.elapsed()).unwrap_or_default();
        self.compared.0 - date > passed + ASLEEP
    }
}

/// Time that a turn of the loop may take before it counts as stuck. It waits for ten seconds at most, and for answers
/// of a silent server for some more.
const STUCK: Duration = Duration::from_secs(180);

/// Readiness and liveness of the loop, which a kubelet asks for and a leader must have.
#[derive(Debug)]
pub(crate) struct Probes {
    turned: Mutex<Instant>,
    ready: AtomicBool,
    stuck: Duration,
}

impl Default for Probes {
    fn default() -> Self {
        Self::stuck_after(STUCK)
    }
}

impl Probes {
    /// Returns probes of a loop that counts as stuck when one turn takes this long.
    pub(super) fn stuck_after(stuck: Duration) -> Self {
        Self { turned: Mutex::new(Instant::now()), ready: AtomicBool::new(false), stuck }
    }

    /// Notes that the loop turns.
    pub(super) fn turned(&self) {
        *self.turned.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Notes that every kind was listed, or is known as a gap: the first look is over.
    pub(super) fn looked(&self) {
        self.ready.store(true, Ordering::Relaxed);
    }

    /// Whether every kind was listed or is known as a gap.
    pub(super) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// Whether the loop turns. What the API server does is no part of it.
    pub(super) fn is_alive(&self) -> bool {
        self.is_alive_at(Instant::now())
    }

    fn is_alive_at(&self, now: Instant) -> bool {
        let turned = *self.turned.lock().unwrap_or_else(PoisonError::into_inner);
        now.saturating_duration_since(turned) < self.stuck
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_that_leaps_is_a_gap_in_time() {
        let begun = Instant::now();
        let before = |seconds: u64| begun.checked_sub(Duration::from_secs(seconds));
        let Some(earlier) = before(60) else { panic!("the machine was just started") };
        let dated = |seconds: i64| Utc::now() - chrono::Duration::seconds(seconds);
        for (date, asleep) in [(dated(60), false), (dated(3600), true), (dated(-3600), false)] {
            let mut clock = LoopClock {
                begun,
                compared: (date, earlier),
                records: RECORDS,
                questions: ANSWERS,
            };
            assert_eq!(clock.was_asleep(), asleep, "{date}");
            // It is not asked again at once.
            assert!(!clock.was_asleep());
        }
    }

    #[test]
    fn a_loop_that_turns_no_more_is_dead() {
        let probes = Probes::default();
        let now = Instant::now();
        assert!(probes.is_alive_at(now + STUCK / 2));
        assert!(!probes.is_alive_at(now + STUCK * 2));
        probes.turned();
        assert!(probes.is_alive() && !probes.is_ready());
    }
}

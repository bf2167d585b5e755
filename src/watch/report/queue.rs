//! Queue of items that are sent to one place, with the findings that were reported there before, and a rate limit.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::model::{ClearedFinding, Finding, FindingEvent, ObjectRef, RuleId, Severity};

/// Largest number of findings that wait for a sink.
pub(super) const MOST: usize = 1000;

/// Items that wait to be sent, in order. Clones share them.
#[derive(Debug)]
pub(super) struct Queue<T>(Arc<Waiting<T>>);

#[derive(Debug)]
struct Waiting<T> {
    items: Mutex<VecDeque<T>>,
    arrived: Notify,
    most: usize,
}

/// Counters of findings that were to be reported at one place.
#[derive(Debug, Default)]
pub(super) struct SinkCounts {
    sent: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
}

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Queue<T> {
    /// Returns a queue in which no more than `most` items wait.
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Waiting { items: Mutex::default(), arrived: Notify::new(), most }))
    }

    /// Adds an item, and returns whether there was room for it.
    pub(super) fn push(&self, item: T) -> bool {
        let mut items = self.items();
        if items.len() >= self.0.most {
            return false;
        }
        items.push_back(item);
        drop(items);
        self.0.arrived.notify_one();
        true
    }

    /// Adds items, which are taken out together if there is room for that, and returns the number of those without
    /// room.
    pub(super) fn push_all(&self, new: Vec<T>) -> usize {
        let mut items = self.items();
        let room = self.0.most - items.len();
        let dropped = new.len().saturating_sub(room);
        items.extend(new.into_iter().take(room));
        drop(items);
        self.0.arrived.notify_one();
        dropped
    }

    /// Removes items that need not be sent any more.
    pub(super) fn retain(&self, keep: impl FnMut(&T) -> bool) {
        self.items().retain(keep);
    }

    /// Waits until there are items, and takes out the first `most` of them.
    pub(super) async fn next(&self, most: usize) -> Vec<T> {
        loop {
            {
                let mut items = self.items();
                let count = items.len().min(most);
                if count > 0 {
                    return items.drain(..count).collect();
                }
            }
            // What arrives before this is reached is not missed: it leaves a permit.
            self.0.arrived.notified().await;
        }
    }

    fn items(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.0.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SinkCounts {
    /// Notes that this number was sent.
    pub(super) fn sent(&self, count: usize) {
        self.sent.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Notes that this number was given up.
    pub(super) fn failed(&self, count: usize) {
        self.failed.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Notes that there was no room for this number.
    pub(super) fn dropped(&self, count: usize) {
        self.dropped.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Returns the numbers of findings by outcome.
    pub(super) fn by_outcome(&self) -> [(&'static str, u64); 3] {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [("sent", of(&self.sent)), ("failed", of(&self.failed)), ("dropped", of(&self.dropped))]
    }
}

/// Findings that were reported at one place.
#[derive(Debug)]
pub(super) struct ToldFindings {
    severity: Severity,
    told: BTreeSet<(RuleId, ObjectRef)>,
}

/// News of a finding that is to be reported at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling<'a> {
    /// The finding was not reported before.
    Appeared(&'a Finding),
    /// The finding was reported, and has cleared.
    Cleared(&'a ClearedFinding),
}

impl ToldFindings {
    /// Returns a memory of findings of a severity and worse, still empty.
    pub(super) fn new(severity: Severity) -> Self {
        Self { severity, told: BTreeSet::new() }
    }

    /// Sets the severity from which findings are reported.
    pub(super) fn set_severity(&mut self, severity: Severity) {
        self.severity = severity;
    }

    /// Returns the news that is to be reported. A finding that has become worse is told when it is bad enough.
    pub(super) fn sift<'a>(&mut self, events: &'a [FindingEvent]) -> Vec<Telling<'a>> {
        let mut telling = Vec::new();
        for event in events {
            match event {
                FindingEvent::Appeared(it) | FindingEvent::Changed(it) => {
                    let key = (it.rule, it.object.clone());
                    if it.severity <= self.severity && self.told.insert(key) {
                        telling.push(Telling::Appeared(it));
                    }
                }
                FindingEvent::Cleared(it) => {
                    if self.told.remove(&(it.rule, it.object.clone())) {
                        telling.push(Telling::Cleared(it));
                    }
                }
            }
        }
        telling
    }
}

/// Rate limit: some at once, and then one in each interval.
#[derive(Debug)]
pub(super) struct TokenBucket {
    burst: f64,
    per_second: f64,
    tokens: f64,
    at: Instant,
}

impl TokenBucket {
    /// Returns a full bucket that holds `burst`, and gains one token in each `every`.
    pub(super) fn new(burst: u32, every: Duration) -> Self {
        let burst = f64::from(burst);
        Self { burst, per_second: every.as_secs_f64().recip(), tokens: burst, at: Instant::now() }
    }

    /// Gives back the token that was taken last: nothing was sent.
    pub(super) fn give_back(&mut self) {
        self.tokens = (self.tokens + 1.0).min(self.burst);
    }

    /// Whether nothing was taken from the bucket for as long as it takes to fill.
    pub(super) fn is_full(&self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens + passed * self.per_second >= self.burst
    }

    /// Takes a token, and returns how long to wait until it exists.
    pub(super) fn take(&mut self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.per_second).min(self.burst) - 1.0;
        self.at = now;
        Duration::from_secs_f64((-self.tokens).max(0.0) / self.per_second)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::{Kind, ObjectKey, Verdict, VerdictState};

    #[tokio::test]
    async fn what_has_no_room_is_refused_and_the_rest_keeps_its_order() {
        let queue = Queue::new(3);
        let taken: Vec<_> = (0..5).map(|it| queue.push(it)).collect();
        assert_eq!(taken, [true, true, true, false, false]);
        queue.retain(|it| *it != 1);
        assert_eq!(queue.next(1).await, [0]);
        assert!(queue.push(7));
        assert_eq!(queue.next(10).await, [2, 7]);
        assert_eq!(queue.push_all(vec![1, 2, 3, 4, 5]), 2);
        assert_eq!(queue.next(10).await, [1, 2, 3]);
    }

    #[tokio::test]
    async fn whoever_waits_is_woken() {
        let queue = Queue::new(3);
        let waiting = queue.clone();
        let task = tokio::spawn(async move { waiting.next(1).await });
        tokio::task::yield_now().await;
        assert!(queue.push("a"));
        assert_eq!(task.await.expect("because it does not panic"), ["a"]);
    }

    /// A finding about a volume.
    pub(in crate::watch::report) fn finding(name: &str, severity: Severity) -> Box<Finding> {
        let key = ObjectKey::cluster_wide(Kind::PersistentVolume, name);
        Box::new(Finding {
            rule: "pv-failed",
            severity,
            object: ObjectRef { key, uid: None },
            summary: "reclaim failed".to_owned(),
            age: None,
            evidence: Vec::new(),
            related: Vec::new(),
            caused_by: Vec::new(),
            verdict: Verdict { state: VerdictState::ReportOnly, reason: "none".to_owned() },
            offer: None,
            volume: None,
        })
    }

    /// That it has cleared.
    pub(in crate::watch::report) fn cleared(name: &str, severity: Severity) -> FindingEvent {
        let Finding { rule, object, .. } = *finding(name, severity);
        FindingEvent::Cleared(ClearedFinding { rule, severity, object, left_out: false })
    }

    #[test]
    fn each_is_told_once_until_it_has_cleared() {
        let mut told = ToldFindings::new(Severity::High);
        let mut told = |event: FindingEvent| match told.sift(&[event])[..] {
            [] => "",
            [Telling::Appeared(_)] => "appeared",
            [Telling::Cleared(_)] => "cleared",
            _ => "more",
        };
        let appeared = |severity| FindingEvent::Appeared(finding("a", severity));
        let changed = |severity| FindingEvent::Changed(finding("a", severity));
        assert_eq!(told(appeared(Severity::Medium)), "");
        assert_eq!(told(cleared("a", Severity::Medium)), "");
        assert_eq!(told(appeared(Severity::Medium)), "");
        // It has become worse.
        assert_eq!(told(changed(Severity::High)), "appeared");
        assert_eq!(told(changed(Severity::Critical)), "");
        assert_eq!(told(cleared("a", Severity::Critical)), "cleared");
        assert_eq!(told(appeared(Severity::Critical)), "appeared");
    }

    #[test]
    fn a_burst_goes_out_at_once_and_the_rest_in_turn() {
        let mut bucket = TokenBucket::new(3, Duration::from_secs(2));
        let begun = bucket.at;
        let at = |seconds| begun + Duration::from_secs(seconds);
        let waits: Vec<_> = (0..5).map(|_| bucket.take(at(0)).as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 2, 4]);
        assert_eq!(bucket.take(at(6)).as_secs(), 0);
        assert_eq!(bucket.take(at(6)).as_secs(), 2);
        bucket.give_back();
        assert_eq!(bucket.take(at(6)).as_secs(), 2);
        assert!(!bucket.is_full(at(13)) && bucket.is_full(at(14)));
        // It holds no more than a burst.
        let waits: Vec<_> = (0..4).map(|_| bucket.take(at(1000)).as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 2]);
    }
}

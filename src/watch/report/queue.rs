//! `Queue`: what waits to be sent. Whoever fills it never waits.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// How many findings wait for a sink at most.
pub(super) const MOST: usize = 1000;

/// What waits to be sent, in order. Clones share it.
#[derive(Debug)]
pub(super) struct Queue<T>(Arc<Waiting<T>>);

#[derive(Debug)]
struct Waiting<T> {
    items: Mutex<VecDeque<T>>,
    arrived: Notify,
    most: usize,
}

/// What has become of what was to be told at one place.
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
    /// A queue in which no more than so many wait.
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

    /// Adds items, which are taken out together if there is room for that, and returns for how many
    /// there was none.
    pub(super) fn push_all(&self, new: Vec<T>) -> usize {
        let mut items = self.items();
        let room = self.0.most - items.len();
        let dropped = new.len().saturating_sub(room);
        items.extend(new.into_iter().take(room));
        drop(items);
        self.0.arrived.notify_one();
        dropped
    }

    /// Takes out what need not be sent any more.
    pub(super) fn retain(&self, keep: impl FnMut(&T) -> bool) {
        self.items().retain(keep);
    }

    /// Waits until there is something, and takes out the first `most` of it.
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
    /// Notes that so many were sent.
    pub(super) fn sent(&self, count: usize) {
        self.sent.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Notes that so many were given up.
    pub(super) fn failed(&self, count: usize) {
        self.failed.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Notes that there was no room for so many.
    pub(super) fn dropped(&self, count: usize) {
        self.dropped.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// How many there were, by what has become of them.
    pub(super) fn by_outcome(&self) -> [(&'static str, u64); 3] {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [("sent", of(&self.sent)), ("failed", of(&self.failed)), ("dropped", of(&self.dropped))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

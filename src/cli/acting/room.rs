//! `HourRoom`: how many changes may be made within the hour, which works that go on side by side share.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{Mutex, MutexGuard};

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

//! `WatchHealth`: how the watches are doing, for whoever reports on a loop that goes on for months.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::model::Kind;

/// How the watches of one intake are doing. Cheap to clone; clones share what they know.
#[derive(Debug, Clone, Default)]
pub struct WatchHealth(Arc<Mutex<WatchCounts>>);

#[derive(Debug, Default)]
struct WatchCounts {
    /// How often a watch began anew, by kind.
    restarts: BTreeMap<Kind, u64>,
    /// When a watch heard from the server last, by kind.
    heard: BTreeMap<Kind, Instant>,
}

impl WatchHealth {
    /// Notes that a watch of a kind heard from the server.
    pub(super) fn heard(&self, kind: Kind) {
        self.counts().heard.insert(kind, Instant::now());
    }

    /// Notes that a watch of a kind begins anew.
    pub(super) fn restarted(&self, kind: Kind) {
        *self.counts().restarts.entry(kind).or_default() += 1;
    }

    /// How often a watch began anew, by kind.
    pub fn restarts(&self) -> BTreeMap<Kind, u64> {
        self.counts().restarts.clone()
    }

    /// How long ago a watch heard from the server, an event or a bookmark, by kind.
    pub fn silences(&self) -> BTreeMap<Kind, Duration> {
        self.counts().heard.iter().map(|(kind, at)| (*kind, at.elapsed())).collect()
    }

    fn counts(&self) -> MutexGuard<'_, WatchCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_what_they_know() {
        let health = WatchHealth::default();
        let seen = health.clone();
        health.restarted(Kind::Pod);
        health.restarted(Kind::Pod);
        health.heard(Kind::Node);
        assert_eq!(seen.restarts(), [(Kind::Pod, 2)].into());
        assert_eq!(seen.silences().into_keys().collect::<Vec<_>>(), [Kind::Node]);
    }
}

//! `TokenBucket`: how often something may be sent.

use std::time::{Duration, Instant};

/// So many at once, and then one every so often.
#[derive(Debug)]
pub(super) struct TokenBucket {
    burst: f64,
    per_second: f64,
    tokens: f64,
    at: Instant,
}

impl TokenBucket {
    /// A full bucket that holds `burst`, and gains one token in each `every`.
    pub(super) fn new(burst: u32, every: Duration) -> Self {
        let burst = f64::from(burst);
        Self { burst, per_second: every.as_secs_f64().recip(), tokens: burst, at: Instant::now() }
    }

    /// Gives back the token that was taken last: nothing was sent.
    pub(super) fn give_back(&mut self) {
        self.tokens = (self.tokens + 1.0).min(self.burst);
    }

    /// Whether nothing was taken from it for as long as it takes to fill.
    pub(super) fn is_full(&self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens + passed * self.per_second >= self.burst
    }

    /// Takes a token, and returns how long to wait until it is there.
    pub(super) fn take(&mut self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.per_second).min(self.burst) - 1.0;
        self.at = now;
        Duration::from_secs_f64((-self.tokens).max(0.0) / self.per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

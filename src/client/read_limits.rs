//! `ReadLimits`: number of retries of a read, and bounds of its time and of parallel reads.

use std::time::Duration;

use super::read_error::ReadError;

/// Bounds on the retries, the waits and the parallelism of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// Number of times that a read is tried, the first included.
    pub attempts: u32,
    /// The pause after the first failure; each further one is twice as long.
    pub first_pause: Duration,
    /// The longest pause without `Retry-After`.
    pub longest_pause: Duration,
    /// The longest `Retry-After` that is honoured; longer ones are shortened to this.
    pub longest_retry_after: Duration,
    /// Longest time until the answer begins, or its next byte arrives.
    pub idle: Duration,
    /// Longest time for which a watch may receive nothing: servers send a bookmark about every minute.
    pub silence: Duration,
    /// Age from which a watch that ends has lasted: another one begins without a pause.
    pub lasting: Duration,
    /// The pause before a kind that was not listed is tried again; each further one is twice as
    /// long. Also how often a kind that is not served is looked for.
    pub first_return: Duration,
    /// The longest of these pauses.
    pub longest_return: Duration,
    /// Longest time of a whole request, body included: `--request-timeout`.
    pub whole: Option<Duration>,
    /// Number of requests that are under way at once.
    pub parallel: usize,
    /// Time within which a server at an address of this machine begins its first answer, handshakes included, if it is
    /// not reached through a tunnel. Answers are then not compressed, which would take longer than it saves.
    /// Kubernetes' own controllers, which run beside the API server, do the same.
    pub at_hand: Duration,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self {
            attempts: 5,
            first_pause: Duration::from_millis(200),
            longest_pause: Duration::from_secs(8),
            longest_retry_after: Duration::from_secs(30),
            idle: Duration::from_secs(60),
            silence: Duration::from_secs(180),
            lasting: Duration::from_secs(1),
            first_return: Duration::from_secs(10),
            longest_return: Duration::from_secs(300),
            whole: None,
            parallel: 16,
            at_hand: Duration::from_millis(15),
        }
    }
}

/// Number of times that a request is tried that can be replaced by a cheaper one.
const HURRIED: u32 = 2;

/// Patience of a caller, which decides which failures are retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// Retries every failure that may be temporary: the default.
    Full,
    /// Retries no timeouts: the caller has a cheaper request to send instead.
    Hurried,
    /// Retries no failure.
    Once,
}

impl ReadLimits {
    /// Returns the pause before attempt `done + 1`, or `None` if the error is final.
    ///
    /// `retry_after` is what the server asked for. `answered` is whether this server has answered
    /// before: if it then refuses connections it may be restarting, else the address is probably
    /// wrong.
    pub(super) fn pause(
        &self,
        patience: Patience,
        done: u32,
        error: &ReadError,
        retry_after: Option<Duration>,
        answered: bool,
    ) -> Option<Duration> {
        let worth = match error {
            ReadError::Api { code: 504, .. } | ReadError::TimedOut { .. } => {
                patience == Patience::Full
            }
            // A server whose watch cache cannot be filled always answers like this to requests for
            // a whole list, and answers requests for pages. Two attempts at the whole are enough.
            ReadError::Api { code: 429, .. } if patience == Patience::Hurried => done < HURRIED,
            ReadError::Api { code: 429 | 502 | 503, .. } | ReadError::Broken { .. } => true,
            ReadError::Api { code: 500, .. } => retry_after.is_some(),
            ReadError::Refused { .. } | ReadError::Unreachable { .. } => answered,
            ReadError::Api { .. }
            | ReadError::NotFound { .. }
            | ReadError::UnknownHost { .. }
            | ReadError::Tls { .. }
            | ReadError::Truncated { .. }
            | ReadError::Undecodable { .. }
            | ReadError::Credential(_)
            | ReadError::NotARead { .. } => false,
        };
        if !worth || patience == Patience::Once || done >= self.attempts {
            return None;
        }
        let own = self.own_pause(done);
        Some(retry_after.map_or(own, |wish| wish.min(self.longest_retry_after).max(own)))
    }

    /// Returns the pause after `done` failures without `Retry-After`.
    pub fn own_pause(&self, done: u32) -> Duration {
        doubled(self.first_pause, done, self.longest_pause)
    }

    /// Returns the pause before a kind is tried again of which `done` attempts were in vain.
    pub fn return_pause(&self, done: u32) -> Duration {
        doubled(self.first_return, done, self.longest_return)
    }
}

/// Doubles the first pause after each further failure, up to the longest.
fn doubled(first: Duration, done: u32, longest: Duration) -> Duration {
    first.saturating_mul(1 << done.saturating_sub(1).min(16)).min(longest)
}

/// Returns `Retry-After`, which API servers send in seconds.
pub(super) fn retry_after(headers: &http::HeaderMap) -> Option<Duration> {
    let value = headers.get(http::header::RETRY_AFTER)?.to_str().ok()?;
    value.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Patience, ReadLimits};
    use crate::client::read_error::ReadError;

    fn api(code: u16) -> ReadError {
        ReadError::Api { code, reason: String::new(), message: String::new(), path: String::new() }
    }

    #[test]
    fn pauses_grow_and_end() {
        let limits = ReadLimits::default();
        let pauses: Vec<_> =
            (1..=5).map(|done| limits.pause(Patience::Full, done, &api(503), None, true)).collect();
        assert_eq!(
            pauses,
            [Some(200), Some(400), Some(800), Some(1600), None]
                .map(|ms| ms.map(Duration::from_millis))
        );
        assert_eq!(limits.pause(Patience::Once, 1, &api(503), None, true), None);
    }

    #[test]
    fn the_server_is_listened_to_within_bounds() {
        let wish = |seconds, code| {
            ReadLimits::default().pause(
                Patience::Full,
                1,
                &api(code),
                Some(Duration::from_secs(seconds)),
                true,
            )
        };
        assert_eq!(wish(3, 429), Some(Duration::from_secs(3)));
        assert_eq!(wish(0, 429), Some(Duration::from_millis(200)));
        assert_eq!(wish(3600, 503), Some(Duration::from_secs(30)));
        assert_eq!(wish(1, 500), Some(Duration::from_secs(1)));
        assert_eq!(ReadLimits::default().pause(Patience::Full, 1, &api(500), None, true), None);
    }

    #[test]
    fn what_will_not_pass_is_not_repeated() {
        let limits = ReadLimits::default();
        for code in [400, 401, 403, 404, 406, 409, 410] {
            assert_eq!(limits.pause(Patience::Full, 1, &api(code), None, true), None, "{code}");
        }
        let refused = ReadError::Refused { server: String::new() };
        assert_eq!(limits.pause(Patience::Full, 1, &refused, None, false), None);
        assert!(limits.pause(Patience::Full, 1, &refused, None, true).is_some());
        assert_eq!(limits.pause(Patience::Hurried, 1, &api(504), None, true), None);
        assert!(limits.pause(Patience::Hurried, 1, &api(429), None, true).is_some());
        assert_eq!(limits.pause(Patience::Hurried, 2, &api(429), None, true), None);
    }
}

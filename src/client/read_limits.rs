//! How long to wait before a read is tried again, and when not to.

use std::time::Duration;

use super::read_error::ReadError;

/// Bounds on the patience of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// How often a read is tried, the first time included.
    pub attempts: u32,
    /// The pause after the first failure; each further one is twice as long.
    pub first_pause: Duration,
    /// The longest pause of our own choosing.
    pub longest_pause: Duration,
    /// The longest `Retry-After` that is honoured; a longer one is cut to this.
    pub longest_retry_after: Duration,
    /// How long to wait for the answer to begin, or for its next byte.
    pub idle: Duration,
    /// How long a watch may stay silent: servers send a bookmark about every minute.
    pub silence: Duration,
    /// How long a whole request may take, body included: `--request-timeout`.
    pub whole: Option<Duration>,
    /// How many requests are under way at once.
    pub parallel: usize,
    /// A server of this machine that begins its first answer sooner, handshakes included, is no tunnel to another one.
    /// Answers are not packed then: that would cost both ends more time than the bytes take. Kubernetes' own controllers,
    /// which run beside the API server, do the same.
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
            whole: None,
            parallel: 16,
            at_hand: Duration::from_millis(15),
        }
    }
}

/// How often something is tried that can be asked for in a cheaper way.
const HURRIED: u32 = 2;

/// Which failures are worth another try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// Everything that may pass: the default.
    Full,
    /// Not what took too long already: the caller has a cheaper question to ask instead.
    Hurried,
    /// None.
    Once,
}

impl ReadLimits {
    /// The pause before attempt `done + 1`, or `None` if the error stands.
    ///
    /// `retry_after` is the server's own wish. `answered` says that this server has answered before: one that refuses
    /// connections now may be restarting, while one that never answered is more likely a wrong address.
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
            // A server whose watch cache cannot be filled says so for ever to whoever asks for a whole
            // list, and answers pages. Asking for the whole twice more is enough.
            ReadError::Api { code: 429, .. } if patience == Patience::Hurried => done < HURRIED,
            ReadError::Api { code: 429 | 502 | 503, .. } | ReadError::Broken { .. } => true,
            ReadError::Api { code: 500, .. } => retry_after.is_some(),
            ReadError::Refused { .. } | ReadError::Unreachable { .. } => answered,
            ReadError::Api { .. }
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

    /// The pause after `done` failures, if nobody wishes for another.
    pub fn own_pause(&self, done: u32) -> Duration {
        self.first_pause.saturating_mul(1 << done.saturating_sub(1).min(16)).min(self.longest_pause)
    }
}

/// Reads a `Retry-After` header: seconds, as API servers send it.
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

//! `Moment`: when something began, by both clocks of this machine.

use std::time::{Duration, Instant};

use chrono::Utc;

use crate::model::Time;

/// When something began, by the stopwatch and by the date: the former stands still while a machine is
/// suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    instant: Instant,
    date: Time,
}

impl Moment {
    /// The present one.
    pub(crate) fn now() -> Self {
        Self { instant: Instant::now(), date: Utc::now() }
    }

    /// Returns how much time has passed since: by the stopwatch, or by the date where that has moved on
    /// further. A date that is set ahead makes something old too early, and never too late.
    pub(crate) fn elapsed(self) -> Duration {
        let by_date = (Utc::now() - self.date).to_std().unwrap_or_default();
        self.instant.elapsed().max(by_date)
    }

    /// The same on a machine that was suspended for so long since.
    #[cfg(test)]
    pub(crate) fn suspended(self, suspended: Duration) -> Self {
        Self { date: self.date - suspended, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_began_before_a_machine_was_suspended_is_old() {
        const HOUR: Duration = Duration::from_secs(3600);
        let began = Moment::now();
        assert!(began.elapsed() < HOUR);
        assert!(began.suspended(HOUR).elapsed() >= HOUR);
        // The date was set back.
        let ahead = Moment { date: began.date + HOUR, ..began };
        assert!(ahead.elapsed() < HOUR);
    }
}

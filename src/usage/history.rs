//! Development of a volume over time, in a few numbers.

use super::rate;
use crate::model::{Bytes, Time};

/// What is kept of the samples of a volume.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct UsageHistory {
    /// Time of the first sample, of several.
    pub(crate) since: Option<Time>,
    /// What most was used.
    pub(crate) peak: Option<PeakUsage>,
    /// Bytes a second by which the available ones became fewer, over the last week.
    pub(crate) of_week: Option<f64>,
    /// The same over the last day.
    pub(crate) of_day: Option<f64>,
}

/// The most that was used of a volume.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PeakUsage {
    /// Number of bytes.
    pub(crate) used: Bytes,
    /// Time of the first sample.
    pub(crate) since: Time,
    /// Time of the last sample.
    pub(crate) until: Time,
    /// Number of days with a sample.
    pub(crate) days: usize,
}

/// A sample: seconds since 1970, and bytes.
pub(super) type TimedBytes = (f64, u64);

const DAY: f64 = 86_400.0;
/// Share of a span that samples have to cover: a scrape may be missing at its beginning.
const COVERED: f64 = 0.9;

impl UsageHistory {
    /// Takes the samples of what is available, in the order of their times.
    pub(super) fn take_available(&mut self, samples: &[TimedBytes]) {
        self.take_span(samples);
        self.of_week = shrinking(samples, 7.0 * DAY);
        self.of_day = shrinking(samples, DAY);
    }

    /// Takes the samples of what is used, in the order of their times.
    pub(super) fn take_used(&mut self, samples: &[TimedBytes]) {
        self.take_span(samples);
        let [first, .., last] = samples else { return };
        let times = super::seconds(first.0).zip(super::seconds(last.0));
        let most = times.zip(samples.iter().map(|it| it.1).max());
        self.peak = most.map(|((since, until), used)| PeakUsage {
            used,
            since,
            until,
            days: days(samples),
        });
    }

    fn take_span(&mut self, samples: &[TimedBytes]) {
        if let [first, _, ..] = samples {
            let since = super::seconds(first.0);
            self.since = self.since.into_iter().chain(since).min();
        }
    }

    /// Returns the seconds after which nothing is available: by the slower of both rates, and only if both are known
    /// and the volume fills by both.
    pub(crate) fn full_in(&self, available: Bytes) -> Option<f64> {
        let slower = self.of_week?.min(self.of_day?);
        (slower > 0.0).then(|| rate(available) / slower)
    }
}

/// Returns the number of days with a sample.
fn days(samples: &[TimedBytes]) -> usize {
    let mut days: Vec<_> = samples.iter().map(|it| (it.0 / DAY).floor()).collect();
    days.dedup();
    days.len()
}

/// Returns the bytes a second by which the last span made less available; `None` where the samples do not cover it.
fn shrinking(samples: &[TimedBytes], span: f64) -> Option<f64> {
    let last = samples.last()?;
    let first = samples.iter().find(|it| it.0 >= last.0 - span)?;
    let covered = last.0 - first.0;
    (covered >= COVERED * span).then(|| (rate(first.1) - rate(last.1)) / covered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_full_when_both_rates_say_so() {
        let hours = |available: &dyn Fn(u32) -> u64| -> UsageHistory {
            let samples: Vec<_> =
                (0..=24 * 8).map(|hour| (f64::from(hour) * 3600.0, available(hour))).collect();
            let mut history = UsageHistory::default();
            history.take_available(&samples);
            history
        };
        let days = |history: &UsageHistory, left: u64| history.full_in(left).map(|it| it / DAY);
        // A gigabyte a day, of which ten are left.
        let steady = hours(&|hour| 18_000_000_000 - u64::from(hour) * 1_000_000_000 / 24);
        assert!(days(&steady, 10_000_000_000).is_some_and(|it| (it - 10.0).abs() < 0.01));
        // It filled, and stands still now; or fills since yesterday only.
        let stood = hours(&|hour| 18_000_000_000 - u64::from(hour.min(160)) * 100_000_000);
        assert_eq!(days(&stood, 1), None);
        let burst = hours(&|hour| 18_000_000_000 - u64::from(hour.max(170)) * 1_000_000);
        assert!(days(&burst, 1_000_000_000).is_some_and(|it| it > 100.0));
        // Emptied within the week: no prediction.
        let emptied = hours(&|hour| if hour < 100 { 0 } else { 10_000 - u64::from(hour) });
        assert_eq!(days(&emptied, 100), None);
        // Five days are no week.
        let samples: Vec<_> =
            (0_u32..5).map(|it| (f64::from(it) * DAY, 100 - u64::from(it))).collect();
        let mut short = UsageHistory::default();
        short.take_available(&samples);
        assert_eq!((short.of_week, short.of_day.is_some()), (None, true));
        assert_eq!(short.full_in(1), None);
    }
}

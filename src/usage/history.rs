//! Development of a volume over time, in a few numbers.

use std::cmp::Ordering;

use super::rate;
use crate::model::{Bytes, Time};

/// What is kept of the samples of a volume.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct UsageHistory {
    /// Time of the first sample, of several.
    pub(crate) since: Option<Time>,
    /// Time of the last sample of what is available: the rates are those until then.
    pub(crate) until: Option<Time>,
    /// What most was used.
    pub(crate) peak: Option<PeakUsage>,
    /// Its size, and since when it has that.
    pub(crate) size: Option<SteadySize>,
    /// Bytes a second by which the available ones became fewer, over the last week.
    pub(crate) of_week: Option<f64>,
    /// The same over the last day.
    pub(crate) of_day: Option<f64>,
}

/// The size of a file system, which it has had for some time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SteadySize {
    /// Number of bytes.
    pub(crate) bytes: Bytes,
    /// Time of the first sample since which it is that.
    pub(crate) since: Time,
    /// Time of the last sample.
    pub(crate) until: Time,
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
    /// Number of samples.
    pub(crate) samples: usize,
}

/// A sample: seconds since 1970, and bytes.
pub(super) type TimedBytes = (f64, u64);

const DAY: f64 = 86_400.0;
/// Share of a span that samples have to cover: a scrape may be missing at its beginning.
const COVERED: f64 = 0.9;

impl UsageHistory {
    /// Takes the samples of what is available, in the order of their times.
    pub(super) fn take_available(&mut self, samples: &[TimedBytes]) {
        let [.., last] = samples else { return };
        self.take_beginning(samples);
        self.until = super::seconds(last.0);
        self.of_week = shrinking(samples, 7.0 * DAY);
        self.of_day = shrinking(samples, DAY);
    }

    /// Takes the samples of what is used, in the order of their times.
    pub(super) fn take_used(&mut self, samples: &[TimedBytes]) {
        self.take_beginning(samples);
        let [first, .., last] = samples else { return };
        let times = super::seconds(first.0).zip(super::seconds(last.0));
        let most = times.zip(samples.iter().map(|it| it.1).max());
        self.peak = most.map(|((since, until), used)| PeakUsage {
            used,
            since,
            until,
            days: days(samples),
            samples: samples.len(),
        });
    }

    /// Takes the samples of its size, in the order of their times.
    pub(super) fn take_size(&mut self, samples: &[TimedBytes]) {
        let Some((until, bytes)) = samples.last() else { return };
        let same = samples.iter().rev().take_while(|it| it.1 == *bytes).last();
        let times = same.and_then(|it| super::seconds(it.0).zip(super::seconds(*until)));
        self.size = times.map(|(since, until)| SteadySize { bytes: *bytes, since, until });
    }

    fn take_beginning(&mut self, samples: &[TimedBytes]) {
        let since = samples.first().and_then(|it| super::seconds(it.0));
        self.since = self.since.into_iter().chain(since).min();
    }

    /// Adds what another series tells of the same volume: of another measure, from another node, or scraped by another
    /// Prometheus.
    pub(crate) fn join(&mut self, other: &Self) {
        let slower = |one: Option<f64>, other: Option<f64>| Some(one?.min(other?));
        match self.until.cmp(&other.until) {
            Ordering::Less => {
                (self.of_week, self.of_day) = (other.of_week, other.of_day);
            }
            Ordering::Equal if other.until.is_some() => {
                self.of_week = slower(self.of_week, other.of_week);
                self.of_day = slower(self.of_day, other.of_day);
            }
            Ordering::Equal | Ordering::Greater => {}
        }
        self.size = match (self.size.take(), &other.size) {
            (Some(one), Some(other)) if one.bytes == other.bytes => Some(SteadySize {
                bytes: one.bytes,
                since: one.since.min(other.since),
                until: one.until.max(other.until),
            }),
            (Some(one), Some(other)) if one.until >= other.until => Some(one),
            (one, other) => other.clone().or(one),
        };
        self.since = self.since.into_iter().chain(other.since).min();
        self.until = self.until.max(other.until);
        self.peak = match (self.peak.take(), &other.peak) {
            (Some(one), Some(other)) => Some(PeakUsage {
                used: one.used.max(other.used),
                since: one.since.min(other.since),
                until: one.until.max(other.until),
                days: one.days.max(other.days),
                samples: one.samples.max(other.samples),
            }),
            (one, other) => one.or_else(|| other.clone()),
        };
    }

    /// Forgets the rates unless they are those until this time: those of an hour before it at least.
    pub(crate) fn end_at(&mut self, at: Time) {
        if self.until.is_none_or(|it| at - it > chrono::Duration::hours(1)) {
            (self.of_week, self.of_day) = (None, None);
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

/// Returns the bytes a second by which the last span made less available; `None` where the samples do not cover it, or it
/// was emptied again within it.
fn shrinking(samples: &[TimedBytes], span: f64) -> Option<f64> {
    let last = samples.last()?;
    let first = samples.iter().find(|it| it.0 >= last.0 - span)?;
    let covered = last.0 - first.0;
    let within = samples.iter().skip_while(|it| it.0 < last.0 - span);
    let (mut fell, mut rose): (u128, u128) = (0, 0);
    for (one, next) in within.clone().zip(within.skip(1)) {
        fell += u128::from(one.1.saturating_sub(next.1));
        rose += u128::from(next.1.saturating_sub(one.1));
    }
    // What is emptied again and again does not fill, whatever the first and the last sample show.
    let empties = rose * 2 > fell;
    (covered >= COVERED * span && !empties).then(|| (rate(first.1) - rate(last.1)) / covered)
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

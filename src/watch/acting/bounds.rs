//! How many changes there is room for, and the circuit breaker.

use std::fmt;
use std::time::Duration;

/// So many volumes are no flood in a cluster of any size.
const FEW: usize = 5;

/// How much is done, and after how many judgements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ActingBounds {
    /// More changes than this are refused altogether; `None` where they wait for their turn.
    pub(crate) most: Option<usize>,
    /// Changes of one run.
    pub(crate) per_run: usize,
    /// Changes of one work within an hour, by whichever process.
    pub(crate) per_hour: usize,
    /// For how many judgements a proposal stands unchanged before it is carried out.
    pub(crate) judgements: u32,
    /// How long after each other they are made.
    pub(crate) interval: Duration,
    /// How many percent of all volumes may become eligible within an hour.
    pub(crate) newly_eligible_percent: u8,
}

impl Default for ActingBounds {
    fn default() -> Self {
        Self {
            most: None,
            per_run: 10,
            per_hour: 20,
            judgements: 3,
            interval: Duration::from_secs(5),
            newly_eligible_percent: 10,
        }
    }
}

/// How many more changes may be made in a run: of so many a run, and so many an hour of which some were made.
pub(crate) fn room(per_run: usize, per_hour: usize, made: usize) -> usize {
    per_hour.saturating_sub(made).min(per_run)
}

/// A flood of volumes that can be reclaimed: more likely a mistake, such as a deleted namespace or a restored cluster, than
/// garbage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Breaker {
    /// Volumes that became eligible within an hour.
    newly: usize,
    /// All volumes.
    all: usize,
    /// How many percent of all may.
    percent: u8,
}

impl Breaker {
    /// The breaker that opens where more than this share of all volumes became eligible within an hour.
    pub(crate) fn of(newly: usize, all: usize, percent: u8) -> Option<Self> {
        let is_open = newly > FEW && newly.saturating_mul(100) > all.saturating_mul(percent.into());
        is_open.then_some(Self { newly, all, percent })
    }
}

impl fmt::Display for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { newly, all, percent } = self;
        write!(f, "{newly} of {all} volumes became eligible within an hour, more than {percent} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_a_run_and_for_an_hour() {
        assert_eq!(room(10, 20, 0), 10);
        assert_eq!(room(10, 20, 15), 5);
        assert_eq!(room(10, 20, 20), 0);
        assert_eq!(room(10, 20, 30), 0);
    }

    #[test]
    fn a_share_opens_the_breaker_and_a_few_volumes_never_do() {
        assert_eq!(Breaker::of(5, 5, 10), None);
        assert!(Breaker::of(6, 6, 10).is_some());
        assert_eq!(Breaker::of(6, 60, 10), None);
        assert!(Breaker::of(7, 60, 10).is_some());
        assert_eq!(Breaker::of(1000, 1000, 100), None);
        assert!(Breaker::of(usize::MAX, 10, 100).is_some());
        let told = Breaker::of(30, 100, 10).map(|it| it.to_string());
        let expected = "30 of 100 volumes became eligible within an hour, more than 10 %";
        assert_eq!(told.as_deref(), Some(expected));
    }
}

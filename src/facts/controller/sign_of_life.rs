//! The weight of a sign of life as evidence.

use std::time::Duration;

use crate::cluster::Cx;
use crate::model::Time;

/// The weight of a sign of life as evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignOfLife {
    None,
    Old,
    /// A clock is wrong or the time is unknown: this proves nothing.
    Odd,
    Recent,
}

impl SignOfLife {
    /// The same where nothing tells that it is old.
    pub(super) fn or_odd(self) -> Self {
        if self == Self::Old { Self::Odd } else { self }
    }

    /// Weighs a time by another clock, which may be ahead by as much as counts as recent.
    pub(super) fn of(cx: &Cx, time: Option<Time>, within: Duration) -> Self {
        match time {
            None => Self::None,
            Some(time)
                if !cx.has_clock() || cx.is_future(time, within) || is_ahead(cx, time, within) =>
            {
                Self::Odd
            }
            Some(time) if cx.passed(time, within) => Self::Old,
            Some(_) => Self::Recent,
        }
    }
}

/// Whether a time lies after the clock by more than counts as recent. That of a dump without a time may
/// be too early, but no earlier than any time of its objects that has come.
fn is_ahead(cx: &Cx, time: Time, within: Duration) -> bool {
    let now = cx.cluster().clock();
    now.is_some_and(|now| (time - now).to_std().is_ok_and(|ahead| ahead > within))
}

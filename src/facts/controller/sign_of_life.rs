//! What a sign of life is worth.

use std::time::Duration;

use crate::cluster::Cx;
use crate::model::Time;

/// What a sign of life is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignOfLife {
    None,
    Old,
    /// Some clock is wrong, or there is none: it proves neither life nor death.
    Odd,
    Recent,
}

impl SignOfLife {
    /// Weighs a time that something stamped: its clock may be ahead by as much as counts as recent.
    pub(super) fn of(cx: &Cx, time: Option<Time>, within: Duration) -> Self {
        match time {
            None => Self::None,
            Some(time) if !cx.has_clock() || cx.is_future(time, within) => Self::Odd,
            Some(time) if cx.passed(time, within) => Self::Old,
            Some(_) => Self::Recent,
        }
    }
}

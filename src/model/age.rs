//! Ages: since when a state has lasted, and how far that time can be trusted.

use super::{Time, UNREADABLE_TIME};

/// Since when a state has lasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Age {
    /// The beginning; `None` only with [`Trust::Unknown`].
    pub since: Option<Time>,
    /// What the beginning rests on.
    pub trust: Trust,
}

impl Age {
    /// An unknown age.
    pub const UNKNOWN: Self = Self { since: None, trust: Trust::Unknown };

    /// An age from a time that only the API server can write, such as a creation or deletion
    /// timestamp.
    pub fn stamped(since: Option<Time>) -> Self {
        match since {
            Some(time) if time != UNREADABLE_TIME => Self { since, trust: Trust::Corroborated },
            _ => Self::UNKNOWN,
        }
    }
}

/// What an age rests on (semantics#trusted-age).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trust {
    /// Two sources agree within five minutes, or the API server alone can write it.
    Corroborated,
    /// Two sources disagree; the younger age is used.
    Conflicting,
    /// Only `lastPhaseTransitionTime`, which users can write.
    SingleSource,
    /// Only managedFields: the state has lasted at least this long.
    LowerBound,
    /// Unknown.
    Unknown,
}

impl Trust {
    /// As reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Corroborated => "corroborated",
            Self::Conflicting => "conflicting",
            Self::SingleSource => "single-source",
            Self::LowerBound => "lower-bound",
            Self::Unknown => "unknown",
        }
    }
}

//! How long something has been so, and how far that can be trusted.

use super::Time;

/// Since when something has been so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Age {
    /// The beginning; `None` only with [`Trust::Unknown`].
    pub since: Option<Time>,
    /// What the beginning rests on.
    pub trust: Trust,
}

impl Age {
    /// An age that nothing tells.
    pub const UNKNOWN: Self = Self { since: None, trust: Trust::Unknown };

    /// The age of something that the API server itself stamps and nobody can forge, such as
    /// a creation or deletion timestamp.
    pub const fn stamped(since: Option<Time>) -> Self {
        match since {
            Some(_) => Self { since, trust: Trust::Corroborated },
            None => Self::UNKNOWN,
        }
    }
}

/// What an age rests on (SEMANTICS 0.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trust {
    /// Two sources agree within five minutes, or the API server alone can write it.
    Corroborated,
    /// Two sources disagree; the younger age is used.
    Conflicting,
    /// Only `lastPhaseTransitionTime`, which users can write.
    SingleSource,
    /// Only managedFields: it has been so at least this long.
    LowerBound,
    /// Nothing tells.
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

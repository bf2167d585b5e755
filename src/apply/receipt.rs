//! Options of a run (dry run, parallelism, Events, waiting), its receipt, change by change, and points in time by both
//! clocks of this machine.

use std::time::{Duration, Instant};

use chrono::Utc;
use serde_json::Value;

use super::{current_cluster::ReadAgainError, writer::WriteError};
use crate::model::Time;
use crate::plan::{ProposedChange, RefusedObject};

pub use crate::journal::Outcome;

/// The outcome of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// The id of this run, as the journal has it.
    pub run: String,
    /// Time when the run ended, by the API server's clock.
    pub ended: Option<Time>,
    /// Every change, in the order of the plan.
    pub done: Vec<ChangeReceipt>,
    /// The objects that the plan refused.
    pub refusals: Vec<RefusedObject>,
    /// Other errors: Events that could not be written, a batch that ended early.
    pub notes: Vec<String>,
    /// Whether the user interrupted the run.
    pub interrupted: bool,
}

/// The outcome of one change.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeReceipt {
    /// The change.
    pub change: ProposedChange,
    /// The outcome of the change.
    pub outcome: Outcome,
    /// The evidence for the outcome, or why it is unknown.
    pub detail: String,
    /// The journal entry of the last step; `None` where nothing was sent.
    pub entry: Option<u64>,
    /// Whether at least one step was carried out, although not all of them were.
    pub partly: bool,
}

impl Receipt {
    /// Counts the changes with this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.done.iter().filter(|done| done.outcome == outcome).count()
    }

    /// Whether anything was written, or may have been.
    pub fn wrote(&self) -> bool {
        let unwritten = [Outcome::Refused, Outcome::Stale, Outcome::Failed];
        self.done.iter().any(|done| done.partly || !unwritten.contains(&done.outcome))
    }
}

/// Dry-run mode of the requests of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// Requests are carried out.
    None,
    /// The API server checks each request and carries out none.
    Server,
}

/// The options of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions {
    /// Number of changes that are made at the same time, also of one driver; `None` for one per driver.
    pub parallel: Option<usize>,
    /// Number of changes of each driver that are made at the same time, where [`parallel`](Self::parallel) says nothing.
    pub per_driver: usize,
    /// Whether requests are dry runs.
    pub dry_run: DryRun,
    /// Whether Events are written.
    pub events: bool,
    /// Whether the run waits for the effect of each write.
    pub wait: bool,
}

/// The end of a change, or of one step of it.
#[derive(Debug)]
pub(super) struct ChangeEnd {
    pub(super) outcome: Outcome,
    pub(super) detail: String,
    /// The journal entry of the last step.
    pub(super) entry: Option<u64>,
    /// Reason why no other change may begin; `None` if others may.
    pub(super) ends_batch: Option<String>,
    /// Other errors.
    pub(super) notes: Vec<String>,
    /// Whether an earlier step of the change was carried out.
    pub(super) partly: bool,
    /// The object as it was before the step, where the step was carried out.
    pub(super) before: Option<Box<Value>>,
}

impl ChangeEnd {
    /// Returns an end without an entry or notes.
    pub(super) fn new(outcome: Outcome, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self {
            outcome,
            detail,
            entry: None,
            ends_batch: None,
            notes: Vec::new(),
            partly: false,
            before: None,
        }
    }

    /// Makes this end the end of the batch, for the same reason.
    pub(super) fn ends_batch(mut self) -> Self {
        self.ends_batch = Some(self.detail.clone());
        self
    }

    /// Returns the same end for another change of the same request, without its entry.
    pub(super) fn same(&self) -> Self {
        let Self { outcome, detail, ends_batch, .. } = self;
        Self { ends_batch: ends_batch.clone(), ..Self::new(*outcome, detail.as_str()) }
    }

    /// Returns the end of a change whose object could not be read again.
    pub(super) fn unread(error: &ReadAgainError) -> Self {
        Self::new(Outcome::Failed, format!("it could not be read again: {error}")).ends_batch()
    }

    /// Returns the end of a change that the API server rejected when it was asked for the first time:
    /// nothing was written, and admission or RBAC may say otherwise of the next object.
    pub(super) fn not_admitted(error: &WriteError) -> Self {
        match error {
            // The next request would be one too many as well.
            WriteError::Rejected { code: 429, .. } => Self::unsent(error),
            WriteError::Rejected { .. } if error.overtaken().is_none() => {
                Self::new(Outcome::Refused, error.to_string())
            }
            error => Self::unsent(error),
        }
    }

    /// Returns the end of a change whose write was not answered with success.
    pub(super) fn unsent(error: &WriteError) -> Self {
        if let Some(detail) = error.overtaken() {
            return Self::new(Outcome::Stale, detail);
        }
        match error {
            // The dry run has just succeeded: the cause is unknown.
            WriteError::Rejected { .. } | WriteError::NotSent(_) => {
                Self::new(Outcome::Failed, error.to_string()).ends_batch()
            }
            WriteError::Withdrawn(_) => Self::new(Outcome::Refused, error.to_string()),
            WriteError::Unanswered(detail) | WriteError::CarriedOut(detail) => {
                let detail = format!("unknown whether the request took effect: {detail}");
                Self::new(Outcome::Unanswered, detail).ends_batch()
            }
        }
    }

    /// Adds the end of the steps before.
    pub(super) fn after(mut self, earlier: Self) -> Self {
        let Self { detail, entry, notes, before, .. } = earlier;
        self.partly = true;
        self.detail = format!("{detail}; then: {}", self.detail);
        self.entry = self.entry.or(entry);
        self.before = self.before.or(before);
        self.notes.splice(0..0, notes);
        self
    }
}

/// A point in time, by the stopwatch and by the date: the former stands still while a machine is suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    instant: Instant,
    date: Time,
}

impl Moment {
    /// Returns the present point in time.
    pub(crate) fn now() -> Self {
        Self { instant: Instant::now(), date: Utc::now() }
    }

    /// Returns the time since: by the stopwatch, or by the date where that has advanced further. A date that is set
    /// ahead makes something old too early, and never too late.
    pub(crate) fn elapsed(self) -> Duration {
        let by_date = (Utc::now() - self.date).to_std().unwrap_or_default();
        self.instant.elapsed().max(by_date)
    }

    /// Returns the same point in time on a machine that was suspended since for this long.
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

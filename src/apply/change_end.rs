//! How a change, or one step of it, ended.

use serde_json::Value;

use super::current_cluster::ReadAgainError;
use super::receipt::Outcome;
use super::writer::WriteError;

/// How a change, or one step of it, ended.
#[derive(Debug)]
pub(super) struct ChangeEnd {
    pub(super) outcome: Outcome,
    pub(super) detail: String,
    /// Its journal entry.
    pub(super) entry: Option<u64>,
    /// Why no other change may begin, if none may.
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

    /// Ends the batch with it.
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

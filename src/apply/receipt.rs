//! The outcome of a plan, change by change.

use crate::model::Time;
use crate::plan::{ProposedChange, RefusedObject};

pub use crate::journal::Outcome;

/// The outcome of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// The id of this run, as the journal has it.
    pub run: String,
    /// When it ended, by the API server's clock.
    pub ended: Option<Time>,
    /// Every change, in the order of the plan.
    pub done: Vec<ChangeReceipt>,
    /// The refusals of the plan.
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
    /// Its outcome.
    pub outcome: Outcome,
    /// The evidence for the outcome, or why it is unknown.
    pub detail: String,
    /// The journal entry of its last step; `None` where nothing was sent.
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

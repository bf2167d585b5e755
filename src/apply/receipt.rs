//! What became of a plan.

use crate::model::Time;
use crate::plan::{Change, Refused};

pub use crate::journal::Outcome;

/// What became of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// The id of this run, as the journal has it.
    pub run: String,
    /// When it ended, by the server's clock.
    pub ended: Option<Time>,
    /// Every change, in the order of the plan.
    pub done: Vec<Done>,
    /// What the plan refused.
    pub refusals: Vec<Refused>,
    /// What went wrong besides: events that could not be written, a batch that was ended early.
    pub notes: Vec<String>,
    /// Whether somebody asked for the end before it was reached.
    pub interrupted: bool,
}

/// What became of one change.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// The change.
    pub change: Change,
    /// What became of it.
    pub outcome: Outcome,
    /// How that is known, or why not.
    pub detail: String,
    /// Its entry in the journal, if it got so far: that of its last step.
    pub entry: Option<u64>,
    /// Whether something was written, although it did not come to its end.
    pub partly: bool,
}

impl Receipt {
    /// How many changes came to this end.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.done.iter().filter(|done| done.outcome == outcome).count()
    }

    /// Whether anything was written, or may have been.
    pub fn wrote(&self) -> bool {
        let unwritten = [Outcome::Refused, Outcome::Stale, Outcome::Failed];
        self.done.iter().any(|done| done.partly || !unwritten.contains(&done.outcome))
    }
}

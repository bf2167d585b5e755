//! What is told of what is done in the background.

use std::collections::{BTreeMap, BTreeSet};

use crate::apply::Receipt;
use crate::model::ObjectRef;
use crate::output::writing;
use crate::plan::ProposedChange;
use crate::watch::acting::{Breaker, LeftAlone, Work};

/// Why something was not done, as it was told of each work since something was done: nothing is told twice.
#[derive(Default)]
pub(in crate::cli) struct ToldReasons(BTreeMap<Work, BTreeSet<String>>);

/// More reasons of one work are not remembered: some of them name objects.
const REMEMBERED: usize = 100;

impl ToldReasons {
    /// Whether this reason was not told yet.
    pub(in crate::cli) fn is_new(&mut self, work: Work, reason: &str) -> bool {
        let known = self.0.entry(work).or_default();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(reason.to_owned())
    }

    /// Forgets it: something was done.
    pub(in crate::cli) fn forget(&mut self, work: Work) {
        self.0.remove(&work);
    }
}

/// What is told of what is done in the background.
pub(in crate::cli) enum ActingNews<'a> {
    /// A reconciler that only reports would make these changes.
    Would { work: Work, changes: &'a [ProposedChange] },
    /// Nothing is announced or reclaimed.
    BreakerOpen { work: Work, breaker: &'a Breaker },
    /// Changes wait, since so many were made within the hour.
    NoRoom { work: Work, waiting: usize, made: usize },
    /// Changes wait, since it is not known how many were made within the hour.
    UnknownRate { work: Work, waiting: usize, why: &'a str },
    /// So many changes at once are refused altogether.
    TooMany { work: Work, count: usize },
    /// Somebody else undoes again and again what was done to an object.
    Undone { work: Work, object: &'a ObjectRef },
    /// It was reclaimed, and somebody has set its reclaim policy back.
    TakenBack { work: Work, object: &'a ObjectRef },
    /// Volumes are not announced, although they are old enough.
    LeftAlone { work: Work, left_alone: &'a LeftAlone },
    /// Changes were made, or were not.
    Changed { work: Work, receipt: &'a Receipt, shape: &'a writing::Receipt },
    /// It could not look, or not write.
    Failed { work: Work, message: String },
}

//! The entries of the journal of writes, and questions about them.

use std::collections::{BTreeSet, HashSet};

use chrono::TimeDelta;

use super::line::Term;
use super::{Backend, Intent, Outcome};
use crate::model::{JournalEntryNumber, JournalPlace, Time, Uid};

/// A request that was about to be sent, and its outcomes.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Number of the entry in the journal.
    pub sequence: u64,
    /// Time when the intent was recorded, by the API server's clock.
    pub at: Option<Time>,
    /// The id of the run.
    pub run: String,
    /// The epoch of the leader that recorded it; `None` for a person's command.
    pub term: Option<Term>,
    /// The request, and the reason for it.
    pub intent: Intent,
    /// The outcomes, in the order in which they were recorded.
    pub outcomes: Vec<EntryOutcome>,
}

/// An outcome of an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryOutcome {
    /// Time when the outcome was recorded, by the API server's clock.
    pub at: Option<Time>,
    /// The outcome.
    pub outcome: Outcome,
    /// The API server's message, or the evidence.
    pub detail: String,
}

impl Entry {
    /// Returns the last outcome; `None` where the run ended before it recorded one.
    pub fn last(&self) -> Option<Outcome> {
        self.outcomes.last().map(|ended| ended.outcome)
    }

    /// Whether the outcome is unknown: none is recorded, or the run ended before it verified the effect, or no answer
    /// came.
    pub fn is_open(&self) -> bool {
        matches!(self.last(), None | Some(Outcome::Sent | Outcome::Unanswered))
    }

    /// Whether the request was carried out, but its effect was not verified before the deadline.
    pub fn is_pending(&self) -> bool {
        self.last() == Some(Outcome::Pending)
    }

    /// Whether the API server has carried out the request, whatever its effect.
    pub fn wrote(&self) -> bool {
        let written = [Outcome::Sent, Outcome::Done, Outcome::Pending];
        self.outcomes.iter().any(|ended| written.contains(&ended.outcome))
    }

    /// Whether the API server has carried out the request, or may have.
    pub fn may_have_written(&self) -> bool {
        self.wrote() || self.is_open()
    }

    /// Whether the effect of the request is verified.
    pub fn is_done(&self) -> bool {
        self.last() == Some(Outcome::Done)
    }
}

/// Tolerance between the times of concurrent runs, which read the time before they wait for their turn.
pub(super) const SKEW: TimeDelta = TimeDelta::minutes(1);

/// The journal as it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// The entries, in the order of their intents.
    pub entries: Vec<Entry>,
    /// Defects of the journal.
    pub notes: Vec<String>,
    /// Reasons why entries may be missing.
    pub doubts: Vec<HistoryDoubt>,
    /// The place of the journal.
    pub place: JournalPlace,
    /// Reason why nothing may be undone or destroyed by this journal: it was not recorded in this cluster, or that is
    /// unknown.
    pub distrusted: Option<String>,
    /// Other journals about this cluster. Nothing is done on their account, but what they record can forbid it.
    pub others: Vec<History>,
}

/// Reason why entries may be missing from a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryDoubt {
    /// The reason, in words.
    pub why: String,
    /// Time when the next dated line was recorded: the missing entries are older. `None` where none follows.
    pub before: Option<Time>,
}

impl History {
    /// Returns the entry with this sequence; `None` where two have it, because the file was edited.
    pub fn entry(&self, sequence: u64) -> Option<&Entry> {
        let mut found = self.entries.iter().filter(|entry| entry.sequence == sequence);
        found.next().filter(|_| found.next().is_none())
    }

    /// Returns the number of the entry with this sequence, as users name it.
    pub fn numbered(&self, sequence: u64) -> JournalEntryNumber {
        JournalEntryNumber { place: self.place.clone(), sequence }
    }

    /// Returns the entries after an entry of this journal, here and in other journals, each with its journal. Between
    /// journals times decide, and what may be later counts as later.
    pub fn after<'a>(&'a self, entry: &'a Entry) -> impl Iterator<Item = (&'a Self, &'a Entry)> {
        let own = self.entries.iter().filter(|it| it.sequence > entry.sequence);
        let may_be_later = |it: &&Entry| it.at.zip(entry.at).is_none_or(|(at, of)| at >= of - SKEW);
        let of_others = self.others.iter().flat_map(move |other| {
            other.entries.iter().filter(may_be_later).map(move |it| (other, it))
        });
        own.map(move |it| (self, it)).chain(of_others)
    }

    /// Returns this journal and the others.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.others)
    }

    /// Returns the entries with an unknown outcome.
    pub fn open(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.is_open())
    }

    /// Returns the entries that kept, or may have kept, a backend volume on purpose: the latest of
    /// each backend volume, unless it was undone.
    ///
    /// An entry that is itself undone undoes nothing.
    pub fn kept(&self) -> Vec<&Entry> {
        let undone = self.undone();
        let mut backends = HashSet::<&Backend>::new();
        let mut kept: Vec<_> = self
            .entries
            .iter()
            .rev()
            .filter(|it| it.intent.keeps && (it.is_done() || it.is_pending() || it.is_open()))
            .filter(|it| it.intent.backend.as_ref().is_some_and(|it| backends.insert(it)))
            .filter(|it| !undone.contains(&it.sequence))
            .collect();
        kept.reverse();
        kept
    }

    /// Returns the finalizers that entries added, or may have added, and no later one removed, each
    /// with the uid of its object.
    pub fn added_finalizers(&self) -> BTreeSet<(&Uid, &str)> {
        let mut added = BTreeSet::new();
        for entry in &self.entries {
            let Some(uid) = &entry.intent.object.uid else { continue };
            if let Some(finalizer) = entry.intent.adds_finalizer.as_deref()
                && entry.may_have_written()
            {
                added.insert((uid, finalizer));
            }
            if let Some(finalizer) = entry.intent.removes_finalizer.as_deref()
                && entry.wrote()
            {
                added.remove(&(uid, finalizer));
            }
        }
        added
    }

    /// Whether the API server has since carried out a request that may destroy this object or its backend volume.
    pub fn was_condemned(&self, uid: &Uid, since: Time) -> bool {
        let is_later = |entry: &Entry| entry.at.is_none_or(|at| at + SKEW >= since);
        let condemns = |entry: &&Entry| {
            let intent = &entry.intent;
            intent.object.uid.as_ref() == Some(uid) && intent.may_destroy() && entry.wrote()
        };
        self.entries.iter().filter(condemns).any(is_later)
    }

    /// Returns the sequences of the entries that a later, verified entry has undone.
    pub fn undone(&self) -> HashSet<u64> {
        let mut undone = HashSet::new();
        for entry in self.entries.iter().rev() {
            if let Some(earlier) = entry.intent.undoes
                && earlier < entry.sequence
                && entry.is_done()
                && !undone.contains(&entry.sequence)
            {
                undone.insert(earlier);
            }
        }
        undone
    }
}

//! The end of a chain of lines, after which the next line is appended, and which leader may do so.

use std::collections::BTreeSet;

use super::{
    line::{self, ParsedLine},
    term::Term,
};

/// The end of a chain of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChainEnd {
    /// The hash of the last line, readable or not.
    pub(super) previous: String,
    /// The highest sequence.
    pub(super) sequence: u64,
    /// The epoch of the last line that has one.
    term: Option<Term>,
    /// The Leases of all epochs.
    leases: BTreeSet<String>,
    /// Whether any line was written by this tool.
    known: bool,
    /// Whether any line can neither be read nor be the beginning of a line of this tool.
    strange: bool,
}

/// Whether a leader may append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TermStanding {
    /// No later leader has appended.
    Follows,
    /// A later leader has.
    Over,
    /// The last leader was elected by another Lease, and this one has not appended yet: it is the later
    /// one if its Lease exists.
    OtherLease,
}

impl ChainEnd {
    /// Returns the end of no lines.
    pub(super) fn of_nothing() -> Self {
        Self {
            previous: line::hash(b""),
            sequence: 0,
            term: None,
            leases: BTreeSet::new(),
            known: false,
            strange: false,
        }
    }

    /// Goes on to the next line. `Err` is the version of a newer tool that wrote it: then no line may be
    /// appended.
    pub(super) fn follow(&mut self, bytes: &[u8]) -> Result<(), u32> {
        self.previous = line::hash(bytes);
        match line::head(bytes) {
            Ok(head) => {
                self.known = true;
                self.sequence = self.sequence.max(head.sequence);
                if let Some(term) = head.term() {
                    self.leases.insert(term.lease.clone());
                    self.term = Some(term);
                }
                Ok(())
            }
            Err(ParsedLine::Newer { version, .. }) => Err(version),
            Err(_) => {
                self.strange |= !line::looks_torn(bytes);
                Ok(())
            }
        }
    }

    /// Whether no line was written by this tool.
    pub(super) const fn is_foreign(&self) -> bool {
        self.strange && !self.known
    }

    /// Whether a leader may append. Two terms of one Lease are in the order of their transitions; of
    /// two Leases, the one that has been followed by another does not exist any more.
    pub(super) fn standing(&self, own: &Term) -> TermStanding {
        match &self.term {
            None => TermStanding::Follows,
            Some(last) if last.lease == own.lease => match own.transitions >= last.transitions {
                true => TermStanding::Follows,
                false => TermStanding::Over,
            },
            Some(_) if self.leases.contains(&own.lease) => TermStanding::Over,
            Some(_) => TermStanding::OtherLease,
        }
    }
}

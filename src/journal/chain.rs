//! The end of a chain of lines, after which the next line is appended, and the decision which leader may do so.

use std::collections::BTreeSet;
use std::fmt;

use super::line;
use super::line::{ParsedLine, Term};

/// Follows a chain of lines, to check that each follows from the line before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ChainLink {
    /// The hash of the line before; `None` before the first line.
    before: Option<String>,
}

impl ChainLink {
    /// Advances to the next line, which has `previous` as the hash of the line before; returns whether it is that hash,
    /// or `None` without `previous`.
    pub(super) fn follow(&mut self, bytes: &[u8], previous: Option<&str>) -> Option<bool> {
        let follows = previous.map(|it| it == self.previous());
        self.before = Some(line::hash(bytes));
        follows
    }

    /// Whether no line was read yet.
    pub(super) const fn is_at_beginning(&self) -> bool {
        self.before.is_none()
    }

    /// The hash of the last line, which the next line must reference.
    pub(super) fn previous(&self) -> String {
        self.before.clone().unwrap_or_else(|| line::hash(b""))
    }
}

/// Reason why it is unknown which leader appended last: the journal was edited or restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainDoubt {
    /// A line does not follow from the line before.
    Broken,
    /// A line cannot be read.
    Unreadable,
    /// The epoch of a line cannot be read.
    UnreadableTerm,
    /// A segment was created later than its first line was recorded.
    Recreated,
}

impl fmt::Display for ChainDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broken => "a line does not follow from the line before",
            Self::Unreadable => "a line cannot be read",
            Self::UnreadableTerm => "the epoch of a leader cannot be read",
            Self::Recreated => {
                "it was created later than its first line was recorded: it was deleted, and restored \
                 or copied, and later lines may be missing"
            }
        })
    }
}

/// The end of a chain of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChainEnd {
    link: ChainLink,
    /// Whether the beginning was removed: then the first line follows from one that does not exist.
    begins_later: bool,
    /// The highest sequence of all lines.
    pub(super) sequence: u64,
    /// The epoch of the last line that has one.
    term: Option<Term>,
    /// The Leases of all epochs.
    leases: BTreeSet<String>,
    /// Whether any line was written by this tool.
    known: bool,
    /// Whether any line can neither be read nor be the beginning of a line of this tool.
    strange: bool,
    /// The uid of the cluster.
    cluster: String,
}

/// Reason why no line may be appended to a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChainBar {
    /// A newer tool of this version wrote the line.
    Newer(u32),
    /// The line was recorded in another cluster; `None` where it does not say in which.
    OtherCluster(Option<String>),
}

/// Whether a leader may append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TermStanding {
    /// No later leader has appended.
    Follows,
    /// A later leader has appended.
    Over,
    /// The last leader was elected by another Lease, and this one has not appended yet: it is the later
    /// one if its Lease exists.
    OtherLease,
}

impl ChainEnd {
    /// Returns the end of an empty chain, in the cluster with this uid.
    pub(super) fn of_nothing(cluster: &str) -> Self {
        Self {
            link: ChainLink::default(),
            begins_later: false,
            sequence: 0,
            term: None,
            leases: BTreeSet::new(),
            known: false,
            strange: false,
            cluster: cluster.to_owned(),
        }
    }

    /// Notes that the beginning of the chain was removed.
    pub(super) const fn begin_later(&mut self) {
        self.begins_later = true;
    }

    /// The hash of the last line, readable or not.
    pub(super) fn previous(&self) -> String {
        self.link.previous()
    }

    /// Advances to the next line, and returns a doubt about the chain that it raises. `Err` is why no line may be
    /// appended.
    pub(super) fn follow(&mut self, bytes: &[u8]) -> Result<Option<ChainDoubt>, ChainBar> {
        let is_first = self.link.is_at_beginning();
        match line::head(bytes) {
            Ok(head) => {
                let follows = self.link.follow(bytes, Some(&head.previous)) == Some(true);
                self.known = true;
                self.sequence = self.sequence.max(head.sequence);
                if head.cluster() != Some(&self.cluster) {
                    return Err(ChainBar::OtherCluster(head.cluster().map(str::to_owned)));
                }
                let Ok(term) = head.term() else { return Ok(Some(ChainDoubt::UnreadableTerm)) };
                if let Some(term) = term {
                    self.leases.insert(term.lease.clone());
                    self.term = Some(term);
                }
                let excused = is_first && self.begins_later;
                Ok((!follows && !excused).then_some(ChainDoubt::Broken))
            }
            Err(ParsedLine::Newer { version, .. }) => Err(ChainBar::Newer(version)),
            Err(_) => {
                self.link.follow(bytes, None);
                self.strange |= !line::looks_torn(bytes);
                Ok(Some(ChainDoubt::Unreadable))
            }
        }
    }

    /// Whether no line was written by this tool, and some line cannot be the beginning of one.
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

//! Election of the one process that leads, decided without a clock: a Lease counts as held for as long as it says since
//! *this* process saw it change, as in client-go. The clocks of two machines are never compared.
//!
//! This is no fence: a process that was stopped and goes on may believe for a moment that it still
//! leads. Each write tests what was read before it, and records the [`Term`].

use std::time::Duration;

use crate::apply::{LeaseHold, StoredLease, Unattended};
use crate::journal::Term;
use crate::model::Time;

/// Pace of an election: how long a Lease lasts, and how often it is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ElectionPace {
    /// Time for which others wait for a leader that is not heard of.
    pub(crate) duration: Duration,
    /// Time without a renewal after which the leader stops to lead: before others begin.
    pub(crate) deadline: Duration,
    /// Time between two attempts.
    pub(crate) retry: Duration,
}

impl Default for ElectionPace {
    /// Returns the pace of Kubernetes' own controllers (component-base,
    /// `RecommendedDefaultLeaderElectionConfiguration`).
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// Decision about a Lease that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bid {
    /// This is written over the Lease.
    Write(LeaseHold),
    /// Another process holds the Lease.
    Stand {
        /// The holder.
        holder: String,
    },
}

/// State of an election as one process sees it. Times are those since it began, by a clock that is never set.
#[derive(Debug)]
pub(crate) struct Election {
    identity: String,
    pace: ElectionPace,
    /// The state of the Lease that was last seen, since when, and for how long it holds.
    seen: Option<Seen>,
    led: Option<Led>,
    /// The state of the Lease that was last read or written, of any holder.
    last: Option<Version>,
    /// Whether the Lease was of an earlier time since this process led last.
    went_back: bool,
}

/// Version of a Lease, by which an earlier state is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    uid: String,
    /// Resource version; `None` where it is no number, and cannot be compared (KEP-5504).
    resource: Option<u64>,
    transitions: u64,
}

impl Version {
    fn of(lease: &StoredLease) -> Self {
        Self {
            uid: lease.uid().to_owned(),
            resource: lease.resource_version().parse().ok(),
            transitions: lease.transitions(),
        }
    }

    /// Whether this is a state of the same Lease, or of the same name, before the other one.
    fn is_before(&self, other: &Self) -> bool {
        let is_same = self.uid == other.uid;
        let resource = self.resource.zip(other.resource);
        resource.is_some_and(|(own, other)| own < other)
            || (is_same && self.transitions < other.transitions)
    }
}

#[derive(Debug)]
struct Seen {
    uid: String,
    resource_version: String,
    since: Duration,
    lasts: Duration,
}

#[derive(Debug)]
struct Led {
    term: Term,
    /// Time without a leader before this term, as far as that is known.
    unattended: Option<Unattended>,
    /// Time since which announcements count.
    restarted: Option<Time>,
    /// Time at which the last request was sent that was stored.
    renewed: Duration,
}

impl Election {
    /// Returns an election of which nothing is known yet. `identity` tells this process from all others that ever were.
    pub(crate) fn new(identity: String, pace: ElectionPace) -> Self {
        Self { identity, pace, seen: None, led: None, last: None, went_back: false }
    }

    /// Returns the identity of this process.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// Returns whether announcements count anew by the Lease as it was read: it has a gap, it is of an earlier time, or
    /// there is none. A cluster that was restored from a backup looks so. The leader until now leads no more, so that
    /// nothing that it has begun is sent.
    ///
    /// `lately` is whether this process has renewed the Lease within such a gap: then one that it reads as it has written it
    /// has none, whatever the clock of the API server says that answers now.
    pub(crate) fn is_restart(
        &mut self,
        lease: Option<&StoredLease>,
        now: Option<Time>,
        lately: bool,
    ) -> bool {
        let read = lease.map(Version::of);
        let was_before = self.last.as_ref().is_some_and(|last| {
            // One that was created meanwhile is later than the one that was deleted.
            read.as_ref().is_none_or(|read| read.is_before(last))
        });
        let is_as_written = lately
            && self.led.is_some()
            && self
                .last
                .as_ref()
                .is_some_and(|it| it.resource.is_some() && Some(it) == read.as_ref());
        self.last = read;
        self.went_back |= was_before;
        let has_gap = || lease.zip(now).is_none_or(|(it, now)| it.has_gap(now));
        let is_restart = self.went_back || !is_as_written && has_gap();
        if is_restart {
            self.led = None;
        }
        is_restart
    }

    /// Returns the decision about the Lease as it was read.
    pub(crate) fn bid(
        &mut self,
        lease: Option<&StoredLease>,
        at: Duration,
        is_restart: bool,
    ) -> Bid {
        let hold = |transitions, is_acquired| {
            Bid::Write(LeaseHold {
                holder: self.identity.clone(),
                duration: self.pace.duration,
                transitions,
                is_acquired,
                is_restart,
            })
        };
        let Some(lease) = lease else {
            (self.seen, self.led) = (None, None);
            return hold(0, true);
        };
        let is_own = lease.holder() == self.identity;
        if is_own {
            return hold(lease.transitions() + u64::from(is_restart), is_restart);
        }
        // Somebody else took it, or it was given back.
        self.led = None;
        let known = self
            .seen
            .as_ref()
            .filter(|it| it.uid == lease.uid() && it.resource_version == lease.resource_version());
        let bid = match known {
            _ if lease.holder().is_empty() => hold(lease.transitions() + 1, true),
            Some(seen) if at.saturating_sub(seen.since) > seen.lasts => {
                hold(lease.transitions() + 1, true)
            }
            Some(_) | None => Bid::Stand { holder: lease.holder().to_owned() },
        };
        if known.is_none() {
            self.seen = Some(Seen {
                uid: lease.uid().to_owned(),
                resource_version: lease.resource_version().to_owned(),
                since: at,
                lasts: lease.duration().unwrap_or_default().max(self.pace.duration),
            });
        }
        bid
    }

    /// Notes that a bid was stored. `sent` is when its request was sent.
    pub(crate) fn won(&mut self, lease: &StoredLease, sent: Duration) {
        let term = Term { lease: lease.uid().to_owned(), transitions: lease.transitions() };
        let (unattended, restarted) = (lease.unattended(), lease.restarted());
        self.led = Some(Led { term, unattended, restarted, renewed: sent });
        self.last = Some(Version::of(lease));
        self.went_back = false;
    }

    /// Notes that the Lease was given back.
    pub(crate) fn resigned(&mut self) {
        self.led = None;
    }

    /// Returns the term, while this process leads, and when that ends unless the Lease is renewed.
    pub(crate) fn term(&self, at: Duration) -> Option<(&Term, Duration)> {
        let led = self.led.as_ref()?;
        let until = led.renewed + self.pace.deadline;
        (at < until).then_some((&led.term, until))
    }

    /// Returns the last time without a leader before this process led, if it was long.
    pub(crate) fn unattended(&self) -> Option<Unattended> {
        self.led.as_ref().and_then(|it| it.unattended)
    }

    /// Returns the time since which announcements count.
    pub(crate) fn restarted(&self) -> Option<Time> {
        self.led.as_ref().and_then(|it| it.restarted)
    }

    /// Returns the write that gives the Lease back, where this process holds it: others need not wait until it ends.
    pub(crate) fn release(&self, at: Duration) -> Option<LeaseHold> {
        self.term(at).map(|(term, _)| LeaseHold {
            holder: String::new(),
            duration: Duration::from_secs(1),
            transitions: term.transitions,
            is_acquired: false,
            is_restart: false,
        })
    }
}

#[cfg(test)]
mod tests;

//! The edge of an election: reads and writes the Lease, and publishes whether this process leads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::election::{Bid, Election, ElectionPace};
use super::run::Probes;
use crate::apply::{LEASE_GAP, LeaseWrite, LeaseWriter, Moment, Unattended, run_id};
use crate::client::Connection;
use crate::journal::Term;
use crate::model::{Text, Time, escape_control};

/// Longest time for giving the Lease back.
const RESIGNING: Duration = Duration::from_secs(5);

/// Reason for which a Lease is not written: others judge by its times.
const NO_TIME: &str = "the API server tells no time";
/// Reason for which a process does not stand for election although it could.
const STUCK: &str = "the loop of this process does not turn: the Lease is left to another one";
/// Number of looks in a row that have to find a loop that does not turn before it counts as stuck: that of a process
/// which was paused turns right after the first one.
const STUCK_LOOKS: u32 = 2;

/// Standing of this process in the election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing was read yet.
    Unknown,
    /// This process leads, until the Lease is not renewed in time.
    Leads {
        /// The term, which had no break.
        term: Term,
        /// Time of the request by which the Lease was renewed last.
        renewed: Moment,
        /// Time after that at which the process stops to lead by itself: before others begin.
        lasts: Duration,
        /// Time without a leader before, if it was long.
        unattended: Option<Unattended>,
        /// Time since which announcements count.
        restarted: Option<Time>,
    },
    /// Another process leads, or none: the Lease could not be read or written.
    Stands {
        /// The leader, if that is known.
        leader: Option<String>,
        /// Reason for which the Lease could not be read or written, if it could not.
        failure: Option<String>,
    },
}

/// Handle by which others learn whether this process leads. Clones follow the same election.
#[derive(Debug, Clone)]
pub(crate) struct Leadership(Option<Followed>);

/// An election that is followed.
#[derive(Debug, Clone)]
struct Followed {
    lease: LeaseKey,
    standing: watch::Receiver<Standing>,
}

/// The Lease of an election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeaseKey {
    pub(crate) namespace: Text,
    pub(crate) name: Text,
}

impl Leadership {
    /// Returns a handle for tests, with the sender that sets its standing.
    #[cfg(test)]
    pub(super) fn of_test(standing: Standing) -> (watch::Sender<Standing>, Self) {
        let (tell, standing) = watch::channel(standing);
        let lease = LeaseKey { namespace: "a".into(), name: "watch".into() };
        (tell, Self(Some(Followed { lease, standing })))
    }

    /// Returns the Lease of the election, where there is one.
    pub(crate) fn lease(&self) -> Option<&LeaseKey> {
        self.0.as_ref().map(|it| &it.lease)
    }

    /// Returns the handle of a process without an election, which always leads.
    pub(crate) fn alone() -> Self {
        Self(None)
    }

    /// Whether this process leads now.
    pub(crate) fn leads(&self) -> bool {
        self.0.is_none() || self.term().is_some()
    }

    /// Returns the term, while this process leads in an election.
    pub(crate) fn term(&self) -> Option<Term> {
        self.led().map(|(term, _)| term)
    }

    /// Returns the term, and how long it lasts unless the Lease is renewed.
    pub(crate) fn led(&self) -> Option<(Term, Duration)> {
        match &*self.0.as_ref()?.standing.borrow() {
            Standing::Leads { term, renewed, lasts, .. } => {
                let left = lasts.saturating_sub(renewed.elapsed());
                (!left.is_zero()).then(|| (term.clone(), left))
            }
            Standing::Unknown | Standing::Stands { .. } => None,
        }
    }

    /// Returns the time since which announcements count.
    pub(crate) fn restarted(&self) -> Option<Time> {
        match &*self.0.as_ref()?.standing.borrow() {
            Standing::Leads { restarted, .. } => *restarted,
            Standing::Unknown | Standing::Stands { .. } => None,
        }
    }

    /// Returns the last time without a leader before this process led, if it was long.
    pub(crate) fn unattended(&self) -> Option<Unattended> {
        match &*self.0.as_ref()?.standing.borrow() {
            Standing::Leads { unattended, .. } => *unattended,
            Standing::Unknown | Standing::Stands { .. } => None,
        }
    }

    /// Whether it is known that another process leads.
    pub(crate) fn is_led_by_another(&self) -> bool {
        let standing = self.0.as_ref().map(|it| it.standing.borrow());
        standing.is_some_and(|it| matches!(&*it, Standing::Stands { leader: Some(_), .. }))
    }

    /// Waits until this process leads.
    pub(crate) async fn wait(&mut self) {
        while !self.leads() {
            let Some(followed) = &mut self.0 else { return };
            if followed.standing.changed().await.is_err() {
                // It has resigned.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Returns the name of this process: that of its pod.
pub(super) fn instance() -> String {
    let pod = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    pod.unwrap_or_else(|| format!("kubectl-storage-{}", std::process::id()))
}

/// A process that stands in an election, until it is dropped or resigns.
pub(crate) struct Candidate {
    lease: LeaseKey,
    standing: watch::Receiver<Standing>,
    resign: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Candidate {
    /// Stands for election by the Lease of this namespace and name, from when the loop has looked, for
    /// as long as it turns. `pauses` are the namespaces whose records pause it.
    pub(crate) fn stand(
        connection: &Connection,
        lease: (&str, &str),
        pauses: &[Text],
        pace: ElectionPace,
        loop_probes: Arc<Probes>,
    ) -> Self {
        let identity = format!("{}_{}", instance(), run_id());
        let writer = LeaseWriter::new(connection, lease, pace.deadline / 2);
        let writer = writer.noting(pauses.iter().map(|it| &**it));
        let (tell, standing) = watch::channel(Standing::Unknown);
        let (resign, resigned) = oneshot::channel();
        let campaign = Campaign {
            election: Election::new(identity, pace),
            writer,
            begun: Instant::now(),
            renewed: Moment::now(),
            pace,
            fitness: Fitness::default(),
            loop_probes,
            tell,
        };
        let task = tokio::spawn(campaign.run(pace.retry, resigned));
        let lease = LeaseKey { namespace: lease.0.into(), name: lease.1.into() };
        Self { lease, standing, resign, task }
    }

    /// Returns a handle that follows whether this process leads.
    pub(crate) fn leadership(&self) -> Leadership {
        Leadership(Some(Followed { lease: self.lease.clone(), standing: self.standing.clone() }))
    }

    /// Gives the Lease back, so that another process can lead at once.
    pub(crate) async fn resign(self) {
        if self.resign.send(()).is_ok() {
            // Whoever does not answer in time lets the Lease end by itself.
            let _ = timeout(RESIGNING, self.task).await;
        }
    }
}

/// Step of a process at one turn of the election.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The process bids for the Lease, or renews it.
    Bid,
    /// The process does nothing: it has not looked yet, or may have been paused.
    Wait,
    /// The process gives the Lease back: its loop is stuck.
    GiveBack,
}

/// Fitness of a process to lead: one that has read nothing, or whose loop does not turn, would hold the Lease and
/// report nothing.
#[derive(Debug, Default)]
struct Fitness {
    /// Number of looks in a row that found a loop that does not turn.
    dead: u32,
}

impl Fitness {
    fn step(&mut self, is_ready: bool, is_alive: bool) -> Step {
        self.dead = if is_alive { 0 } else { self.dead.saturating_add(1) };
        match self.dead {
            0 if is_ready => Step::Bid,
            STUCK_LOOKS.. => Step::GiveBack,
            _ => Step::Wait,
        }
    }
}

struct Campaign {
    election: Election,
    writer: LeaseWriter,
    begun: Instant,
    /// Time at which the last request was sent that was stored.
    renewed: Moment,
    pace: ElectionPace,
    fitness: Fitness,
    loop_probes: Arc<Probes>,
    tell: watch::Sender<Standing>,
}

impl Campaign {
    async fn run(mut self, retry: Duration, mut resigned: oneshot::Receiver<()>) {
        loop {
            let probes = &self.loop_probes;
            match self.fitness.step(probes.is_ready(), probes.is_alive()) {
                Step::Bid => {
                    let (leader, failure) = self.turn().await;
                    self.say(leader, failure);
                }
                Step::Wait => {}
                Step::GiveBack => {
                    if self.fitness.dead == STUCK_LOOKS {
                        tracing::warn!("{STUCK}");
                    }
                    self.give_back().await;
                }
            }
            tokio::select! {
                _ = &mut resigned => return self.give_back().await,
                () = sleep(retry) => {}
            }
        }
    }

    /// Makes one attempt to get or renew the Lease. Returns who leads, if another process does, and why it failed.
    async fn turn(&mut self) -> (Option<String>, Option<String>) {
        let (lease, now) = match self.writer.read().await {
            Ok(read) => read,
            Err(failure) => return (None, Some(failure)),
        };
        if lease.is_some() && now.is_none() {
            return (None, Some(NO_TIME.to_owned()));
        }
        let lately = self.renewed.elapsed() < LEASE_GAP;
        let is_restart = self.election.is_restart(lease.as_ref(), now, lately);
        let hold = match self.election.bid(lease.as_ref(), self.begun.elapsed(), is_restart) {
            Bid::Write(hold) => hold,
            Bid::Stand { holder } => return (Some(holder), None),
        };
        let (sent, renewed) = (self.begun.elapsed(), Moment::now());
        match self.writer.write(lease.as_ref(), &hold, now).await {
            // That there is none was said without a time: this process leads when it has renewed the first one.
            LeaseWrite::Stored(_) if now.is_none() => (None, None),
            LeaseWrite::Stored(stored) => {
                self.renewed = renewed;
                self.election.won(&stored, sent);
                (None, None)
            }
            // Whoever it was: the next look tells whether this process still holds the Lease.
            LeaseWrite::Overtaken => (None, None),
            LeaseWrite::Failed(failure) => (None, Some(failure)),
        }
    }

    fn say(&self, leader: Option<String>, failure: Option<String>) {
        let standing = match self.election.term(self.begun.elapsed()) {
            Some((term, _)) => Standing::Leads {
                term: term.clone(),
                renewed: self.renewed,
                lasts: self.pace.deadline,
                unattended: self.election.unattended(),
                restarted: self.election.restarted(),
            },
            None => Standing::Stands { leader, failure },
        };
        let (known_leader, failure) = match &standing {
            Standing::Stands { leader, failure } => (leader.clone(), failure.clone()),
            Standing::Unknown | Standing::Leads { .. } => (None, None),
        };
        let is_new = self.tell.send_if_modified(|known| {
            let is_new = *known != standing;
            *known = standing;
            is_new
        });
        if let (Some(leader), true) = (known_leader, is_new) {
            tracing::info!(leader = %escape_control(&leader), "stands by");
        }
        if let Some(error) = failure.filter(|_| is_new) {
            tracing::warn!(error = %escape_control(&error), "the Lease does not say who leads");
        }
    }

    /// Stops to lead, and then says so in the Lease.
    async fn give_back(&mut self) {
        let hold = self.election.release(self.begun.elapsed());
        self.election.resigned();
        self.say(None, None);
        let Some(hold) = hold else { return };
        // Only what is still its own.
        if let Ok((Some(lease), now)) = self.writer.read().await
            && lease.holder() == self.election.identity()
        {
            let _ = self.writer.write(Some(&lease), &hold, now).await;
        }
    }
}

#[cfg(test)]
pub(super) mod tests;

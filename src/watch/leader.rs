//! The edge of an election: reads and writes the Lease, and tells whether this process leads.

use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::election::{Bid, Election, ElectionPace, Term};
use crate::apply::{LeaseWrite, LeaseWriter, run_id};
use crate::client::Connection;
use crate::model::escape_control;

/// How long giving the Lease back may take.
const RESIGNING: Duration = Duration::from_secs(2);

/// How this process stands in the election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing was read yet.
    Unknown,
    /// It leads.
    Leads {
        /// In which term.
        term: Term,
        /// Until when, unless the Lease is renewed before.
        until: Instant,
    },
    /// Somebody else does, or nobody: the Lease could not be read or written.
    Stands {
        /// Who leads, if that is known.
        leader: Option<String>,
        /// Why it could not be asked, if it could not.
        failure: Option<String>,
    },
}

/// Whether this process may send what several find: always, where it is alone, and else while it
/// leads. It is looked at right before something is sent: the loop may hear later that its time is over.
#[derive(Debug, Clone)]
pub(crate) struct Mandate(Option<watch::Receiver<Standing>>);

impl Mandate {
    /// That of a process with this standing; `None` where it is alone.
    pub(crate) fn new(standing: Option<watch::Receiver<Standing>>) -> Self {
        Self(standing)
    }

    /// Whether it may send now.
    pub(crate) fn holds(&self) -> bool {
        self.0.as_ref().is_none_or(|it| it.borrow().leads())
    }

    /// Waits until it may send.
    pub(crate) async fn granted(&mut self) {
        while !self.holds() {
            if let Some(standing) = &mut self.0
                && standing.changed().await.is_err()
            {
                // It has resigned, and leads no more.
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Standing {
    /// Whether it leads, and its time is not over.
    fn leads(&self) -> bool {
        matches!(self, Self::Leads { until, .. } if Instant::now() < *until)
    }
}

/// The name of this process: that of its pod.
pub(super) fn instance() -> String {
    let pod = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    pod.unwrap_or_else(|| format!("kubectl-storage-{}", std::process::id()))
}

/// One process of an election, until it is dropped or resigns.
pub(crate) struct Candidate {
    standing: watch::Receiver<Standing>,
    resign: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Candidate {
    /// Stands for election by the Lease of this namespace and name.
    pub(crate) fn stand(connection: &Connection, lease: (&str, &str), pace: ElectionPace) -> Self {
        let identity = format!("{}_{}", instance(), run_id());
        let writer = LeaseWriter::new(connection, lease, pace.deadline / 2);
        let (tell, standing) = watch::channel(Standing::Unknown);
        let (resign, resigned) = oneshot::channel();
        let campaign = Campaign {
            election: Election::new(identity, pace),
            writer,
            begun: Instant::now(),
            tell,
        };
        let task = tokio::spawn(campaign.run(pace.retry, resigned));
        Self { standing, resign, task }
    }

    /// Follows how this process stands.
    pub(crate) fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.clone()
    }

    /// Gives the Lease back, so that another process can lead at once.
    pub(crate) async fn resign(self) {
        if self.resign.send(()).is_ok() {
            // Whoever does not answer in time lets the Lease end by itself.
            let _ = timeout(RESIGNING, self.task).await;
        }
    }
}

struct Campaign {
    election: Election,
    writer: LeaseWriter,
    begun: Instant,
    tell: watch::Sender<Standing>,
}

impl Campaign {
    async fn run(mut self, retry: Duration, mut resigned: oneshot::Receiver<()>) {
        loop {
            let (leader, failure) = self.turn().await;
            self.say(leader, failure);
            tokio::select! {
                _ = &mut resigned => return self.give_back().await,
                () = sleep(retry) => {}
            }
            self.say_if_over();
        }
    }

    /// Makes one attempt. Returns who leads, if somebody else does, and why it failed.
    async fn turn(&mut self) -> (Option<String>, Option<String>) {
        let (lease, now) = match self.writer.read().await {
            Ok(read) => read,
            Err(failure) => return (None, Some(failure)),
        };
        let hold = match self.election.bid(lease.as_ref(), self.begun.elapsed()) {
            Bid::Write(hold) => hold,
            Bid::Stand { holder } => return (Some(holder), None),
        };
        let sent = self.begun.elapsed();
        match self.writer.write(lease.as_ref(), &hold, now).await {
            LeaseWrite::Stored(stored) => {
                self.election.won(&stored, sent);
                (None, None)
            }
            LeaseWrite::Overtaken => {
                self.election.overtaken();
                (None, None)
            }
            LeaseWrite::Failed(failure) => (None, Some(failure)),
        }
    }

    fn say(&self, leader: Option<String>, failure: Option<String>) {
        let standing = match self.election.led_until(self.begun.elapsed()) {
            Some((term, end)) => Standing::Leads { term: term.clone(), until: self.begun + end },
            None => Standing::Stands { leader, failure },
        };
        let failure = match &standing {
            Standing::Stands { failure, .. } => failure.clone(),
            Standing::Unknown | Standing::Leads { .. } => None,
        };
        let is_new = self.tell.send_if_modified(|known| {
            let is_new = *known != standing;
            *known = standing;
            is_new
        });
        if let Some(error) = failure.filter(|_| is_new) {
            tracing::warn!(error = %escape_control(&error), "the Lease tells nobody who leads");
        }
    }

    /// Tells that the time of a leader is over, who has not been heard of since.
    fn say_if_over(&self) {
        let leads = matches!(*self.tell.borrow(), Standing::Leads { .. });
        if leads && self.election.term(self.begun.elapsed()).is_none() {
            let failure = Some("the Lease was not renewed in time".to_owned());
            self.say(None, failure);
        }
    }

    async fn give_back(mut self) {
        let Some(hold) = self.election.release(self.begun.elapsed()) else { return };
        // Only what is still its own.
        if let Ok((Some(lease), now)) = self.writer.read().await
            && lease.holder() == self.election.identity()
        {
            let _ = self.writer.write(Some(&lease), &hold, now).await;
        }
        self.election.overtaken();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leads_for(time: Duration) -> Standing {
        let term = Term { lease: "u".to_owned(), transitions: 1 };
        Standing::Leads { term, until: Instant::now() + time }
    }

    #[tokio::test]
    async fn a_mandate_ends_although_nobody_says_so() {
        let (tell, standing) = watch::channel(leads_for(Duration::from_millis(20)));
        let mut mandate = Mandate::new(Some(standing));
        sleep(Duration::from_millis(30)).await;
        assert!(!mandate.holds());
        let patience = Duration::from_millis(50);
        assert!(timeout(patience, mandate.granted()).await.is_err(), "nobody granted it");
        tell.send_replace(Standing::Stands { leader: None, failure: None });
        assert!(timeout(patience, mandate.granted()).await.is_err(), "it stands by");
        tell.send_replace(leads_for(Duration::from_secs(60)));
        mandate.granted().await;
        drop(tell);
        assert!(mandate.holds());
        assert!(Mandate::new(None).holds());
    }
}

//! The edge of an election: reads and writes the Lease, and tells whether this process leads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::election::{Bid, Election, ElectionPace, Term};
use super::probes::Probes;
use crate::apply::{LeaseWrite, LeaseWriter, run_id};
use crate::client::Connection;
use crate::model::escape_control;

/// How long giving the Lease back may take.
const RESIGNING: Duration = Duration::from_secs(2);

/// Why a process does not stand for election that could.
const STUCK: &str = "the loop of this process does not turn: it leaves the Lease to another one";

/// How this process stands in the election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing was read yet.
    Unknown,
    /// It leads, unless the Lease is not renewed until then.
    Leads {
        /// Since when without a break.
        term: Term,
        /// When it stops to, by itself: before others begin.
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

/// Whether this process leads. Clones follow the same election.
#[derive(Debug, Clone)]
pub(crate) struct Leadership(Option<watch::Receiver<Standing>>);

impl Leadership {
    /// That of a test, which tells how it stands.
    #[cfg(test)]
    pub(super) fn of_test(standing: Standing) -> (watch::Sender<Standing>, Self) {
        let (tell, standing) = watch::channel(standing);
        (tell, Self(Some(standing)))
    }

    /// That of a process which is alone.
    pub(crate) fn alone() -> Self {
        Self(None)
    }

    /// Whether it leads now.
    pub(crate) fn leads(&self) -> bool {
        self.0.is_none() || self.term().is_some()
    }

    /// The term, while it leads in an election.
    pub(crate) fn term(&self) -> Option<Term> {
        match &*self.0.as_ref()?.borrow() {
            Standing::Leads { term, until } if Instant::now() < *until => Some(term.clone()),
            _ => None,
        }
    }

    /// Whether it is known that another process leads.
    pub(crate) fn is_led_by_another(&self) -> bool {
        let standing = self.0.as_ref().map(watch::Receiver::borrow);
        standing.is_some_and(|it| matches!(&*it, Standing::Stands { leader: Some(_), .. }))
    }

    /// Waits until it leads.
    pub(crate) async fn wait(&mut self) {
        while !self.leads() {
            let Some(standing) = &mut self.0 else { return };
            if standing.changed().await.is_err() {
                // It has resigned.
                std::future::pending::<()>().await;
            }
        }
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
    /// Stands for election by the Lease of this namespace and name, for as long as the loop is alive.
    pub(crate) fn stand(
        connection: &Connection,
        lease: (&str, &str),
        pace: ElectionPace,
        loop_probes: Arc<Probes>,
    ) -> Self {
        let identity = format!("{}_{}", instance(), run_id());
        let writer = LeaseWriter::new(connection, lease, pace.deadline / 2);
        let (tell, standing) = watch::channel(Standing::Unknown);
        let (resign, resigned) = oneshot::channel();
        let campaign = Campaign {
            election: Election::new(identity, pace),
            writer,
            begun: Instant::now(),
            loop_probes,
            tell,
        };
        let task = tokio::spawn(campaign.run(pace.retry, resigned));
        Self { standing, resign, task }
    }

    /// Follows whether this process leads.
    pub(crate) fn leadership(&self) -> Leadership {
        Leadership(Some(self.standing.clone()))
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
    /// Whether the loop turns: one that does not would lead, and report nothing.
    loop_probes: Arc<Probes>,
    tell: watch::Sender<Standing>,
}

impl Campaign {
    async fn run(mut self, retry: Duration, mut resigned: oneshot::Receiver<()>) {
        loop {
            if self.loop_probes.is_alive() {
                let (leader, failure) = self.turn().await;
                self.say(leader, failure);
            } else {
                self.give_back(Some(STUCK)).await;
            }
            tokio::select! {
                _ = &mut resigned => return self.give_back(None).await,
                () = sleep(retry) => {}
            }
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
            // Whoever it was: the next look tells whether this process still holds the Lease.
            LeaseWrite::Overtaken => (None, None),
            LeaseWrite::Failed(failure) => (None, Some(failure)),
        }
    }

    fn say(&self, leader: Option<String>, failure: Option<String>) {
        let standing = match self.election.term(self.begun.elapsed()) {
            Some((term, until)) => {
                Standing::Leads { term: term.clone(), until: self.begun + until }
            }
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
            tracing::warn!(error = %escape_control(&error), "the Lease tells nobody who leads");
        }
    }

    /// Leads no more, and then says so in the Lease. `why` is for the log.
    async fn give_back(&mut self, why: Option<&str>) {
        let hold = self.election.release(self.begun.elapsed());
        self.election.resigned();
        self.say(None, why.map(str::to_owned));
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
pub(super) mod tests {
    use std::sync::Mutex;

    use serde_json::{Value, json};

    use super::*;
    use crate::client::test_server::{
        ReceivedRequest, TestReply, TestServer, json as answer, reply,
    };

    const QUICK: ElectionPace = ElectionPace {
        duration: Duration::from_secs(15),
        deadline: Duration::from_secs(10),
        retry: Duration::from_millis(10),
    };

    /// An API server that keeps one Lease, which is not there at first.
    fn keep(lease: &Mutex<Option<Value>>, asked: &ReceivedRequest) -> TestReply {
        let mut lease = lease.lock().expect("because no test panics while holding it");
        if asked.method != "GET" {
            let mut object: Value = serde_json::from_str(&asked.body).expect("because it is JSON");
            object["metadata"]["uid"] = json!("u");
            object["metadata"]["resourceVersion"] = json!(asked.nth.to_string());
            *lease = Some(object);
        }
        if let Some(object) = &*lease {
            return answer(object.to_string());
        }
        let details = json!({"name": "watch", "group": "coordination.k8s.io", "kind": "leases"});
        let status = json!({"kind": "Status", "reason": "NotFound", "code": 404, "details": details,
            "message": r#"leases.coordination.k8s.io "watch" not found"#});
        reply(404, "content-type: application/json\r\n", status.to_string())
    }

    /// Waits until something is so, for half a minute at most.
    pub(in crate::watch) async fn eventually(what: &str, is_so: impl Fn() -> bool) {
        for _ in 0..3000 {
            if is_so() {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("{what}");
    }

    #[tokio::test]
    async fn a_loop_that_turns_no_more_leads_no_more() {
        let lease: Arc<Mutex<Option<Value>>> = Arc::default();
        let kept = Arc::clone(&lease);
        let server = TestServer::start(move |asked| keep(&kept, asked)).await;
        let holder = || {
            let lease = lease.lock().expect("because no test panics while holding it");
            lease.as_ref().map(|it| it["spec"]["holderIdentity"].as_str().unwrap_or("?").to_owned())
        };
        let is_held = || holder().is_some_and(|it| !it.is_empty());
        let probes = Arc::new(Probes::stuck_after(Duration::from_millis(300)));
        let connection = server.connect().await;
        let candidate = Candidate::stand(&connection, ("a", "watch"), QUICK, Arc::clone(&probes));
        let leadership = candidate.leadership();
        eventually("it leads", || {
            probes.turned();
            leadership.leads() && is_held()
        })
        .await;
        // The loop is stuck from now on. Nobody else stands for election.
        eventually("it leads no more", || !leadership.leads()).await;
        assert!(!probes.is_alive());
        eventually("it gives the Lease back", || holder() == Some(String::new())).await;
        let asked = server.asked().len();
        sleep(Duration::from_millis(100)).await;
        assert_eq!(server.asked().len(), asked, "it does not even ask");
        // And turns again.
        eventually("it leads again", || {
            probes.turned();
            leadership.leads() && is_held()
        })
        .await;
        let term = leadership.term().expect("it leads");
        assert!(term.transitions > 0, "another term: {term:?}");
        candidate.resign().await;
        assert_eq!(holder(), Some(String::new()));
    }

    #[tokio::test]
    async fn a_namespace_of_the_lease_that_does_not_exist_is_told() {
        let message = r#"namespaces "a" not found"#;
        let status = json!({"kind": "Status", "reason": "NotFound", "code": 404, "message": message,
            "details": {"name": "a", "kind": "namespaces"}});
        let lease: Arc<Mutex<Option<Value>>> = Arc::default();
        let server = TestServer::start(move |asked| match asked.method.as_str() {
            "GET" => keep(&lease, asked),
            _ => reply(404, "content-type: application/json\r\n", status.to_string()),
        })
        .await;
        let connection = server.connect().await;
        let candidate = Candidate::stand(&connection, ("a", "watch"), QUICK, Arc::default());
        let standing = candidate.standing.clone();
        eventually("it is told", || match &*standing.borrow() {
            Standing::Stands { leader: None, failure: Some(why) } => why.contains(message),
            _ => false,
        })
        .await;
        assert!(!candidate.leadership().leads() && !candidate.leadership().is_led_by_another());
    }
}

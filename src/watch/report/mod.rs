//! Reports of the loop's news: as metrics, as Events, as messages to a webhook.
//!
//! The loop never waits for any of it. What is to be sent goes into bounded queues; what has no room
//! there is counted and logged.
//!
//! - here: [`Reporters`], which hands everything on.
//! - `metrics`: the table of metrics, and their numbers; `server` serves them.
//! - `queue`: what waits to be sent, which findings were told, and how often something is sent.
//! - `events`: Events about the objects, which `apply` writes.
//! - `open_reports`: Reports of namespaces and one of the cluster, which `apply` writes.
//! - `webhook`: messages to a chat, how they are worded and posted.

mod events;
mod metrics;
mod open_reports;
mod queue;
mod server;
#[cfg(test)]
mod tests;
mod webhook;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub(crate) use metrics::{MeasuredCluster, report_metrics};
pub(crate) use server::CertificateError;

use self::events::{EventPace, EventReporter};
use self::metrics::Metrics;
use self::open_reports::{Judged, OpenReportPace, OpenReporter};
use self::queue::SinkCounts;
use self::server::{MetricsReviewer, Served, ServerCertificate, Serves};
use self::webhook::{WebhookPace, WebhookReporter};
use super::acting::ActingCounts;
use super::leader::Leadership;
use super::policy::report::{MetricsPolicy, ReportPolicy};
use super::reconciler::Reconciler;
use super::run::{Listener, Probes, Told};
use crate::client::{Connection, Reader};
use crate::cluster::Cluster;
use crate::journal::Term;
use crate::model::{FindingEvent, Time};
use crate::sources::live::WatchHealth;

/// Reason for which reports cannot begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReportError {
    /// The address of the metrics is taken, or is none of this machine's.
    #[error("failed to listen on {address} for metrics or probes")]
    Address { address: SocketAddr, source: std::io::Error },
    /// The metrics cannot be served.
    #[error("metrics on {address}")]
    Certificate { address: SocketAddr, source: CertificateError },
}

/// Reporters of the loop's news, to all places.
pub(crate) struct Reporters {
    connection: Connection,
    policy: ReportPolicy,
    metrics: Metrics,
    probes: Arc<Probes>,
    /// The servers of metrics and probes, until this is dropped.
    servers: JoinSet<()>,
    events: Option<EventReporter>,
    webhook: Option<WebhookReporter>,
    open_reports: Option<OpenReporter>,
    event_counts: Arc<SinkCounts>,
    webhook_counts: Arc<SinkCounts>,
    open_report_counts: Arc<SinkCounts>,
    /// Leadership of this process among those that report the same. What is to be sent waits until it does.
    leadership: Leadership,
    /// The last term for which this process has taken over.
    term: Option<Term>,
    /// Whether Events and messages have to begin with the findings that exist, of which not all may be readable yet.
    owes: bool,
    /// Number of judgements that the totals are of; `None` before the first look.
    totals_of: Option<u64>,
    /// Number of judgements that were reported to this.
    judged: u64,
}

/// Handle by which the metrics learn how the watches are doing.
pub(crate) struct WatchedMetrics(Metrics);

impl WatchedMetrics {
    /// Follows the watches of a loop.
    pub(crate) fn follow(&self, health: &WatchHealth) {
        self.0.follow(health);
    }

    /// Follows the counters of changes and announcements.
    pub(crate) fn act(&self, counts: &ActingCounts) {
        self.0.act(counts);
    }
}

impl Reporters {
    /// Begins to report by a policy; nothing is heard yet. `probes` learn how the loop goes on.
    ///
    /// # Errors
    /// [`ReportError`]
    pub(crate) async fn start(
        policy: &ReportPolicy,
        connection: &Connection,
        leadership: Leadership,
        probes: Arc<Probes>,
    ) -> Result<Self, ReportError> {
        let (event_counts, webhook_counts, open_report_counts) = Default::default();
        let sinks = vec![
            ("events", Arc::clone(&event_counts)),
            ("webhook", Arc::clone(&webhook_counts)),
            ("openReports", Arc::clone(&open_report_counts)),
        ];
        let mut reporters = Self {
            connection: connection.clone(),
            policy: ReportPolicy::default(),
            metrics: Metrics::new(leadership.clone(), sinks),
            probes,
            servers: JoinSet::new(),
            events: None,
            webhook: None,
            open_reports: None,
            event_counts,
            webhook_counts,
            open_report_counts,
            leadership,
            term: None,
            owes: false,
            totals_of: None,
            judged: 0,
        };
        let paths = if policy.probes.is_some() { Serves::Metrics } else { Serves::Both };
        if let Some(metrics) = &policy.metrics {
            let (listener, served) = reporters.bind(metrics, paths).await?;
            reporters.serve(listener, served);
        }
        if let Some(probes) = &policy.probes {
            let (listener, served) = reporters.bind_probes(probes.address).await?;
            reporters.serve(listener, served);
        }
        reporters.replace(policy);
        Ok(reporters)
    }

    /// Returns the handle by which the metrics learn how the watches are doing, as soon as there are any.
    pub(crate) fn watched(&self) -> WatchedMetrics {
        WatchedMetrics(self.metrics.clone())
    }

    /// Reports by another policy from now on. What was told is not told again. Where metrics are served stays as it was
    /// when this process began.
    fn replace(&mut self, policy: &ReportPolicy) {
        self.metrics.label_namespaces(policy.metrics.as_ref().and_then(|it| it.per_namespace));
        self.policy = policy.clone();
        let is_alone_or_leads = self.leadership.leads() || self.term.is_some();
        let (events, webhook, open_reports) = match is_alone_or_leads {
            true => (&policy.events, &policy.webhook, &policy.open_reports),
            false => (&None, &None, &None),
        };
        match (events, &mut self.events) {
            (None, events) => *events = None,
            (Some(policy), Some(events)) => events.set_severity(policy.severity),
            (Some(policy), events @ None) => {
                let counts = Arc::clone(&self.event_counts);
                let pace = EventPace::default();
                let leadership = self.leadership.clone();
                let writer = &self.connection;
                *events =
                    Some(EventReporter::start(policy.severity, writer, pace, counts, leadership));
            }
        }
        match (webhook, &mut self.webhook) {
            (None, webhook) => *webhook = None,
            (Some(policy), Some(webhook)) => webhook.follow(policy),
            (Some(policy), webhook @ None) => {
                let counts = Arc::clone(&self.webhook_counts);
                let (cluster, leadership) = (&self.connection.server, self.leadership.clone());
                let pace = WebhookPace::default();
                let started = WebhookReporter::start(policy, cluster, pace, counts, leadership);
                *webhook = Some(started);
            }
        }
        match (open_reports, &mut self.open_reports) {
            (None, reports) => *reports = None,
            (Some(policy), Some(reports)) => reports.set_severity(policy.severity),
            (Some(policy), reports @ None) => {
                let counts = Arc::clone(&self.open_report_counts);
                let leadership = self.leadership.clone();
                let (pace, writer) = (OpenReportPace::default(), &self.connection);
                let started =
                    OpenReporter::start(policy.severity, writer, pace, counts, leadership);
                *reports = Some(started);
            }
        }
    }

    /// Binds the address of probes, of which nothing is secret: a kubelet verifies no certificate.
    async fn bind_probes(&self, address: SocketAddr) -> Result<(TcpListener, Served), ReportError> {
        let failed = |source| ReportError::Address { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let (metrics, probes) = (self.metrics.clone(), Arc::clone(&self.probes));
        let (serves, reviewer, certificate) = (Serves::Probes, None, None);
        Ok((listener, Served { serves, metrics, probes, reviewer, certificate }))
    }

    async fn bind(
        &self,
        policy: &MetricsPolicy,
        serves: Serves,
    ) -> Result<(TcpListener, Served), ReportError> {
        let address = policy.address;
        let failed = |source| ReportError::Address { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let is_open = policy.is_local();
        let certificate = match (&policy.tls, is_open) {
            (None, true) => None,
            (files, _) => {
                let certificate = ServerCertificate::new(files.as_ref());
                let failed = |source| ReportError::Certificate { address, source };
                Some(certificate.map_err(failed)?)
            }
        };
        let reviewer = (!is_open).then(|| MetricsReviewer::new(Reader::new(&self.connection)));
        let (metrics, probes) = (self.metrics.clone(), Arc::clone(&self.probes));
        Ok((listener, Served { serves, metrics, probes, reviewer, certificate }))
    }

    /// Begins anew where this process leads for another term, and leaves what was not sent to
    /// another process where that leads. While no leader is known, what is to be sent waits.
    fn take_part(&mut self) {
        match self.leadership.term() {
            Some(term) if self.term.as_ref() != Some(&term) => {
                tracing::info!("leads: Events and messages are sent by this process");
                (self.events, self.webhook, self.open_reports) = (None, None, None);
                self.term = Some(term);
                self.owes = true;
                self.replace(&self.policy.clone());
            }
            None if self.term.is_some() && self.leadership.is_led_by_another() => {
                tracing::info!("stands by: Events and messages are left to another process");
                (self.events, self.webhook, self.open_reports) = (None, None, None);
                self.term = None;
            }
            _ => {}
        }
    }

    fn send(&mut self, findings: &[FindingEvent], now: Option<Time>, is_first: bool) {
        if let Some(events) = &mut self.events {
            events.hear(findings, now, is_first);
        }
        if let Some(webhook) = &mut self.webhook {
            webhook.hear(findings, now, is_first);
        }
    }

    fn serve(&mut self, listener: TcpListener, served: Served) {
        let Ok(address) = listener.local_addr() else { return };
        let what = match served.serves {
            Serves::Metrics => "serving metrics",
            Serves::Probes => "serving probes",
            Serves::Both => "serving metrics and probes",
        };
        self.servers.spawn(server::serve(listener, Arc::new(served)));
        tracing::info!(%address, "{what}");
    }
}

impl Listener for Reporters {
    fn hear(&mut self, told: &Told, cluster: &Cluster, reconciler: &Reconciler) {
        if let Some(policy) = &told.policy {
            self.replace(&policy.report);
        }
        self.take_part();
        let is_first = self.totals_of.is_none();
        let now = cluster.clock();
        self.send(&told.news.findings, now, is_first);
        if self.owes && (self.events.is_some() || self.webhook.is_some()) {
            // Told as at the first look of a process. What cannot be judged now is told when it can.
            let all = reconciler.assessor().findings(cluster, reconciler.settings());
            let all: Vec<_> = all.map(|it| FindingEvent::Appeared(Box::new(it))).collect();
            self.send(&all, now, true);
            self.owes = all.len() < reconciler.count();
        }
        let judged = reconciler.judgements();
        self.judged = judged;
        if let Some(reports) = self.open_reports.as_mut().filter(|it| it.is_due(judged)) {
            let of = Judged { count: judged, sees_all: reconciler.sees_all(cluster) };
            if !reports.has_made(of) {
                let settings = reconciler.settings();
                let all = reconciler.assessor().findings(cluster, settings);
                reports.hear(all, &settings.scope, of);
            }
        }
        if self.totals_of != Some(judged) {
            self.totals_of = Some(judged);
            if !self.servers.is_empty() {
                self.metrics.total(reconciler.assessor().totals(cluster, reconciler.settings()));
            }
        }
        if told.took.is_some() || is_first {
            let unread = reconciler.assessor().unread(cluster);
            self.metrics.judged(told.took, unread.iter().map(|it| it.gap.kind).collect());
        }
        self.metrics.worked(judged, reconciler.full_passes(), told.defects);
        self.probes.looked();
    }

    fn is_behind(&self) -> bool {
        let owes_reports = self.open_reports.as_ref().is_some_and(|it| it.is_due(self.judged));
        owes_reports || self.leadership.term().is_some_and(|it| self.term != Some(it))
    }

    fn turned(&mut self) {
        self.probes.turned();
    }
}

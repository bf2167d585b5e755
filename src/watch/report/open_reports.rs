//! Findings as Reports of namespaces, and one of the cluster, which hold what was found last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::queue::{SinkCounts, TokenBucket};
use crate::apply::{
    OpenReport, OpenReportError, OpenReportWriter, ReportWrite, StoredReport, written_for_scope,
};
use crate::client::Connection;
use crate::model::{Finding, Scope, Severity, Text, escape_control};
use crate::watch::leader::Leadership;
use crate::watch::policy::LeaseName;

/// How many namespaces have a report.
const NAMESPACES: usize = 500;

/// Reports as they are to be.
struct Reports {
    /// By namespace; `None` is that of the cluster.
    all: BTreeMap<Option<Text>, OpenReport>,
    /// The namespaces whose report has no room: one that exists stays.
    no_room: BTreeSet<Text>,
    /// Whether nothing is missing in them; otherwise what was written before may still be so.
    is_whole: bool,
    /// For whom they are written.
    written_for: String,
}

/// How often reports are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenReportPace {
    /// How long findings are gathered before reports are made of them anew.
    pub(super) gather: Duration,
    /// How many are written at once, and how long until the next one after that.
    pub(super) burst: u32,
    pub(super) every: Duration,
    /// How long to wait before it is tried again.
    pub(super) pause: Duration,
}

impl Default for OpenReportPace {
    fn default() -> Self {
        let (gather, every) = (Duration::from_secs(30), Duration::from_millis(500));
        Self { gather, burst: 25, every, pause: Duration::from_secs(60) }
    }
}

/// Makes reports of findings, and has them written.
pub(super) struct OpenReporter {
    severity: Severity,
    gather: Duration,
    /// The namespace and name of the Lease.
    lease: Option<String>,
    /// When reports were made, and of what.
    made: Option<(Instant, Judged)>,
    /// The latest ones: what was not written by then is not written any more.
    wanted: watch::Sender<Option<Arc<Reports>>>,
    _task: JoinSet<()>,
}

/// Of what reports are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Judged {
    /// How many judgements there were.
    pub(super) count: u64,
    /// Whether everything was read that they need.
    pub(super) sees_all: bool,
}

impl OpenReporter {
    /// Begins to report findings of a severity and worse.
    pub(super) fn start(
        severity: Severity,
        connection: &Connection,
        pace: OpenReportPace,
        counts: Arc<SinkCounts>,
        leadership: Leadership,
    ) -> Self {
        let (wanted, latest) = watch::channel(None);
        let lease = leadership.lease();
        let writer =
            OpenReportWriter::new(connection, lease.map_or(LeaseName::DEFAULT, |it| &*it.name));
        let lease = lease.map(|it| format!("{}/{}", it.namespace, it.name));
        let bucket = TokenBucket::new(pace.burst, pace.every);
        let scribe = Scribe { writer, bucket, counts, leadership, omitted: BTreeMap::new() };
        let mut tasks = JoinSet::new();
        tasks.spawn(scribe.write_all(latest, pace.pause));
        Self { severity, gather: pace.gather, lease, made: None, wanted, _task: tasks }
    }

    /// Reports findings of another severity from now on.
    pub(super) fn set_severity(&mut self, severity: Severity) {
        if self.severity != severity {
            self.severity = severity;
            self.made = None;
        }
    }

    /// Whether it may be time to make reports anew, of so many judgements: what is read again need not be judged again.
    pub(super) fn is_due(&self, judgements: u64) -> bool {
        self.made.is_none_or(|(at, of)| {
            (of.count != judgements || !of.sees_all) && at.elapsed() >= self.gather
        })
    }

    /// Whether reports were made of this.
    pub(super) fn has_made(&self, judged: Judged) -> bool {
        self.made.is_some_and(|(_, of)| of == judged)
    }

    /// Makes reports of all findings that can be judged, the worst first.
    pub(super) fn hear(
        &mut self,
        findings: impl Iterator<Item = Finding>,
        scope: &Scope,
        judged: Judged,
    ) {
        let mut all = BTreeMap::<Option<Text>, OpenReport>::new();
        let (mut no_room, mut left_out, mut namespaces) = (BTreeSet::new(), 0, 0);
        for finding in findings.filter(|it| it.severity <= self.severity) {
            let namespace = finding.object.key.namespace.clone();
            match &namespace {
                Some(new) if !all.contains_key(&namespace) => {
                    if namespaces == NAMESPACES {
                        no_room.insert(Text::clone(new));
                        left_out += 1;
                        continue;
                    }
                    namespaces += 1;
                }
                _ => {}
            }
            all.entry(namespace).or_default().add(&finding);
        }
        if left_out > 0 {
            all.entry(None).or_default().leave_out(left_out, no_room.len());
        }
        if !judged.sees_all {
            all.values_mut().for_each(OpenReport::set_incomplete);
        }
        let written_for = self.lease.clone().unwrap_or_else(|| written_for_scope(scope));
        let reports = Reports { all, no_room, is_whole: judged.sees_all, written_for };
        self.made = Some((Instant::now(), judged));
        self.wanted.send_replace(Some(Arc::new(reports)));
    }
}

/// Has the API server hold reports.
struct Scribe {
    writer: OpenReportWriter,
    bucket: TokenBucket,
    counts: Arc<SinkCounts>,
    leadership: Leadership,
    /// How many findings without room were counted.
    omitted: BTreeMap<Option<Text>, usize>,
}

/// What came of writing all reports once.
#[derive(Debug, Default, PartialEq, Eq)]
struct Round {
    /// How many reports could not be written or deleted, and why the first could not; or why none could be read.
    failures: usize,
    error: Option<OpenReportError>,
    /// Whether another client was faster, which is no failure.
    is_overtaken: bool,
}

impl Scribe {
    /// Has the API server hold the latest reports, for ever.
    async fn write_all(
        mut self,
        mut latest: watch::Receiver<Option<Arc<Reports>>>,
        pause: Duration,
    ) {
        let mut last = Round::default();
        loop {
            tokio::select! {
                changed = latest.changed() => if changed.is_err() { return },
                () = sleep(pause), if last.error.is_some() || last.is_overtaken => {}
            }
            let Some(reports) = latest.borrow_and_update().clone() else { continue };
            let round = self.write(&reports).await;
            // What stays so is said once.
            let is_said = (&round.error, round.failures) == (&last.error, last.failures);
            if let Some(error) = round.error.as_ref().filter(|_| !is_said) {
                let failed = (round.failures > 0).then_some(round.failures);
                let (text, hint) = (error.to_string(), hint(error));
                let error = escape_control(&text);
                tracing::warn!(%error, failed, "Not all Reports are up to date{hint}");
            }
            last = round;
        }
    }

    /// Writes what is not as it is to be, and deletes what nothing is found of. One that fails holds up no other, unless a
    /// right is missing.
    async fn write(&mut self, reports: &Reports) -> Round {
        let mut round = Round::default();
        self.leadership.wait().await;
        let stored = match self.writer.read().await {
            Ok(stored) => stored,
            Err(error) => {
                self.counts.failed(reports.all.values().map(|it| it.count().0).sum());
                round.error = Some(error);
                return round;
            }
        };
        let whom = &*reports.written_for;
        for (namespace, report) in &reports.all {
            let over = stored.get(namespace);
            let end = match over {
                Some(over) if !over.is_written_for(whom) => Err(OpenReportError::taken(over, whom)),
                Some(over) if over.says(report) => continue,
                Some(over) if !reports.is_whole && over.has_more_than(report) => continue,
                _ => {
                    self.turn().await;
                    self.writer.write(namespace.as_deref(), report, whom, over).await
                }
            };
            match end {
                Ok(ReportWrite::Done) => self.count(namespace, report, over),
                Ok(_) => {}
                Err(_) => self.counts.failed(report.count().0),
            }
            if round.ends_with(end) {
                return round;
            }
        }
        for (namespace, report) in stored {
            let has_no_room = namespace.as_ref().is_some_and(|it| reports.no_room.contains(it));
            let is_wanted = has_no_room || reports.all.contains_key(&namespace);
            if is_wanted || !reports.is_whole || !report.is_written_for(whom) {
                continue;
            }
            self.turn().await;
            if round.ends_with(self.writer.remove(&report).await) {
                return round;
            }
        }
        round
    }

    /// Waits until a request may be sent.
    async fn turn(&mut self) {
        sleep(self.bucket.take(Instant::now())).await;
        self.leadership.wait().await;
    }

    /// Counts the findings of a report that was written. What had no room in it before is not counted again.
    fn count(
        &mut self,
        namespace: &Option<Text>,
        report: &OpenReport,
        over: Option<&StoredReport>,
    ) {
        self.counts.sent(report.count().0);
        let counted = self.omitted.entry(namespace.clone()).or_default();
        *counted = (*counted).max(over.map_or(0, StoredReport::omitted));
        self.counts.dropped(report.omitted().saturating_sub(*counted));
        *counted = (*counted).max(report.omitted());
    }
}

impl Round {
    /// Notes the end of a request, and returns whether no other one is worth sending.
    fn ends_with(&mut self, end: Result<ReportWrite, OpenReportError>) -> bool {
        match end {
            Ok(ReportWrite::Done | ReportWrite::NoNamespace) => false,
            Ok(ReportWrite::Overtaken) => {
                self.is_overtaken = true;
                false
            }
            Err(error) => {
                let is_last = matches!(error, OpenReportError::Forbidden(_));
                self.failures += 1;
                // What ends a round is what has to be mended.
                if is_last || self.error.is_none() {
                    self.error = Some(error);
                }
                is_last
            }
        }
    }
}

fn hint(error: &OpenReportError) -> &'static str {
    match error {
        OpenReportError::NotServed => {
            ": install the CustomResourceDefinitions of OpenReports, or take report.openReports out \
             of the policy; findings are told everywhere else"
        }
        OpenReportError::Forbidden(_) => {
            ": findings are told everywhere else; kubectl storage rbac watch -f POLICY --check lists \
             what is missing"
        }
        OpenReportError::Failed(_) => "; it is tried again",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::queue::tests::finding;
    use super::*;
    use crate::client::test_server::{TestReply, TestServer, json as answer, reply, unserved};

    const QUICK: OpenReportPace = OpenReportPace {
        gather: Duration::ZERO,
        burst: 1000,
        every: Duration::from_millis(1),
        pause: Duration::from_millis(5),
    };

    fn started(connection: &Connection) -> (OpenReporter, Arc<SinkCounts>) {
        let counts = Arc::default();
        let started = OpenReporter::start(
            Severity::High,
            connection,
            QUICK,
            Arc::clone(&counts),
            Leadership::alone(),
        );
        (started, counts)
    }

    async fn until(what: &str, is_so: impl Fn() -> bool) {
        for _ in 0..3000 {
            if is_so() {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("{what}");
    }

    /// No report, as the API server lists them.
    fn none(path: &str) -> TestReply {
        let kind =
            if path.contains("/clusterreports") { "ClusterReportList" } else { "ReportList" };
        let list = json!({"apiVersion": "openreports.io/v1alpha1", "kind": kind, "items": []});
        answer(list.to_string())
    }

    #[tokio::test]
    async fn a_report_is_bounded_and_counts_all() {
        let server = TestServer::start(|asked| match asked.method.as_str() {
            "GET" => none(&asked.path),
            _ => reply(201, "", "{}"),
        });
        let server = server.await;
        let (mut reporter, counts) = started(&server.connect().await);
        let many = (0..300).map(|it| *finding(&it.to_string(), Severity::High));
        let mild = *finding("mild", Severity::Medium);
        reporter.hear(many.chain([mild]), 301, 1);
        until("it is written", || server.asked().len() == 3).await;
        let asked = server.asked();
        let body: Value = serde_json::from_str(&asked[2].body).expect("because it is JSON");
        assert_eq!(body["summary"]["fail"], 300);
        assert_eq!(body["summary"]["warn"], 0, "another severity was asked for");
        assert_eq!(body["results"].as_array().map(Vec::len), Some(200));
        assert_eq!(body["metadata"]["annotations"]["storage.kubectl.dev/omitted"], "100");
        let numbers = counts.by_outcome().map(|(_, count)| count);
        assert_eq!(numbers, [200, 0, 100]);
        assert!(body.to_string().len() < 400_000, "{}", body.to_string().len());
    }

    #[tokio::test]
    async fn reports_stand_while_not_all_findings_can_be_judged() {
        let server = TestServer::start(|asked| none(&asked.path)).await;
        let (mut reporter, _) = started(&server.connect().await);
        assert!(reporter.is_due(1));
        reporter.hear([*finding("a", Severity::High)].into_iter(), 2, 1);
        assert!(!reporter.is_due(1) && reporter.is_due(2));
        sleep(Duration::from_millis(50)).await;
        assert!(server.asked().is_empty());
    }

    #[tokio::test]
    async fn what_is_not_served_is_tried_again() {
        let server = TestServer::start(|asked| match asked.nth {
            0..3 => unserved(),
            _ if asked.method == "GET" => none(&asked.path),
            _ => reply(201, "", "{}"),
        });
        let server = server.await;
        let (mut reporter, counts) = started(&server.connect().await);
        reporter.hear([*finding("a", Severity::High)].into_iter(), 1, 1);
        until("it is written", || counts.by_outcome()[0].1 == 1).await;
    }
}

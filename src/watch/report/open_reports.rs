//! Findings as Reports of namespaces, and one of the cluster, which hold what was found last.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::queue::{SinkCounts, TokenBucket};
use crate::apply::{OpenReport, OpenReportError, OpenReportWriter};
use crate::client::Connection;
use crate::model::{Finding, Severity, Text, escape_control};
use crate::watch::leader::Leadership;

/// The name of reports where there is no election; otherwise it is that of the Lease.
const NAME: &str = "kubectl-storage-watch";
/// How many namespaces have a report.
const NAMESPACES: usize = 500;

/// Reports by namespace; `None` is that of the cluster.
type Reports = BTreeMap<Option<Text>, OpenReport>;

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
    /// When reports were made, and of which judgements.
    made: Option<(Instant, u64)>,
    /// The latest ones: what was not written by then is not written any more.
    wanted: watch::Sender<Option<Arc<Reports>>>,
    _task: JoinSet<()>,
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
        let name = leadership.lease().map_or(NAME, |it| &*it.name);
        let writer = OpenReportWriter::new(connection, name);
        let mut tasks = JoinSet::new();
        tasks.spawn(write_all(latest, writer, pace, counts, leadership));
        Self { severity, gather: pace.gather, made: None, wanted, _task: tasks }
    }

    /// Reports findings of another severity from now on.
    pub(super) fn set_severity(&mut self, severity: Severity) {
        if self.severity != severity {
            self.severity = severity;
            self.made = None;
        }
    }

    /// Whether reports are to be made anew, of so many judgements.
    pub(super) fn is_due(&self, judgements: u64) -> bool {
        self.made.is_none_or(|(at, of)| of != judgements && at.elapsed() >= self.gather)
    }

    /// Makes reports of all findings, the worst first. Where not all of the `known` ones can be judged now, the rest
    /// stands, and so do the reports of before.
    pub(super) fn hear(
        &mut self,
        findings: impl Iterator<Item = Finding>,
        known: usize,
        judgements: u64,
    ) {
        let (mut reports, mut seen) = (Reports::new(), 0);
        for finding in findings {
            seen += 1;
            let namespace = &finding.object.key.namespace;
            let has_room = reports.len() < NAMESPACES || reports.contains_key(namespace);
            if finding.severity <= self.severity && has_room {
                reports.entry(namespace.clone()).or_default().add(&finding);
            }
        }
        self.made = Some((Instant::now(), judgements));
        if seen >= known {
            self.wanted.send_replace(Some(Arc::new(reports)));
        }
    }
}

/// Has the API server hold the latest reports, for ever.
async fn write_all(
    mut latest: watch::Receiver<Option<Arc<Reports>>>,
    writer: OpenReportWriter,
    pace: OpenReportPace,
    counts: Arc<SinkCounts>,
    mut leadership: Leadership,
) {
    let mut bucket = TokenBucket::new(pace.burst, pace.every);
    let mut said = None;
    let mut is_behind = false;
    loop {
        tokio::select! {
            changed = latest.changed() => if changed.is_err() { return },
            () = sleep(pace.pause), if is_behind => {}
        }
        let Some(reports) = latest.borrow_and_update().clone() else { continue };
        let end = write(&reports, &writer, &mut bucket, &counts, &mut leadership).await;
        is_behind = end.is_err();
        match end {
            Ok(()) => said = None,
            Err(error) => {
                // What stays so is said once.
                if said.as_ref() != Some(&error) {
                    let text = error.to_string();
                    let hint = hint(&error);
                    tracing::warn!(error = %escape_control(&text), "Reports are not written{hint}");
                }
                said = Some(error);
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
        OpenReportError::Overtaken(_) | OpenReportError::Failed(_) => "; it is tried again",
    }
}

/// Writes what is not as it is to be, and deletes what nothing is found of. One that fails holds up no other.
async fn write(
    reports: &Reports,
    writer: &OpenReportWriter,
    bucket: &mut TokenBucket,
    counts: &SinkCounts,
    leadership: &mut Leadership,
) -> Result<(), OpenReportError> {
    leadership.wait().await;
    let stored = writer.read().await?;
    let mut end = Ok(());
    for (namespace, report) in reports {
        let over = stored.get(namespace);
        if over.is_some_and(|it| it.says(report)) {
            continue;
        }
        sleep(bucket.take(Instant::now())).await;
        leadership.wait().await;
        let (listed, all) = report.count();
        match writer.write(namespace.as_deref(), report, over).await {
            Ok(()) => {
                counts.sent(listed);
                counts.dropped(all - listed);
            }
            Err(error) => {
                counts.failed(listed);
                end = Err(error);
            }
        }
    }
    for (_, report) in stored.iter().filter(|(namespace, _)| !reports.contains_key(*namespace)) {
        sleep(bucket.take(Instant::now())).await;
        leadership.wait().await;
        if let Err(error) = writer.remove(report).await {
            end = Err(error);
        }
    }
    end
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

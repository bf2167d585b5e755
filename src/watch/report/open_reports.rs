//! Reporting of findings as Reports of namespaces, and one of the cluster, which hold what was found last.

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

/// Largest number of namespaces that have a report.
const NAMESPACES: usize = 500;

/// The reports that are to be written.
struct Reports {
    /// The reports by namespace; `None` is that of the cluster.
    all: BTreeMap<Option<Text>, OpenReport>,
    /// The namespaces whose report has no room: one that exists stays.
    no_room: BTreeSet<Text>,
    /// Whether nothing is missing in the reports; otherwise what was written before may still be so.
    is_whole: bool,
    /// The namespace and name of the Lease, for which the reports are written.
    written_for: String,
}

/// Pace of writing reports.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenReportPace {
    /// Time for which findings are gathered before reports are made of them anew.
    pub(super) gather: Duration,
    /// Number of reports that are written at once, and then the time until the next one.
    pub(super) burst: u32,
    pub(super) every: Duration,
    /// Time before a failed report is tried again.
    pub(super) pause: Duration,
}

impl Default for OpenReportPace {
    fn default() -> Self {
        let (gather, every) = (Duration::from_secs(30), Duration::from_millis(500));
        Self { gather, burst: 25, every, pause: Duration::from_secs(60) }
    }
}

/// Reporter that makes reports of findings, and has them written.
pub(super) struct OpenReporter {
    severity: Severity,
    gather: Duration,
    /// The namespace and name of the Lease.
    lease: Option<String>,
    /// Time of the last reports, and their judgements.
    made: Option<(Instant, Judged)>,
    /// The latest reports: what was not written by then is not written any more.
    wanted: watch::Sender<Option<Arc<Reports>>>,
    _task: JoinSet<()>,
}

/// Judgements of which reports are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Judged {
    /// Number of judgements.
    pub(super) count: u64,
    /// Whether everything was read that the reports need.
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

    /// Sets the severity from which findings are reported.
    pub(super) fn set_severity(&mut self, severity: Severity) {
        if self.severity != severity {
            self.severity = severity;
            self.made = None;
        }
    }

    /// Whether it may be time to make reports anew, after this number of judgements: what is read again need not be
    /// judged again.
    pub(super) fn is_due(&self, judgements: u64) -> bool {
        self.made.is_none_or(|(at, of)| {
            (of.count != judgements || !of.sees_all) && at.elapsed() >= self.gather
        })
    }

    /// Whether reports of these judgements were made; then this is not asked again for a while.
    pub(super) fn has_made(&mut self, judged: Judged) -> bool {
        let Some((at, _)) = self.made.as_mut().filter(|(_, of)| *of == judged) else {
            return false;
        };
        *at = Instant::now();
        true
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

/// Writer that has the API server hold reports.
struct Scribe {
    writer: OpenReportWriter,
    bucket: TokenBucket,
    counts: Arc<SinkCounts>,
    leadership: Leadership,
    /// Number of findings without room that were counted, by namespace.
    omitted: BTreeMap<Option<Text>, usize>,
}

/// Outcome of writing all reports once.
#[derive(Debug, Default, PartialEq, Eq)]
struct Round {
    /// Number of reports that could not be written or deleted; `error` is why the first could not, or why none could be
    /// read.
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

    /// Writes reports that differ from those in the cluster, and deletes those without findings. One that fails holds
    /// up no other, unless a right is missing.
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
                Ok(ReportWrite::Done) => self.count(namespace.as_ref(), report, over),
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
        namespace: Option<&Text>,
        report: &OpenReport,
        over: Option<&StoredReport>,
    ) {
        self.counts.sent(report.count().0);
        let counted = self.omitted.entry(namespace.cloned()).or_default();
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
    use crate::client::test_server::{
        ReceivedRequest, TestReply, TestServer, json as answer, reply, unserved,
    };
    use crate::watch::leader::Standing;

    const QUICK: OpenReportPace = OpenReportPace {
        gather: Duration::ZERO,
        burst: 1000,
        every: Duration::from_millis(1),
        pause: Duration::from_millis(5),
    };
    const WHOLE: Judged = Judged { count: 1, sees_all: true };
    const OMITTED: &str = "storage.kubectl.dev/omitted";

    fn started(connection: &Connection, leadership: Leadership) -> (OpenReporter, Arc<SinkCounts>) {
        let counts = Arc::default();
        let (high, of) = (Severity::High, Arc::clone(&counts));
        (OpenReporter::start(high, connection, QUICK, of, leadership), counts)
    }

    /// An API server that has reports and answers writes.
    async fn server(
        stored: Vec<Value>,
        write: impl Fn(&ReceivedRequest) -> TestReply + Send + Sync + 'static,
    ) -> TestServer {
        let of = move |asked: &ReceivedRequest| {
            let is_cluster = asked.path.contains("/clusterreports");
            let is_listed = |it: &&Value| it["metadata"]["namespace"].is_null() == is_cluster;
            let items: Vec<_> = stored.iter().filter(is_listed).collect();
            let kind = "PartialObjectMetadataList";
            json!({"apiVersion": "meta.k8s.io/v1", "kind": kind, "items": items}).to_string()
        };
        let answer = move |asked: &ReceivedRequest| match &*asked.method {
            "GET" => answer(of(asked)),
            _ => write(asked),
        };
        TestServer::start(answer).await
    }

    fn done(_: &ReceivedRequest) -> TestReply {
        reply(201, "", "{}")
    }

    /// A report that exists, with annotations.
    fn stored(namespace: Option<&str>, annotations: &[(&str, &str)]) -> Value {
        let full = |(key, value): &(&str, &str)| {
            (format!("storage.kubectl.dev/{key}"), Value::from(*value))
        };
        let annotations: serde_json::Map<_, _> = annotations.iter().map(full).collect();
        json!({"metadata": {
            "name": "kubectl-storage-watch", "namespace": namespace, "uid": "u", "resourceVersion": "1",
            "labels": {"app.kubernetes.io/managed-by": "kubectl-storage"}, "annotations": annotations,
        }})
    }

    /// One that is written for the whole cluster.
    fn own(namespace: Option<&str>, annotation: (&str, &str)) -> Value {
        stored(namespace, &[("written-for", "cluster"), annotation])
    }

    fn found(namespace: &str) -> Finding {
        let mut found = *finding("a", Severity::High);
        found.object.key.namespace = Some(namespace.into());
        found
    }

    fn status(code: u16, reason: &str, message: &str, name: &str) -> TestReply {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
            "message": message, "details": {"name": name},
        });
        reply(code, "content-type: application/json\r\n", status.to_string())
    }

    /// What was written: verbs and paths.
    fn written(server: &TestServer) -> Vec<String> {
        let short = |it: &str| {
            let path = it.split('?').next().unwrap_or_default();
            path.replace("/apis/openreports.io/v1alpha1/", "").replace("/kubectl-storage-watch", "")
        };
        let all = server.asked().into_iter().filter(|it| it.method != "GET");
        all.map(|it| format!("{} {}", it.method, short(&it.path))).collect()
    }

    /// The last body that was sent to a path that ends so.
    fn body(server: &TestServer, end: &str) -> Value {
        let sent = server.asked().into_iter().filter(|it| it.method != "GET");
        let mut last =
            sent.filter(|it| it.path.split('?').next().is_some_and(|it| it.ends_with(end)));
        serde_json::from_str(&last.next_back().expect("it was sent").body)
            .expect("because it is JSON")
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

    /// Waits for this many writes, and that there are no more.
    async fn settled(server: &TestServer, count: usize) -> Vec<String> {
        until("it is written", || written(server).len() >= count).await;
        sleep(Duration::from_millis(50)).await;
        let written = written(server);
        assert_eq!(written.len(), count, "{written:?}");
        written
    }

    #[tokio::test]
    async fn a_report_is_bounded_and_counts_all() {
        // What had no room before is not counted again.
        let server = server(vec![own(None, ("omitted", "90"))], done).await;
        let (mut reporter, counts) = started(&server.connect().await, Leadership::alone());
        let many = (0..300).map(|it| *finding(&it.to_string(), Severity::High));
        let mild = *finding("mild", Severity::Medium);
        reporter.hear(many.clone().chain([mild]), &Scope::default(), WHOLE);
        settled(&server, 1).await;
        let sent = body(&server, "/kubectl-storage-watch");
        assert_eq!(sent["summary"]["fail"], 300);
        assert_eq!(sent["summary"]["warn"], 0, "another severity was asked for");
        assert_eq!(sent["results"].as_array().map(Vec::len), Some(200));
        assert_eq!(sent["metadata"]["annotations"][OMITTED], "100");
        assert!(sent.to_string().len() < 400_000, "{}", sent.to_string().len());
        let numbers = || counts.by_outcome().map(|(_, count)| count);
        assert_eq!(numbers(), [200, 0, 10]);
        // Nor is it when fewer have no room meanwhile.
        reporter.hear(many.clone().skip(5), &Scope::default(), WHOLE);
        settled(&server, 2).await;
        reporter.hear(many, &Scope::default(), WHOLE);
        settled(&server, 3).await;
        assert_eq!(numbers(), [600, 0, 10]);
        // Only metadata is read, of one name and in pages.
        let read = &server.asked()[0];
        assert!(read.head.contains("as=partialobjectmetadatalist"), "{}", read.head);
        let query = "fieldSelector=metadata.name%3Dkubectl-storage-watch&limit=500";
        assert!(read.path.ends_with(query), "{}", read.path);
    }

    #[tokio::test]
    async fn what_may_still_stand_is_neither_deleted_nor_made_smaller() {
        let before = vec![
            own(None, ("findings", "3")),
            own(Some("cleared"), ("findings", "1")),
            own(Some("grows"), ("findings", "1")),
        ];
        let server = server(before, done).await;
        let (mut reporter, _) = started(&server.connect().await, Leadership::alone());
        assert!(reporter.is_due(1));
        let all = || {
            let of_cluster = *finding("a", Severity::High);
            [of_cluster, found("grows"), found("grows"), found("new")].into_iter()
        };
        reporter.hear(all(), &Scope::default(), Judged { count: 1, sees_all: false });
        let sent = settled(&server, 2).await;
        assert_eq!(sent, ["PUT namespaces/grows/reports", "POST namespaces/new/reports"]);
        let incomplete = |end| {
            let body = body(&server, end);
            body["metadata"]["annotations"]["storage.kubectl.dev/incomplete"].clone()
        };
        assert_eq!(incomplete("/new/reports"), "true");
        // Everything is read, without another judgement.
        assert!(reporter.is_due(1) && !reporter.has_made(WHOLE));
        reporter.hear(all(), &Scope::default(), WHOLE);
        let sent = &settled(&server, 6).await[2..];
        assert_eq!(sent[0], "PUT clusterreports");
        assert_eq!(sent[3], "DELETE namespaces/cleared/reports");
        assert_eq!(incomplete("/new/reports"), Value::Null);
        assert!(!reporter.is_due(1) && reporter.is_due(2));
    }

    #[tokio::test]
    async fn those_of_other_clients_are_left_alone() {
        let of_another = [("written-for", "b/watch")];
        let mut unlabelled = stored(Some("unlabelled"), &[("written-for", "a/watch")]);
        unlabelled["metadata"]["labels"] = json!({});
        let before = vec![
            stored(None, &of_another),
            stored(Some("other"), &of_another),
            unlabelled,
            stored(Some("cleared"), &[("written-for", "a/watch")]),
        ];
        let server = server(before, done).await;
        let leads = Standing::Leads {
            term: crate::journal::Term { lease: "u".to_owned(), transitions: 1 },
            renewed: crate::apply::Moment::now(),
            lasts: Duration::from_secs(3600),
            unattended: None,
            restarted: None,
        };
        let (_standing, leadership) = Leadership::of_test(leads);
        let (mut reporter, counts) = started(&server.connect().await, leadership);
        let all = [found("other"), found("unlabelled")];
        reporter.hear(all.into_iter(), &Scope::default(), WHOLE);
        until("it is counted", || counts.by_outcome()[1].1 >= 4).await;
        let mut sent = written(&server);
        sent.dedup();
        assert_eq!(sent, ["DELETE namespaces/cleared/reports"]);
        // Without a Lease policies are told apart by what they are about.
        let about = |namespace: &str| {
            let namespaces = [namespace.into()].into();
            written_for_scope(&Scope { namespaces, ..Scope::default() })
        };
        assert!(about("a") != about("b") && about("a") != written_for_scope(&Scope::default()));
    }

    #[tokio::test]
    async fn there_is_room_for_the_cluster_and_what_has_none_stays() {
        let before = vec![own(None, ("findings", "9")), own(Some("n500"), ("findings", "1"))];
        let server = server(before, done).await;
        let (mut reporter, counts) = started(&server.connect().await, Leadership::alone());
        let namespaces = (0..=500).map(|it| found(&format!("n{it:03}")));
        let of_cluster = |name: &str| *finding(name, Severity::High);
        reporter.hear(namespaces.clone().chain([of_cluster("a")]), &Scope::default(), WHOLE);
        let sent = settled(&server, 501).await;
        assert_eq!(sent[0], "PUT clusterreports");
        assert!(sent[1..].iter().all(|it| it.starts_with("POST ")), "{sent:?}");
        let sent = body(&server, "clusterreports/kubectl-storage-watch");
        let annotations = &sent["metadata"]["annotations"];
        assert_eq!(sent["results"][0]["resources"][0]["name"], "a");
        assert_eq!(annotations["storage.kubectl.dev/omitted-namespaces"], "1");
        assert_eq!(annotations[OMITTED], "1");
        assert_eq!(counts.by_outcome()[2].1, 1);
        // It is counted once.
        reporter.hear(namespaces.chain([of_cluster("b")]), &Scope::default(), WHOLE);
        settled(&server, 1002).await;
        assert_eq!(counts.by_outcome()[2].1, 1);
    }

    #[tokio::test]
    async fn a_namespace_that_is_deleted_is_no_failure() {
        let server = server(Vec::new(), |asked| {
            let ends =
                "unable to create new content in namespace ends because it is being terminated";
            match asked.path.contains("/ends/") {
                true => status(403, "Forbidden", ends, "kubectl-storage-watch"),
                false => status(404, "NotFound", "namespaces \"gone\" not found", "gone"),
            }
        });
        let server = server.await;
        let (mut reporter, counts) = started(&server.connect().await, Leadership::alone());
        reporter.hear([found("ends"), found("gone")].into_iter(), &Scope::default(), WHOLE);
        settled(&server, 2).await;
        assert_eq!(counts.by_outcome().map(|(_, count)| count), [0, 0, 0]);
    }

    #[tokio::test]
    async fn a_missing_right_ends_the_round() {
        let server = server(Vec::new(), |_| {
            status(403, "Forbidden", "User \"u\" cannot create resource \"reports\"", "")
        });
        let server = server.await;
        let (mut reporter, counts) = started(&server.connect().await, Leadership::alone());
        reporter.hear(["a", "b", "c"].map(found).into_iter(), &Scope::default(), WHOLE);
        until("it is tried again", || written(&server).len() >= 3).await;
        assert!(written(&server).iter().all(|it| *it == "POST namespaces/a/reports"));
        assert!(counts.by_outcome()[1].1 >= 2);
    }

    #[tokio::test]
    async fn what_is_not_served_fails_and_is_tried_again() {
        let list = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "items": []});
        let server = TestServer::start(move |asked| match asked.nth {
            0..3 => unserved(),
            _ if asked.method == "GET" => answer(list.to_string()),
            _ => done(asked),
        });
        let server = server.await;
        let (mut reporter, counts) = started(&server.connect().await, Leadership::alone());
        reporter.hear([*finding("a", Severity::High)].into_iter(), &Scope::default(), WHOLE);
        until("it is written", || counts.by_outcome()[0].1 == 1).await;
        assert_eq!(counts.by_outcome()[1].1, 3);
    }
}

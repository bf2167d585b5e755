//! Somebody who writes with the tool, and what a run said.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::{AtTerminal, Mark, Outcome, Proxy, Report, Run, Scenario, Write, eventually};

/// Somebody who writes. Each acts under a name of their own, so that what is done on a cluster that many share can be
/// told apart; the journal of one run is there for the next.
pub(crate) struct Admin<'a> {
    pub(crate) on: &'a Scenario<'a>,
    pub(crate) name: String,
    groups: &'a [&'a str],
    pub(crate) home: tempfile::TempDir,
}

/// What a run said.
pub(crate) struct Told {
    /// The plan or the receipt; null when there is none.
    pub(crate) json: Value,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl<'a> Admin<'a> {
    /// Somebody who may do anything.
    pub(crate) fn of(on: &'a Scenario<'a>) -> Self {
        Self::named(on, "admin", &["--as-group", "system:masters"])
    }

    /// Somebody who may read all that `gc` reads, but for some resources, and may do this to volumes.
    pub(crate) fn limited(
        on: &'a Scenario<'a>,
        name: &str,
        without: &[&str],
        verbs: &[&str],
    ) -> Self {
        const READ: [&str; 27] = [
            "persistentvolumes",
            "persistentvolumeclaims",
            "pods",
            "nodes",
            "namespaces",
            "events",
            "replicationcontrollers",
            "secrets",
            "storageclasses",
            "csidrivers",
            "csinodes",
            "volumeattachments",
            "volumeattributesclasses",
            "csistoragecapacities",
            "statefulsets",
            "deployments",
            "replicasets",
            "daemonsets",
            "jobs",
            "cronjobs",
            "leases",
            "horizontalpodautoscalers",
            "volumesnapshots",
            "volumesnapshotcontents",
            "volumesnapshotclasses",
            "volumegroupsnapshots",
            "volumegroupsnapshotcontents",
        ];
        let admin = Self::named(on, name, &[]);
        let record =
            if without.contains(&"configmaps") { "none" } else { "kubectl-storage-kept-backends" };
        let read: Vec<_> = READ.into_iter().filter(|it| !without.contains(it)).collect();
        on.cluster.grant(&admin.name, &json!([
            {"apiGroups": ["*"], "resources": read, "verbs": ["get", "list", "watch"]},
            {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
            {"apiGroups": [""], "resources": ["persistentvolumes"], "verbs": verbs},
            // The record of kept backend volumes.
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": [record]},
        ]));
        admin
    }

    pub(crate) fn named(on: &'a Scenario<'a>, name: &str, groups: &'a [&'a str]) -> Self {
        let home = tempfile::tempdir().expect("because the temporary folder is writable");
        Self { on, name: on.named(name), groups, home }
    }

    /// Runs the tool in this name, with nobody at the terminal.
    pub(crate) fn run(&self, args: &[&str]) -> Told {
        self.run_at(self.home.path(), args)
    }

    /// The same, with the journal somewhere else.
    pub(crate) fn run_at(&self, state: &Path, args: &[&str]) -> Told {
        let run = self.by(self.on.cluster.kubeconfig(), args);
        Told::of(run.env("XDG_STATE_HOME", state).go())
    }

    /// The same by way of a proxy.
    pub(crate) fn run_through(&self, proxy: &Proxy, args: &[&str]) -> Told {
        Told::of(self.by(proxy.kubeconfig(), args).go())
    }

    /// Begins a run in this name at a terminal.
    pub(crate) fn at_terminal(&self, args: &[&str]) -> AtTerminal {
        self.in_name(self.on.cluster.kubeconfig(), args).at_terminal()
    }

    /// A run in this name that is not begun.
    pub(crate) fn by(&self, kubeconfig: &Path, args: &[&str]) -> Run {
        self.in_name(kubeconfig, args).more(&["-o", "json"])
    }

    fn in_name(&self, kubeconfig: &Path, args: &[&str]) -> Run {
        Run::of(args)
            .more(&["--as", &self.name])
            .more(self.groups)
            .kubeconfig(kubeconfig)
            .env("XDG_STATE_HOME", self.home.path())
    }

    /// Audits as the administrator of the cluster, with this journal. Nothing may be written.
    pub(crate) fn audit(&self, args: &[&str]) -> Report {
        let before = self.on.cluster.mark();
        let run = Run::of(&["audit", "-o", "json"]).more(args);
        let run = run.kubeconfig(self.on.cluster.kubeconfig());
        let report = run.env("XDG_STATE_HOME", self.home.path()).go().report();
        self.on.cluster.assert_no_write(before);
        report
    }

    /// What was asked of the API server in this name since.
    pub(crate) fn requests(&self, since: Mark) -> Vec<Value> {
        self.settle(since);
        self.logged(since)
    }

    /// What of that the audit log has by now.
    fn logged(&self, since: Mark) -> Vec<Value> {
        let mut events = self.on.cluster.events_since(since, &self.name);
        events.retain(|event| event["impersonatedUser"]["username"] == self.name);
        events
    }

    /// Waits until the audit log has what was asked before now: the server writes a line after it has answered.
    fn settle(&self, since: Mark) {
        static ASKED: AtomicU64 = AtomicU64::new(0);
        let number = ASKED.fetch_add(1, Ordering::Relaxed);
        let question = format!("/api/v1/namespaces/{}?mark={number}", self.on.name);
        self.on.cluster.api().read(&question).expect("because the namespace is there");
        eventually("the audit log has the latest request", || {
            !self.on.cluster.events_since(since, &question).is_empty()
        });
    }

    /// What was asked to be changed, in order: dry runs too, but no reviews and no Events.
    pub(crate) fn sent(&self, since: Mark) -> Vec<Write> {
        let mut sent: Vec<_> = self.requests(since).iter().filter_map(Write::of).collect();
        sent.retain(|write| write.resource != "events");
        sent
    }

    /// What was written: everything but reads, reviews and dry runs.
    pub(crate) fn writes(&self, since: Mark) -> Vec<Value> {
        let mut events = self.requests(since);
        events.retain(is_write);
        events
    }

    /// Runs it, and panics unless it wrote nothing and ended so.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, args: &[&str]) -> Told {
        let before = self.on.cluster.mark();
        let told = self.run(args).ends(code);
        // A line that comes late is found after the next run.
        let writes: Vec<_> = self.logged(before).into_iter().filter(is_write).collect();
        assert!(writes.is_empty(), "{args:?} wrote: {writes:#?}");
        assert_eq!(told.outcomes("done").len(), 0, "{}", told.json);
        told
    }

    /// The lines of the journal.
    pub(crate) fn journal(&self, told: &Told) -> Vec<Value> {
        let path = told.json["metadata"]["journal"].as_str().expect("because a receipt names it");
        assert!(Path::new(path).starts_with(self.home.path()), "{path}");
        let text = fs::read_to_string(path).expect("because it was written");
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
    }
}

impl Told {
    pub(crate) fn of(outcome: Outcome) -> Self {
        assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
        let json = match outcome.stdout.trim() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")),
        };
        Self { json, stderr: outcome.stderr, code: outcome.code }
    }

    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{:#}", self.stderr, self.json);
        self
    }

    /// Panics unless it says this on stderr.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "does not say {word:?}: {}", self.stderr);
        }
        self
    }

    pub(crate) fn listed(&self, list: &str) -> &[Value] {
        self.json[list].as_array().map_or(&[], Vec::as_slice)
    }

    /// The names of all objects that came to this end, in order.
    pub(crate) fn outcomes(&self, outcome: &str) -> Vec<&str> {
        let changes = self.listed("changes").iter().filter(|it| it["outcome"] == outcome);
        changes.map(name_of).collect()
    }

    /// The names of all objects that would be changed, or were to be, in order.
    pub(crate) fn changes(&self) -> Vec<&str> {
        self.listed("changes").iter().map(name_of).collect()
    }

    /// The names of all objects that were refused before anything was begun, in order.
    pub(crate) fn refusals(&self) -> Vec<&str> {
        self.listed("refusals").iter().map(name_of).collect()
    }

    /// Why an object was refused, before or while it was being changed.
    pub(crate) fn reason(&self, name: &str) -> &str {
        let refused = self.listed("refusals").iter().find(|it| name_of(it) == name);
        let refused = refused.map(|it| &it["reason"]);
        let stopped = self.listed("changes").iter().find(|it| name_of(it) == name);
        let reason = refused.or(stopped.map(|it| &it["detail"])).and_then(Value::as_str);
        reason.unwrap_or_else(|| panic!("nothing about {name}: {:#}", self.json))
    }
}

/// Whether a request changes anything: reads, access reviews and dry runs do not.
fn is_write(event: &Value) -> bool {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let reads = ["get", "list", "watch"].contains(&&*text(&event["verb"]));
    let review = text(&event["objectRef"]["resource"]).ends_with("accessreviews");
    // The options of a deletion are in its body.
    let dry = text(&event["requestURI"]).contains("dryRun=All")
        || event["requestObject"]["dryRun"][0] == "All";
    !reads && !review && !dry
}

fn name_of(entry: &Value) -> &str {
    entry["object"]["name"].as_str().expect("because every entry names its object")
}

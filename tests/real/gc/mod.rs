//! `gc`, `retain` and `apply` against real controllers: what they refuse, what they send, and what is gone afterwards.

mod bounds;
mod kept;
mod refused;
mod reclaimed;
mod reserved;
mod retained;
mod saved;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Mark, PersistentVolume, Run, Scenario, eventually, shared};

/// Somebody who writes. Each acts under a name of their own, so that what is done on a cluster that many share can be
/// told apart; the journal of one run is there for the next.
struct Admin<'a> {
    on: &'a Scenario<'a>,
    name: String,
    groups: &'a [&'a str],
    home: tempfile::TempDir,
}

/// What a run said.
struct Told {
    /// The plan or the receipt; null when there is none.
    json: Value,
    stderr: String,
    code: Option<i32>,
}

impl<'a> Admin<'a> {
    /// Somebody who may do anything.
    fn of(on: &'a Scenario<'a>) -> Self {
        Self::named(on, "admin", &["--as-group", "system:masters"])
    }

    /// Somebody who may read all that `gc` reads, but for some resources, and may do this to volumes.
    fn limited(on: &'a Scenario<'a>, name: &str, without: &[&str], verbs: &[&str]) -> Self {
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
        let read: Vec<_> = READ.into_iter().filter(|it| !without.contains(it)).collect();
        on.cluster.grant(&admin.name, &json!([
            {"apiGroups": ["*"], "resources": read, "verbs": ["get", "list", "watch"]},
            {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
            {"apiGroups": [""], "resources": ["persistentvolumes"], "verbs": verbs},
        ]));
        admin
    }

    fn named(on: &'a Scenario<'a>, name: &str, groups: &'a [&'a str]) -> Self {
        let home = tempfile::tempdir().expect("because the temporary folder is writable");
        Self { on, name: on.named(name), groups, home }
    }

    /// Runs the tool in this name, with nobody at the terminal.
    fn run(&self, args: &[&str]) -> Told {
        self.run_at(self.home.path(), args)
    }

    /// The same, with the journal somewhere else.
    fn run_at(&self, state: &Path, args: &[&str]) -> Told {
        let outcome = Run::of(args)
            .more(&["-o", "json", "--as", &self.name])
            .more(self.groups)
            .kubeconfig(self.on.cluster.kubeconfig())
            .env("XDG_STATE_HOME", state)
            .go();
        assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
        let json = match outcome.stdout.trim() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")),
        };
        Told { json, stderr: outcome.stderr, code: outcome.code }
    }

    /// What was asked of the API server in this name since.
    fn requests(&self, since: Mark) -> Vec<Value> {
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
        self.on.cluster.kubectl(&["get", "--raw", &question]);
        eventually("the audit log has the latest request", || {
            !self.on.cluster.events_since(since, &question).is_empty()
        });
    }

    /// What was written: everything but reads, reviews and dry runs.
    fn writes(&self, since: Mark) -> Vec<Value> {
        let mut events = self.requests(since);
        events.retain(is_write);
        events
    }

    /// Runs it, and panics unless it wrote nothing and ended so.
    #[track_caller]
    fn refused(&self, code: i32, args: &[&str]) -> Told {
        let before = self.on.cluster.mark();
        let told = self.run(args).ends(code);
        // A line that comes late is found after the next run.
        let writes: Vec<_> = self.logged(before).into_iter().filter(is_write).collect();
        assert!(writes.is_empty(), "{args:?} wrote: {writes:#?}");
        assert_eq!(told.outcomes("done").len(), 0, "{}", told.json);
        told
    }

    /// The lines of the journal.
    fn journal(&self, told: &Told) -> Vec<Value> {
        let path = told.json["metadata"]["journal"].as_str().expect("because a receipt names it");
        assert!(Path::new(path).starts_with(self.home.path()), "{path}");
        let text = fs::read_to_string(path).expect("because it was written");
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
    }
}

impl Told {
    #[track_caller]
    fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{:#}", self.stderr, self.json);
        self
    }

    /// Panics unless it says this on stderr.
    #[track_caller]
    fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "does not say {word:?}: {}", self.stderr);
        }
        self
    }

    fn listed(&self, list: &str) -> &[Value] {
        self.json[list].as_array().map_or(&[], Vec::as_slice)
    }

    /// The names of all objects that came to this end, in order.
    fn outcomes(&self, outcome: &str) -> Vec<&str> {
        let changes = self.listed("changes").iter().filter(|it| it["outcome"] == outcome);
        changes.map(name_of).collect()
    }

    /// The names of all objects that would be changed, or were to be, in order.
    fn changes(&self) -> Vec<&str> {
        self.listed("changes").iter().map(name_of).collect()
    }

    /// The names of all objects that were refused before anything was begun, in order.
    fn refusals(&self) -> Vec<&str> {
        self.listed("refusals").iter().map(name_of).collect()
    }

    /// Why an object was refused, before or while it was being changed.
    fn reason(&self, name: &str) -> &str {
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

/// A volume of the shared driver whose claim, named like it, is gone. The driver's provisioner would delete it.
fn left(on: &Scenario, name: &str) -> PersistentVolume {
    let driver = shared().driver();
    let name = on.named(name);
    driver.make(&name);
    let volume = PersistentVolume::csi(&name, &driver.name, &name).left_by(&on.name, &name);
    volume.provisioned_by(&driver.name).class(&driver.class_retain)
}

/// Creates volumes and waits until they have been Released for longer than `--older-than 1s` asks for.
fn release(on: &Scenario, volumes: &[&PersistentVolume]) {
    let items: Vec<_> = volumes.iter().map(|it| &it.0).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let made = on.cluster.try_kubectl(&["create", "-f", "-"], &list);
    made.unwrap_or_else(|error| panic!("kubectl create: {error}"));
    on.remember_volumes();
    let name = |it: &&&PersistentVolume| {
        format!("pv/{}", it.0["metadata"]["name"].as_str().unwrap_or_default())
    };
    let names: Vec<_> = volumes.iter().map(|it| name(&it)).collect();
    wait_released(on, &names.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Waits until volumes have been Released for longer than `--older-than 1s` asks for.
fn wait_released(on: &Scenario, objects: &[&str]) {
    let wait = ["wait", "--for=jsonpath={.status.phase}=Released", "--timeout=45s"];
    on.cluster.kubectl(&[&wait[..], objects].concat());
    sleep(Duration::from_millis(2100));
}

fn policy(on: &Scenario, name: &str) -> String {
    let volume = on.read(&format!("pv/{name}"));
    volume["spec"]["persistentVolumeReclaimPolicy"].as_str().unwrap_or_default().to_owned()
}

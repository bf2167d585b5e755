//! What really happened: every revision of every pod, claim and volume, as watches bring them, and every request, as the
//! audit log has it.
//!
//! What proves which order. All stamps are of one clock: API server and test run on one machine.
//! - An event of a watch arrives after its revision is committed. So what arrived before the API server received a LIST
//!   was committed before that LIST began; and a LIST without a resourceVersion has everything that was.
//! - A request changes nothing before the API server has received it (`requestReceivedTimestamp`) and everything that it
//!   does is committed when its answer is complete (`stageTimestamp` of `ResponseComplete`).
//! - Revisions of all kinds have one order (`resourceVersion`, of one etcd).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::TryStreamExt;
use http::Request;
use kube::Client;
use kube::api::WatchEvent;
use serde_json::Value;
use tokio::sync::watch;

use super::case::Stage;

/// How often the audit log is looked at.
const GLANCE: Duration = Duration::from_millis(2);
/// What is watched.
const WATCHED: [&str; 3] = ["pods", "persistentvolumeclaims", "persistentvolumes"];

/// Everything that happened since the beginning.
pub(super) struct History {
    revisions: Mutex<BTreeMap<String, Vec<Revision>>>,
    requests: Mutex<BTreeMap<String, Vec<Value>>>,
    news: watch::Sender<()>,
    /// The cluster is being stopped.
    over: AtomicBool,
}

/// An object as it was for a while.
#[derive(Debug, Clone)]
pub(super) struct Revision {
    pub(super) resource: &'static str,
    pub(super) version: u64,
    /// When it was heard of.
    pub(super) at: DateTime<Utc>,
    /// It was the last.
    pub(super) gone: bool,
    pub(super) object: Value,
}

impl Revision {
    pub(super) fn name(&self) -> &str {
        text(&self.object["metadata"]["name"])
    }

    pub(super) fn uid(&self) -> &str {
        text(&self.object["metadata"]["uid"])
    }

    /// Somebody has asked for its deletion.
    pub(super) fn terminating(&self) -> bool {
        self.gone || !self.object["metadata"]["deletionTimestamp"].is_null()
    }
}

impl History {
    /// Begins to take notes of the namespaces whose names begin so, as long as the runtime lives.
    pub(super) async fn begin(client: Client, audit_log: &Path, prefix: &'static str) -> Arc<Self> {
        let history = Arc::new(Self {
            revisions: Mutex::default(),
            requests: Mutex::default(),
            news: watch::Sender::new(()),
            over: AtomicBool::new(false),
        });
        let file = File::open(audit_log).expect("because every cluster has an audit log");
        let reader = Arc::downgrade(&history);
        thread::spawn(move || {
            let (mut file, mut line) = (BufReader::new(file), String::new());
            while let Some(history) = reader.upgrade() {
                // What does not end with a newline is still being written.
                match file.read_line(&mut line) {
                    Ok(read) if read > 0 && line.ends_with('\n') => {
                        history.take_line(&line, prefix);
                        line.clear();
                    }
                    _ => thread::sleep(GLANCE),
                }
            }
        });
        for resource in WATCHED {
            let list: Value =
                client.request(get(&format!("/api/v1/{resource}"))).await.expect("a list");
            let version = text(&list["metadata"]["resourceVersion"]).to_owned();
            let follow = Arc::clone(&history).follow(client.clone(), resource, version, prefix);
            tokio::spawn(follow);
        }
        history
    }

    async fn follow(
        self: Arc<Self>,
        client: Client,
        resource: &'static str,
        mut version: String,
        prefix: &str,
    ) {
        loop {
            let path = format!("/api/v1/{resource}?watch=true&resourceVersion={version}");
            let events = match client.request_events::<Value>(get(&path)).await {
                Ok(events) => events,
                Err(_) if self.over.load(Relaxed) => return,
                Err(error) => panic!("{resource} cannot be watched: {error}"),
            };
            let mut events = std::pin::pin!(events);
            while let Ok(Some(event)) = events.try_next().await {
                let gone = matches!(event, WatchEvent::Deleted(_));
                match event {
                    WatchEvent::Added(object)
                    | WatchEvent::Modified(object)
                    | WatchEvent::Deleted(object) => {
                        text(&object["metadata"]["resourceVersion"]).clone_into(&mut version);
                        self.take_object(resource, object, gone, prefix);
                    }
                    WatchEvent::Bookmark(_) => {}
                    WatchEvent::Error(error) => panic!("the watch missed something: {error:?}"),
                }
            }
        }
    }

    fn take_object(&self, resource: &'static str, mut object: Value, gone: bool, prefix: &str) {
        let namespace = match text(&object["metadata"]["namespace"]) {
            "" => text(&object["spec"]["claimRef"]["namespace"]),
            namespace => namespace,
        };
        if !namespace.starts_with(prefix) {
            return;
        }
        let namespace = namespace.to_owned();
        object["metadata"]["managedFields"].take();
        let version = text(&object["metadata"]["resourceVersion"]).parse();
        let version = version.expect("because etcd counts");
        let revision = Revision { resource, version, at: Utc::now(), gone, object };
        lock(&self.revisions).entry(namespace).or_default().push(revision);
        self.news.send_replace(());
    }

    fn take_line(&self, line: &str, prefix: &str) {
        let Some((_, rest)) = line.split_once(&format!("\"{prefix}")) else { return };
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let event: Value = serde_json::from_str(line).expect("because a line of it is JSON");
        lock(&self.requests).entry(format!("{prefix}{digits}")).or_default().push(event);
        self.news.send_replace(());
    }

    /// Every request about a namespace, or in the name of one of its runs, in the order in which they were answered.
    pub(super) fn requests(&self, namespace: &str) -> Vec<Value> {
        lock(&self.requests).get(namespace).cloned().unwrap_or_default()
    }

    /// Every revision of what is in a namespace, and of volumes of claims there.
    pub(super) fn revisions(&self, namespace: &str) -> Vec<Revision> {
        lock(&self.revisions).get(namespace).cloned().unwrap_or_default()
    }

    /// How much is known of a namespace.
    pub(super) fn length(&self, namespace: &str) -> usize {
        lock(&self.revisions).get(namespace).map_or(0, Vec::len)
    }

    /// Waits until something is so.
    pub(super) async fn until(&self, mut so: impl FnMut(&Self) -> bool) {
        let mut news = self.news.subscribe();
        while !so(self) {
            news.changed().await.expect("because the sender lives in self");
        }
    }

    /// Waits until a run has come to a stage of its work.
    pub(super) async fn reached(&self, namespace: &str, user: &str, stage: Stage) {
        self.until(|it| {
            let requests = lock(&it.requests);
            let requests = requests.get(namespace).map_or(&[][..], Vec::as_slice);
            let mut by = requests.iter().filter(|it| is_by(it, user));
            match stage {
                Stage::Relisted => {
                    by.any(|it| shows(it, Stage::Patched)) && by.any(|it| shows(it, Stage::Listed))
                }
                _ => by.any(|it| shows(it, stage)),
            }
        })
        .await;
    }

    /// Takes no more notes.
    pub(super) fn end(&self) {
        self.over.store(true, Relaxed);
    }

    /// Forgets a case, so that a long run does not grow.
    pub(super) fn forget(&self, namespace: &str) {
        lock(&self.requests).remove(namespace);
        lock(&self.revisions).remove(namespace);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("because no holder panics")
}

fn get(path: &str) -> Request<Vec<u8>> {
    Request::get(path).body(Vec::new()).expect("because paths are plain")
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn shows(event: &Value, stage: Stage) -> bool {
    let resource = text(&event["objectRef"]["resource"]);
    let verb = text(&event["verb"]);
    match stage {
        Stage::Listed | Stage::Relisted => {
            let here = text(&event["requestURI"]).contains("/namespaces/");
            verb == "list" && resource == "pods" && here
        }
        Stage::Rehearsed => verb == "delete" && is_dry(event),
        Stage::Patched => verb == "patch" && resource == "persistentvolumes" && is_real(event),
        Stage::Deleted => verb == "delete" && is_real(event),
        Stage::Over => text(&event["requestURI"]).starts_with("/version?over="),
    }
}

/// Whether a run acted so.
pub(super) fn is_by(event: &Value, user: &str) -> bool {
    event["impersonatedUser"]["username"] == user
}

/// Whether it changes anything, or would if it were no dry run. Reviews are questions, and Events tell.
pub(super) fn is_write(event: &Value) -> bool {
    let resource = text(&event["objectRef"]["resource"]);
    let reads = ["get", "list", "watch"].contains(&text(&event["verb"]));
    !reads && !resource.ends_with("reviews") && resource != "events"
}

/// Whether the server only looked at it: the query says so, or the options of a deletion.
pub(super) fn is_dry(event: &Value) -> bool {
    text(&event["requestURI"]).contains("dryRun=All")
        || event["requestObject"]["dryRun"][0] == "All"
}

pub(super) fn is_real(event: &Value) -> bool {
    is_write(event) && !is_dry(event)
}

/// Whether the server did it.
pub(super) fn succeeded(event: &Value) -> bool {
    event["responseStatus"]["code"].as_u64().is_some_and(|code| code < 300)
}

/// When the server had it.
pub(super) fn received(event: &Value) -> DateTime<Utc> {
    stamp(&event["requestReceivedTimestamp"])
}

/// When it was answered.
pub(super) fn answered(event: &Value) -> DateTime<Utc> {
    stamp(&event["stageTimestamp"])
}

fn stamp(value: &Value) -> DateTime<Utc> {
    text(value).parse().expect("because the audit log stamps every line")
}

//! What really happened: every revision of objects, as watches bring them, and every request, as the audit log has it.
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
use kubectl_storage::client::{ConnectionOptions, connect};
use serde_json::Value;
use tokio::sync::watch;

use super::Cluster;

/// How often the audit log is looked at.
const GLANCE: Duration = Duration::from_millis(2);

/// What notes are taken of.
#[derive(Clone, Copy)]
pub(crate) struct Noted {
    /// The resources of the core group that are watched.
    pub(crate) watched: &'static [&'static str],
    /// How the names of cases begin; digits follow.
    pub(crate) prefix: &'static str,
    /// Of which case an object is, if of any.
    pub(crate) case: fn(&Value) -> Option<String>,
    /// Whether a line of the audit log is of any interest.
    pub(crate) line: fn(&str) -> bool,
}

/// Everything that happened since the beginning, by case.
pub(crate) struct History {
    noted: Noted,
    revisions: Mutex<BTreeMap<String, Vec<Revision>>>,
    requests: Mutex<BTreeMap<String, Vec<Value>>>,
    news: watch::Sender<()>,
    /// The cluster is being stopped.
    over: AtomicBool,
}

/// An object as it was for a while.
#[derive(Debug, Clone)]
pub(crate) struct Revision {
    pub(crate) resource: &'static str,
    pub(crate) version: u64,
    /// When it was heard of.
    pub(crate) at: DateTime<Utc>,
    /// It was the last.
    pub(crate) gone: bool,
    pub(crate) object: Value,
}

impl Revision {
    pub(crate) fn name(&self) -> &str {
        text(&self.object["metadata"]["name"])
    }

    pub(crate) fn uid(&self) -> &str {
        text(&self.object["metadata"]["uid"])
    }

    /// Somebody has asked for its deletion.
    pub(crate) fn terminating(&self) -> bool {
        self.gone || !self.object["metadata"]["deletionTimestamp"].is_null()
    }
}

impl History {
    /// Begins to take notes of a cluster, as long as the runtime lives; also returns a way to the cluster.
    pub(crate) async fn begin(cluster: &Cluster, noted: Noted) -> (Client, Arc<Self>) {
        let options = ConnectionOptions {
            kubeconfig: Some(cluster.kubeconfig().to_owned()),
            ..ConnectionOptions::default()
        };
        let connection = connect(&options, "history").await.expect("the cluster has started");
        let client = connection.client.clone();
        let history = Self::begin_by(client.clone(), cluster.audit_log_file(), noted).await;
        (client, history)
    }

    async fn begin_by(client: Client, audit_log: &Path, noted: Noted) -> Arc<Self> {
        let history = Arc::new(Self {
            noted,
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
                        history.take_line(&line);
                        line.clear();
                    }
                    _ => thread::sleep(GLANCE),
                }
            }
        });
        for resource in noted.watched.iter().copied() {
            let list: Value =
                client.request(get(&format!("/api/v1/{resource}"))).await.expect("a list");
            let version = text(&list["metadata"]["resourceVersion"]).to_owned();
            let follow = Arc::clone(&history).follow(client.clone(), resource, version);
            tokio::spawn(follow);
        }
        history
    }

    async fn follow(self: Arc<Self>, client: Client, resource: &'static str, mut version: String) {
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
                        self.take_object(resource, object, gone);
                    }
                    WatchEvent::Bookmark(_) => {}
                    WatchEvent::Error(error) => panic!("the watch missed something: {error:?}"),
                }
            }
        }
    }

    fn take_object(&self, resource: &'static str, mut object: Value, gone: bool) {
        let Some(case) = (self.noted.case)(&object) else { return };
        object["metadata"]["managedFields"].take();
        let version = text(&object["metadata"]["resourceVersion"]).parse();
        let version = version.expect("because etcd counts");
        let revision = Revision { resource, version, at: Utc::now(), gone, object };
        lock(&self.revisions).entry(case).or_default().push(revision);
        self.news.send_replace(());
    }

    fn take_line(&self, line: &str) {
        let prefix = self.noted.prefix;
        let Some((_, rest)) = line.split_once(&format!("\"{prefix}")) else { return };
        if !(self.noted.line)(line) {
            return;
        }
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let event: Value = serde_json::from_str(line).expect("because a line of it is JSON");
        lock(&self.requests).entry(format!("{prefix}{digits}")).or_default().push(event);
        self.news.send_replace(());
    }

    /// Every request about a case, or in the name of one of its runs, in the order in which they were answered.
    pub(crate) fn requests(&self, case: &str) -> Vec<Value> {
        lock(&self.requests).get(case).cloned().unwrap_or_default()
    }

    /// Whether there is a request of a case that is so.
    pub(crate) fn any_request(&self, case: &str, so: impl FnMut(&Value) -> bool) -> bool {
        lock(&self.requests).get(case).is_some_and(|it| it.iter().any(so))
    }

    /// Waits until there is a request of a case that is so.
    pub(crate) async fn request(&self, case: &str, mut so: impl FnMut(&Value) -> bool) {
        let mut looked = 0;
        self.until(|it| {
            let requests = lock(&it.requests);
            let new = requests.get(case).and_then(|it| it.get(looked..)).unwrap_or_default();
            looked += new.len();
            new.iter().any(&mut so)
        })
        .await;
    }

    /// Every revision of the objects of a case.
    pub(crate) fn revisions(&self, case: &str) -> Vec<Revision> {
        lock(&self.revisions).get(case).cloned().unwrap_or_default()
    }

    /// How much is known of the objects of a case.
    pub(crate) fn length(&self, case: &str) -> usize {
        lock(&self.revisions).get(case).map_or(0, Vec::len)
    }

    /// Waits until something is so.
    pub(crate) async fn until(&self, mut so: impl FnMut(&Self) -> bool) {
        let mut news = self.news.subscribe();
        while !so(self) {
            news.changed().await.expect("because the sender lives in self");
        }
    }

    /// Takes no more notes.
    pub(crate) fn end(&self) {
        self.over.store(true, Relaxed);
    }

    /// Forgets of objects that are of all cases what was before a time.
    pub(crate) fn forget_until(&self, case: &str, time: DateTime<Utc>) {
        if let Some(revisions) = lock(&self.revisions).get_mut(case) {
            let last = revisions.len().saturating_sub(1);
            let end = revisions.iter().position(|it| it.at >= time).unwrap_or(last);
            revisions.drain(..end.min(last));
        }
    }

    /// Forgets a case, so that a long run does not grow.
    pub(crate) fn forget(&self, case: &str) {
        lock(&self.requests).remove(case);
        lock(&self.revisions).remove(case);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("because no holder panics")
}

fn get(path: &str) -> Request<Vec<u8>> {
    Request::get(path).body(Vec::new()).expect("because paths are plain")
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The namespace of an object; of a volume, that of its claim.
pub(crate) fn namespace_of(object: &Value) -> &str {
    match text(&object["metadata"]["namespace"]) {
        "" => text(&object["spec"]["claimRef"]["namespace"]),
        namespace => namespace,
    }
}

/// Whether a run acted so.
pub(crate) fn is_by(event: &Value, user: &str) -> bool {
    event["impersonatedUser"]["username"] == user
}

/// Whether it changes anything, or would if it were no dry run. Reviews are questions, and Events tell.
pub(crate) fn is_write(event: &Value) -> bool {
    let resource = text(&event["objectRef"]["resource"]);
    let reads = ["get", "list", "watch"].contains(&text(&event["verb"]));
    !reads && !resource.ends_with("reviews") && resource != "events"
}

/// Whether the server only looked at it: the query says so, or the options of a deletion.
pub(crate) fn is_dry(event: &Value) -> bool {
    text(&event["requestURI"]).contains("dryRun=All")
        || event["requestObject"]["dryRun"][0] == "All"
}

pub(crate) fn is_real(event: &Value) -> bool {
    is_write(event) && !is_dry(event)
}

/// Whether the server did it.
pub(crate) fn succeeded(event: &Value) -> bool {
    event["responseStatus"]["code"].as_u64().is_some_and(|code| code < 300)
}

/// When the server had it.
pub(crate) fn received(event: &Value) -> DateTime<Utc> {
    stamp(&event["requestReceivedTimestamp"])
}

/// When it was answered.
pub(crate) fn answered(event: &Value) -> DateTime<Utc> {
    stamp(&event["stageTimestamp"])
}

fn stamp(value: &Value) -> DateTime<Utc> {
    text(value).parse().expect("because the audit log stamps every line")
}

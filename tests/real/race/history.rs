//! What really happened: every revision of every volume, as a watch brings them, and every request of the tool, as the
//! audit log has them.
//!
//! The audit log has no answers, and its lines come in the order in which requests end. The watch has every revision in
//! the order in which they were written: the one that our patch tests is the one that it was applied to.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use futures::TryStreamExt;
use http::Request;
use kube::Client;
use kube::api::WatchEvent;
use serde_json::Value;
use tokio::sync::watch;

use super::case::Stage;

/// How often the audit log is looked at.
const GLANCE: Duration = Duration::from_millis(2);

/// Everything that happened since the beginning.
pub(super) struct History {
    volumes: Mutex<BTreeMap<String, Vec<Revision>>>,
    requests: Mutex<BTreeMap<String, Vec<Value>>>,
    news: watch::Sender<()>,
}

/// A volume as it was for a while.
#[derive(Debug, Clone)]
pub(super) struct Revision {
    pub(super) version: String,
    pub(super) object: Value,
}

impl History {
    /// Begins to take notes, as long as the runtime lives.
    pub(super) async fn begin(client: Client, audit_log: &Path) -> Arc<Self> {
        let history = Arc::new(Self {
            volumes: Mutex::default(),
            requests: Mutex::default(),
            news: watch::Sender::new(()),
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
        let list: Value = client.request(get("/api/v1/persistentvolumes")).await.expect("a list");
        let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        tokio::spawn(Arc::clone(&history).follow(client, version));
        history
    }

    async fn follow(self: Arc<Self>, client: Client, mut version: String) {
        loop {
            let path = format!("/api/v1/persistentvolumes?watch=true&resourceVersion={version}");
            let events = client.request_events::<Value>(get(&path)).await.expect("a watch");
            let mut events = std::pin::pin!(events);
            while let Ok(Some(event)) = events.try_next().await {
                match event {
                    WatchEvent::Added(object)
                    | WatchEvent::Modified(object)
                    | WatchEvent::Deleted(object) => version = self.take_volume(object),
                    WatchEvent::Bookmark(_) => {}
                    WatchEvent::Error(error) => panic!("the watch missed something: {error:?}"),
                }
            }
        }
    }

    fn take_volume(&self, mut object: Value) -> String {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (name, version) = (text("name"), text("resourceVersion"));
        object["metadata"]["managedFields"].take();
        let revision = Revision { version: version.clone(), object };
        lock(&self.volumes).entry(name).or_default().push(revision);
        self.news.send_replace(());
        version
    }

    fn take_line(&self, line: &str) {
        if !line.contains("\"impersonatedUser\":{\"username\":\"race-") {
            return;
        }
        let event: Value = serde_json::from_str(line).expect("because a line of it is JSON");
        let user = event["impersonatedUser"]["username"].as_str().unwrap_or_default().to_owned();
        lock(&self.requests).entry(user).or_default().push(event);
        self.news.send_replace(());
    }

    /// Everything that was asked in this name, in the order in which it was answered.
    pub(super) fn requests(&self, user: &str) -> Vec<Value> {
        lock(&self.requests).get(user).cloned().unwrap_or_default()
    }

    /// Every revision of the volumes of this name.
    pub(super) fn revisions(&self, name: &str) -> Vec<Revision> {
        lock(&self.volumes).get(name).cloned().unwrap_or_default()
    }

    /// Waits until something is so.
    pub(super) async fn until(&self, mut so: impl FnMut(&Self) -> bool) {
        let mut news = self.news.subscribe();
        while !so(self) {
            news.changed().await.expect("because the sender lives in self");
        }
    }

    /// Waits until the tool has come to a stage of its work on a volume.
    pub(super) async fn reached(&self, user: &str, volume: &str, stage: Stage) {
        self.until(|it| {
            let requests = lock(&it.requests);
            let requests = requests.get(user).map_or(&[][..], Vec::as_slice);
            requests.iter().any(|it| shows(it, volume, stage))
        })
        .await;
    }

    /// Forgets a case, so that a long run does not grow.
    pub(super) fn forget(&self, user: &str) {
        lock(&self.requests).remove(user);
        let of_it = format!("{user}-");
        lock(&self.volumes).retain(|name, _| !name.starts_with(&of_it));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("because no holder panics")
}

fn get(path: &str) -> Request<Vec<u8>> {
    Request::get(path).body(Vec::new()).expect("because paths are plain")
}

fn shows(event: &Value, volume: &str, stage: Stage) -> bool {
    let about = event["objectRef"]["resource"] == "persistentvolumes"
        && event["objectRef"]["name"] == volume;
    about
        && match stage {
            Stage::Looked => event["verb"] == "get",
            Stage::Rehearsed => event["verb"] == "patch" && is_dry(event),
            Stage::Patched => event["verb"] == "patch" && !is_dry(event),
        }
}

/// Whether the server only looked at it.
pub(super) fn is_dry(event: &Value) -> bool {
    event["requestURI"].as_str().is_some_and(|uri| uri.contains("dryRun=All"))
}

//! What must be so after a case, whoever came first.
//!
//! A patch that destroys names the revision that it changes, so that everything on the volume is judged by that. What is recorded
//! beside it (the records of announcements and of vetoes, a claim that is back) can change between the last read of it and
//! the patch: it forbids the patch if it forbade it at every moment between.

mod destroyed;
mod journal;
mod sent;
mod story;

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;
use tokio::time::timeout;

use super::case::{Act, Case};
use super::model;
use super::world::World;
use crate::support::history::{Revision, is_real, succeeded, text};

/// Something that somebody did, and what came of it: nothing where its moment never came.
#[derive(Debug, Clone)]
pub(super) struct Did {
    pub(super) volume: String,
    pub(super) act: Act,
    pub(super) result: Option<Result<(), u16>>,
    pub(super) at: DateTime<Utc>,
}

/// Everything that is known after a case.
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    pub(super) case: Case,
    pub(super) did: Vec<Did>,
    /// Of everything in the namespace of the case, its volumes, the records of them, and vetoes, in order.
    pub(super) revisions: Vec<Revision>,
    /// Everything that was asked about it, and by its processes.
    pub(super) requests: Vec<Value>,
    /// The lines of the journal.
    pub(super) journal: Vec<Value>,
    /// Whether the driver still has the volumes, by handle.
    pub(super) backends: BTreeMap<String, bool>,
    /// Whether everything that had to go was gone in time.
    pub(super) settled: bool,
    /// What each process has said.
    pub(super) said: Vec<String>,
}

/// What is to be said of a case.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) counts: BTreeMap<String, u64>,
    /// What should not have been.
    pub(super) wrong: Vec<String>,
    /// What happened, for whoever wants to know how it came to that.
    pub(super) story: String,
}

pub(super) fn judge(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::default();
    verdict.sent(evidence);
    verdict.destroyed(evidence);
    verdict.left(evidence);
    verdict.journal(evidence);
    for did in &evidence.did {
        match did.result {
            Some(Ok(())) => verdict.count(&format!("{:?}", did.act)),
            Some(Err(_)) => verdict.count("acts that the server refused"),
            None => verdict.count("acts whose moment never came"),
        }
    }
    for trouble in &evidence.case.troubles {
        let what = format!("{:?}", trouble.what);
        verdict.count(what.split('(').next().unwrap_or_default());
    }
    if !verdict.wrong.is_empty() {
        verdict.story = story::story(evidence, &verdict.wrong);
    }
    verdict
}

impl Evidence {
    /// Gathers what there is to know after everything has settled.
    pub(super) async fn of(world: &World<'_>, did: Vec<Did>) -> Self {
        let name = &world.name;
        let mut segments = world.list(&format!("/api/v1/namespaces/{name}/configmaps")).await;
        let is_one = |it: &Value| text(&it["metadata"]["name"]).contains("-journal-0");
        segments.retain(is_one);
        segments.sort_by_key(|it| text(&it["metadata"]["name"]).to_owned());
        let texts = segments.iter().map(|it| text(&it["data"]["journal.jsonl"]));
        let lines = texts.flat_map(str::lines);
        let journal = lines.map(|it| serde_json::from_str(it).unwrap_or_default()).collect();
        // The watch has what the audit log has, a moment later.
        let known = world.history.until(|history| {
            let revisions = history.revisions(name);
            let patches = history.requests(name);
            let mut patches = patches.iter().filter(|it| is_patch(it));
            patches.all(|it| written(&revisions, it).is_some())
        });
        let _ = timeout(Duration::from_secs(120), known).await;
        let revisions = model::revisions(world.history, name);
        let volumes = revisions.iter().filter(|it| it.resource == "persistentvolumes");
        let handles = volumes.map(|it| text(&it.object["spec"]["csi"]["volumeHandle"]).to_owned());
        let backends = handles.map(|it| (it.clone(), world.driver.has(&it))).collect();
        Self {
            case: world.case.clone(),
            did,
            requests: world.history.requests(name),
            revisions,
            journal,
            backends,
            settled: true,
            said: Vec::new(),
        }
    }

    pub(super) fn volumes(&self) -> impl Iterator<Item = &Revision> {
        self.revisions.iter().filter(|it| it.resource == "persistentvolumes")
    }

    /// The patches of volumes by the tool that the server carried out.
    fn patches(&self) -> impl Iterator<Item = &Value> {
        self.requests.iter().filter(|it| is_patch(it))
    }
}

/// In whose name a process of the case has asked, if it has.
pub(super) fn process(event: &Value) -> Option<&str> {
    let user = event["impersonatedUser"]["username"].as_str()?;
    user.rsplit_once("-p").filter(|it| it.1.parse::<u32>().is_ok()).map(|_| user)
}

/// Whether a process has patched a volume, and the server did it.
pub(super) fn is_patch(event: &Value) -> bool {
    process(event).is_some()
        && event["verb"] == "patch"
        && event["objectRef"]["resource"] == "persistentvolumes"
        && is_real(event)
        && succeeded(event)
}

/// The value of an operation of a patch.
pub(super) fn operation<'a>(event: &'a Value, what: &str, path: &str) -> Option<&'a Value> {
    let all = event["requestObject"].as_array()?;
    all.iter().find(|it| it["op"] == *what && it["path"] == *path).map(|it| &it["value"])
}

const POLICY: &str = "/spec/persistentVolumeReclaimPolicy";

/// The policy that a patch sets.
pub(super) fn policy(event: &Value) -> Option<&str> {
    operation(event, "replace", POLICY)?.as_str()
}

/// The revision that a patch has changed: it tests its version.
fn tested<'a>(revisions: &'a [Revision], patch: &Value) -> Option<&'a Revision> {
    let version = operation(patch, "test", "/metadata/resourceVersion")?.as_str()?;
    let name = text(&patch["objectRef"]["name"]);
    let mut volumes = revisions.iter().filter(|it| it.resource == "persistentvolumes");
    volumes.find(|it| it.name() == name && it.version.to_string() == *version)
}

/// The revision that a patch has made: the next one.
fn written<'a>(revisions: &'a [Revision], patch: &Value) -> Option<&'a Revision> {
    let before = tested(revisions, patch)?;
    let next = revisions.iter().filter(|it| {
        it.resource == before.resource && it.uid() == before.uid() && it.version > before.version
    });
    next.min_by_key(|it| it.version)
}

impl Verdict {
    fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    fn holds(&mut self, so: bool, what: impl FnOnce() -> String) {
        if !so {
            self.wrong.push(what());
        }
    }
}

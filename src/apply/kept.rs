//! The record of kept backends in the cluster, which is written before the volume object goes: from
//! then on it is all that names the backend volume, whatever becomes of this machine.
//!
//! The record is our own, and one key more or less of it does no harm: unlike everything else that
//! is written, a change of it is made again when somebody else was faster.

use http::Method;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::step::{Ended, Hand, backend};
use super::view::View;
use super::writer::{WriteError, Writer};
use super::{Outcome, Request};
use crate::client::object_path;
use crate::journal::kept::{self, CONFIG_MAP, Record};
use crate::model::{BackendKey, Text};
use crate::plan::Change;

/// How often a change of the record is made again when others are faster.
const TRIES: usize = 8;
const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";
/// What people who find the record are told.
const ABOUT: &str = "Backend volumes that kubectl storage left behind on purpose. No persistent volume names \
                     them any more: this is all that does.";

/// The record in a namespace.
pub(super) struct Keeper<'a> {
    view: &'a View,
    writer: &'a Writer,
    namespace: &'a Text,
    /// Lanes wait for each other: all keys are of one object, and each would make the others' stale.
    turn: Mutex<()>,
}

/// Why the record could not be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RecordError {
    /// The server said no, and would say so again.
    #[error("{0}")]
    Denied(String),
    /// What went wrong is not understood, or goes on for too long.
    #[error("{0}")]
    Failed(String),
}

/// How far a change of the record goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Go {
    /// Only as a dry run.
    Rehearse,
    /// It was rehearsed a moment ago.
    Write,
}

/// What a key of the record said before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Before(Option<String>);

impl<'a> Keeper<'a> {
    pub(super) fn new(view: &'a View, writer: &'a Writer, namespace: &'a Text) -> Self {
        Self { view, writer, namespace, turn: Mutex::new(()) }
    }

    /// Has the server look at what would be written.
    async fn rehearse(&self, record: &Record) -> Result<(), RecordError> {
        let (key, value) = line(record);
        self.change(|live| with(self.namespace, live, &key, &value), Go::Rehearse).await.map(drop)
    }

    /// Writes a record, and tells what was there before.
    async fn write(&self, record: &Record) -> Result<Before, RecordError> {
        let (key, value) = line(record);
        let live = self.change(|live| with(self.namespace, live, &key, &value), Go::Write).await?;
        let before = live.as_ref().and_then(|it| it["data"][&key].as_str());
        // What was written by an attempt that got no answer is our own.
        Ok(Before(before.filter(|it| *it != value).map(str::to_owned)))
    }

    /// Takes a record out again, or puts back what was there before.
    async fn take_out(&self, record: &Record, before: &Before) -> Result<(), RecordError> {
        let (key, value) = line(record);
        let edit =
            |live: Option<&Value>| without(self.namespace, live, &key, &value, before.0.as_deref());
        self.change(edit, Go::Write).await.map(drop)
    }

    /// Drops what the record says of a backend volume that is not left behind any more.
    async fn forget(&self, key: &str) -> Result<(), RecordError> {
        let path = format!("/data/{key}");
        let edit = |live: Option<&Value>| {
            let live = live.filter(|it| it["data"].get(key).is_some())?;
            Some(patch(self.namespace, live, [json!({"op": "remove", "path": &path})]))
        };
        self.change(edit, Go::Write).await.map(drop)
    }

    /// Makes a change until it is made, and returns what it was made to. `edit` renders it, or says
    /// that there is nothing to do.
    async fn change(
        &self,
        edit: impl Fn(Option<&Value>) -> Option<Request>,
        go: Go,
    ) -> Result<Option<Value>, RecordError> {
        let _turn = self.turn.lock().await;
        let mut invalid: Option<(Value, String)> = None;
        let mut last = String::new();
        for attempt in 0..TRIES {
            let live = self.read().await?;
            if let Some((version, message)) = &invalid
                && *version == version_of(live.as_ref())
            {
                // Nobody else was there first: it is what is written that is not accepted.
                return Err(RecordError::Denied(format!("{}: {message}", self.shown())));
            }
            let Some(request) = edit(live.as_ref()) else { return Ok(live) };
            let mut sent = Ok(());
            if go == Go::Rehearse || attempt > 0 {
                sent = self.writer.send(&request, true).await.map(drop);
            }
            if go == Go::Write && sent.is_ok() {
                sent = self.writer.send(&request, false).await.map(drop);
            }
            let Err(error) = sent else { return Ok(live) };
            last = self.judge(&request, &error)?;
            if matches!(error, WriteError::Rejected { code: 422, .. }) {
                invalid = Some((version_of(live.as_ref()), last.clone()));
            }
        }
        Err(RecordError::Failed(format!("{}: {last}, {TRIES} times", self.shown())))
    }

    /// Whether a change that was not made can be made to what is there now: then, why it was not.
    fn judge(&self, request: &Request, error: &WriteError) -> Result<String, RecordError> {
        let created = request.method == Method::POST;
        match error {
            WriteError::Rejected { code: 409 | 422, message, .. } => Ok(message.clone()),
            WriteError::Rejected { code: 404, message, .. } => match created {
                true => Err(self.denied(message, "create")),
                false => Ok(message.clone()),
            },
            WriteError::Rejected { code: 403, message, .. } => {
                Err(self.denied(message, if created { "create" } else { "patch" }))
            }
            WriteError::Rejected { code: 429, .. } | WriteError::NotSent(_) => {
                Err(RecordError::Failed(format!("{}: {error}", self.shown())))
            }
            WriteError::Rejected { .. } => {
                Err(RecordError::Denied(format!("{}: {error}", self.shown())))
            }
            // Whether it was carried out is seen when it is read again.
            WriteError::Unanswered(detail) => Ok(detail.clone()),
        }
    }

    async fn read(&self) -> Result<Option<Value>, RecordError> {
        match self.view.get(&paths(self.namespace).1).await {
            Ok(live) => Ok(live),
            Err(error) if error.is_forbidden() => Err(self.denied(&error.to_string(), "get")),
            Err(error) => Err(RecordError::Failed(format!("{}: {error}", self.shown()))),
        }
    }

    /// Names the right that is lacking, with the server's own words: admission says no as well.
    fn denied(&self, message: &str, verb: &str) -> RecordError {
        let (shown, namespace) = (self.shown(), self.namespace);
        RecordError::Denied(format!(
            "{shown}: {message} (what is needed is get, create and patch of configmaps in namespace \
             {namespace}; refused was {verb})"
        ))
    }

    fn shown(&self) -> String {
        format!("configmap {}/{CONFIG_MAP}", self.namespace)
    }
}

impl Hand<'_> {
    /// Has the server look at the record that a change needs; nothing for one that needs none.
    pub(super) async fn rehearse_record(
        &self,
        change: &Change,
        live: &Value,
    ) -> Result<Option<Record>, Ended> {
        let Some(keeper) = self.keeper.as_ref().filter(|_| change.proposal.keeps_backend) else {
            return Ok(None);
        };
        let Some(backend) = backend(change) else {
            return Err(Ended::new(Outcome::Refused, "what it names at the backend is not known"));
        };
        let record = Record::of(&backend, live, self.run, self.view.clock());
        match keeper.rehearse(&record).await {
            Ok(()) => Ok(Some(record)),
            Err(error) => Err(unrecorded(&error)),
        }
    }

    /// Writes the record that a change needs, with its entry in the journal.
    pub(super) async fn keep_record(
        &self,
        record: Option<Record>,
        entry: u64,
    ) -> Result<Option<(Record, Before)>, Ended> {
        let (Some(keeper), Some(record)) = (&self.keeper, record) else { return Ok(None) };
        let record = Record { entry: Some(entry), ..record };
        match keeper.write(&record).await {
            Ok(before) => Ok(Some((record, before))),
            Err(error) => Err(unrecorded(&error)),
        }
    }

    /// Takes the record of a change back that was not made. `Err` is what is left, and wrong.
    pub(super) async fn take_record_back(
        &self,
        kept: Option<&(Record, Before)>,
    ) -> Result<(), String> {
        let (Some(keeper), Some((record, before))) = (&self.keeper, kept) else { return Ok(()) };
        keeper.take_out(record, before).await.map_err(|error| {
            format!(
                "the record says that the backend volume of pv/{} was kept, which is not so, and \
                 could not be taken back: {error}",
                record.volume
            )
        })
    }
}

impl Hand<'_> {
    /// Drops the record of a backend volume that was destroyed, or that a volume names again.
    /// Returns what is left, and wrong.
    pub(super) async fn end_record(&self, change: &Change) -> Option<String> {
        let key = change.about.backend.as_ref().filter(|_| change.purpose.ends_keeping())?;
        match self.view.is_recorded(key) {
            true => self.forget(key).await,
            false => None,
        }
    }

    /// Drops the record of a backend volume, whether it was seen or not.
    pub(super) async fn forget(&self, key: &BackendKey) -> Option<String> {
        let keeper = self.keeper.as_ref()?;
        let error = keeper.forget(&kept::key(&key.driver, &key.handle)).await.err()?;
        Some(format!(
            "the record still says that volume {} of {} was kept, which is not so any more: {error}",
            key.handle, key.driver
        ))
    }
}

fn line(record: &Record) -> (String, String) {
    (record.key(), json!(record).to_string())
}

/// Renders what puts a key into the record.
fn with(namespace: &str, live: Option<&Value>, key: &str, value: &str) -> Option<Request> {
    let Some(live) = live else {
        return Some(Request {
            method: Method::POST,
            path: paths(namespace).0,
            content_type: JSON,
            body: json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {
                    "name": CONFIG_MAP, "namespace": namespace,
                    "labels": {"app.kubernetes.io/managed-by": "kubectl-storage"},
                    "annotations": {"storage.kubectl.dev/about": ABOUT},
                },
                "data": {key: value},
            }),
        });
    };
    match &live["data"] {
        Value::Object(data) if data.get(key).is_some_and(|it| it == value) => None,
        Value::Object(_) => {
            let add = json!({"op": "add", "path": format!("/data/{key}"), "value": value});
            Some(patch(namespace, live, [add]))
        }
        _ => {
            let add = json!({"op": "add", "path": "/data", "value": {key: value}});
            Some(patch(namespace, live, [add]))
        }
    }
}

/// Renders what takes a key out of the record, if it still says what we wrote.
fn without(
    namespace: &str,
    live: Option<&Value>,
    key: &str,
    value: &str,
    before: Option<&str>,
) -> Option<Request> {
    let live = live.filter(|it| it["data"][key].as_str() == Some(value))?;
    let path = format!("/data/{key}");
    let ours = json!({"op": "test", "path": &path, "value": value});
    let back = match before {
        Some(before) => json!({"op": "replace", "path": &path, "value": before}),
        None => json!({"op": "remove", "path": &path}),
    };
    Some(patch(namespace, live, [ours, back]))
}

fn patch<const N: usize>(namespace: &str, live: &Value, operations: [Value; N]) -> Request {
    let test = |field: &str| {
        let path = format!("/metadata/{field}");
        json!({"op": "test", "path": path, "value": live["metadata"][field]})
    };
    let tests = [test("uid"), test("resourceVersion")];
    Request {
        method: Method::PATCH,
        path: paths(namespace).1,
        content_type: JSON_PATCH,
        body: tests.into_iter().chain(operations).collect(),
    }
}

/// The paths of all `ConfigMaps` of a namespace, and of the record.
fn paths(namespace: &str) -> (String, String) {
    let one = object_path("", "v1", Some(namespace), "configmaps", CONFIG_MAP);
    let all = one.trim_end_matches(CONFIG_MAP).trim_end_matches('/').to_owned();
    (all, one)
}

/// Which version of the record was seen; null for none.
fn version_of(live: Option<&Value>) -> Value {
    live.map(|it| it["metadata"]["resourceVersion"].clone()).unwrap_or_default()
}

/// How a change ends whose record cannot be written.
fn unrecorded(error: &RecordError) -> Ended {
    match error {
        RecordError::Denied(why) => Ended::new(
            Outcome::Refused,
            format!(
                "the record of the backend volume cannot be written to {why}; --record-namespace \
                 names another namespace, --journal-only leaves it to the journal of this machine"
            ),
        ),
        RecordError::Failed(why) => Ended::new(
            Outcome::Failed,
            format!("the record of the backend volume was not written to {why}"),
        )
        .ends_batch(),
    }
}

#[cfg(test)]
#[path = "tests/kept.rs"]
mod tests;

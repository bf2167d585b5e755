//! Writes the record of kept backend volumes in the cluster.
//!
//! A key is written before the volume object is deleted: afterwards only this record references the
//! backend volume, whatever happens to this machine.

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::config_map::{self, NewConfigMap, RecordTry};
use super::current_cluster::CurrentCluster;
use super::request::WriteRequest;
use super::writer::{WriteError, Writer};
use crate::journal::kept_backend::{CONFIG_MAP, KeptBackendRecord};
use crate::model::Text;

const JSON_PATCH: &str = "application/json-patch+json";
/// Annotation that explains the record.
const ABOUT: &str = "Backend volumes that kubectl storage kept on purpose. No PersistentVolume references \
                     them: this record is the only reference.";

/// Writes the record of kept backend volumes in a namespace.
pub(super) struct KeptBackendRecorder<'a> {
    cluster: &'a CurrentCluster,
    writer: &'a Writer,
    namespace: &'a Text,
    /// Held while a key is written: all keys are of one object, so that writes at the same time
    /// conflict.
    turn: Mutex<()>,
}

/// Reason why the record could not be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RecordError {
    /// The API server refused the change, and would refuse it again.
    #[error("{0}")]
    Denied(String),
    /// The change failed for another reason, or in every try.
    #[error("{0}")]
    Failed(String),
}

/// The mode in which a change of the record is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordMode {
    /// The change is sent only as a dry run.
    DryRun,
    /// The change is written; its dry run has just succeeded.
    Write,
    /// The change is written even after a run must not write any more: the record would be wrong otherwise.
    Correct,
}

/// The earlier value of a key of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PreviousValue(Option<String>);

impl<'a> KeptBackendRecorder<'a> {
    pub(super) fn new(
        cluster: &'a CurrentCluster,
        writer: &'a Writer,
        namespace: &'a Text,
    ) -> Self {
        Self { cluster, writer, namespace, turn: Mutex::new(()) }
    }

    /// Sends the write of a key as a dry run.
    pub(super) async fn dry_run(&self, record: &KeptBackendRecord) -> Result<(), RecordError> {
        let (key, value) = line(record);
        self.change(|live| with(self.namespace, live, &key, &value), RecordMode::DryRun)
            .await
            .map(drop)
    }

    /// Writes a key and returns its earlier value.
    pub(super) async fn write(
        &self,
        record: &KeptBackendRecord,
    ) -> Result<PreviousValue, RecordError> {
        let (key, value) = line(record);
        let live =
            self.change(|live| with(self.namespace, live, &key, &value), RecordMode::Write).await?;
        let before = live.as_ref().and_then(|it| it["data"][&key].as_str());
        // A try without an answer may have written our own value.
        Ok(PreviousValue(before.filter(|it| *it != value).map(str::to_owned)))
    }

    /// Removes a key again, or restores its earlier value.
    pub(super) async fn revert(
        &self,
        record: &KeptBackendRecord,
        before: &PreviousValue,
    ) -> Result<(), RecordError> {
        let (key, value) = line(record);
        let edit =
            |live: Option<&Value>| without(self.namespace, live, &key, &value, before.0.as_deref());
        self.change(edit, RecordMode::Correct).await.map(drop)
    }

    /// Removes the key of a backend volume that is not kept any more.
    pub(super) async fn remove(&self, key: &str) -> Result<(), RecordError> {
        let path = format!("/data/{key}");
        let edit = |live: Option<&Value>| {
            let live = live.filter(|it| it["data"].get(key).is_some())?;
            Some(patch(self.namespace, live, [json!({"op": "remove", "path": &path})]))
        };
        self.change(edit, RecordMode::Correct).await.map(drop)
    }

    /// Tries a change until it is written, and returns the record before the change. `edit` renders the request; `None`
    /// means that there is nothing to change.
    async fn change(
        &self,
        edit: impl Fn(Option<&Value>) -> Option<WriteRequest>,
        mode: RecordMode,
    ) -> Result<Option<Value>, RecordError> {
        let _turn = self.turn.lock().await;
        let mut invalid: Option<(Value, String)> = None;
        let attempt = async |attempt| {
            let live = self.read().await?;
            if let Some((version, message)) = &invalid
                && *version == version_of(live.as_ref())
            {
                // No other client has changed the record: the value itself is not accepted.
                return Err(RecordError::Denied(format!("{}: {message}", self.shown())));
            }
            let Some(request) = edit(live.as_ref()) else { return Ok(RecordTry::Done(live)) };
            let writer = match mode {
                RecordMode::DryRun | RecordMode::Write => self.writer.clone(),
                RecordMode::Correct => self.writer.in_any_case(),
            };
            let mut sent = Ok(());
            if mode == RecordMode::DryRun || attempt > 0 {
                sent = writer.send(&request, true).await.map(drop);
            }
            if mode != RecordMode::DryRun && sent.is_ok() {
                sent = writer.send(&request, false).await.and_then(|answer| {
                    match edit(Some(&answer.value)) {
                        None => Ok(()),
                        Some(_) => Err(WriteError::Unanswered(
                            "the API server's answer does not show what was written".to_owned(),
                        )),
                    }
                });
            }
            let Err(error) = sent else { return Ok(RecordTry::Done(live)) };
            let why = self.retry_reason(&request, &error)?;
            if matches!(error, WriteError::Rejected { code: 422, .. }) {
                invalid = Some((version_of(live.as_ref()), why.clone()));
            }
            Ok(RecordTry::Overtaken(why))
        };
        let given_up = |why| RecordError::Failed(format!("{}: {why}", self.shown()));
        config_map::change_record(attempt, given_up).await
    }

    /// Returns the reason why a change failed that can be tried again; `Err` where it cannot.
    fn retry_reason(
        &self,
        request: &WriteRequest,
        error: &WriteError,
    ) -> Result<String, RecordError> {
        let created = request.method == Method::POST;
        match error {
            WriteError::Rejected { code: 409 | 422, message, .. } => Ok(message.clone()),
            WriteError::Rejected { absent: Some(_), message, .. } => match created {
                true => Err(self.denied(message, "create")),
                false => Ok(message.clone()),
            },
            WriteError::Rejected { code: 403, message, .. } => {
                Err(self.denied(message, if created { "create" } else { "patch" }))
            }
            WriteError::Rejected { code: 429, .. }
            | WriteError::NotSent(_)
            | WriteError::Withdrawn(_) => {
                Err(RecordError::Failed(format!("{}: {error}", self.shown())))
            }
            WriteError::Rejected { .. } => {
                Err(RecordError::Denied(format!("{}: {error}", self.shown())))
            }
            // Whether it was carried out is known when the record is read again.
            WriteError::Unanswered(detail) | WriteError::CarriedOut(detail) => Ok(detail.clone()),
        }
    }

    async fn read(&self) -> Result<Option<Value>, RecordError> {
        let key = config_map::key(self.namespace, CONFIG_MAP);
        match self.cluster.get(&key).await {
            Ok(live) => Ok(live),
            Err(error) if error.is_forbidden() => Err(self.denied(&error.to_string(), "get")),
            Err(error) => Err(RecordError::Failed(format!("{}: {error}", self.shown()))),
        }
    }

    /// Names the missing permission and the API server's message: admission may refuse as well.
    fn denied(&self, message: &str, verb: &str) -> RecordError {
        let (shown, namespace) = (self.shown(), self.namespace);
        RecordError::Denied(format!(
            "{shown}: {message} (requires get, create and patch of configmaps in namespace \
             {namespace}; {verb} was refused)"
        ))
    }

    fn shown(&self) -> String {
        format!("configmap {}/{CONFIG_MAP}", self.namespace)
    }
}

fn line(record: &KeptBackendRecord) -> (String, String) {
    (record.key(), json!(record).to_string())
}

/// Renders the request that sets a key.
fn with(namespace: &str, live: Option<&Value>, key: &str, value: &str) -> Option<WriteRequest> {
    let Some(live) = live else {
        let data = &BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let (name, about, immutable) = (CONFIG_MAP, ABOUT, false);
        let new = NewConfigMap { namespace, name, labels: &[], about, data, immutable };
        return Some(new.request());
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

/// Renders the request that removes a key, or restores its earlier value, if it still has our
/// value.
fn without(
    namespace: &str,
    live: Option<&Value>,
    key: &str,
    value: &str,
    before: Option<&str>,
) -> Option<WriteRequest> {
    let live = live.filter(|it| it["data"][key].as_str() == Some(value))?;
    let path = format!("/data/{key}");
    let ours = json!({"op": "test", "path": &path, "value": value});
    let back = match before {
        Some(before) => json!({"op": "replace", "path": &path, "value": before}),
        None => json!({"op": "remove", "path": &path}),
    };
    Some(patch(namespace, live, [ours, back]))
}

fn patch<const N: usize>(namespace: &str, live: &Value, operations: [Value; N]) -> WriteRequest {
    let test = |field: &str| {
        let path = format!("/metadata/{field}");
        json!({"op": "test", "path": path, "value": live["metadata"][field]})
    };
    let tests = [test("uid"), test("resourceVersion")];
    WriteRequest {
        method: Method::PATCH,
        path: config_map::path(namespace, CONFIG_MAP),
        content_type: JSON_PATCH,
        body: tests.into_iter().chain(operations).collect(),
    }
}

/// Returns the resourceVersion of the record; null where it does not exist.
fn version_of(live: Option<&Value>) -> Value {
    live.map(|it| it["metadata"]["resourceVersion"].clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests;

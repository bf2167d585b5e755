//! `ConfigMap`s as records of this tool that must outlive a process: read, created, and replaced only as they were
//! read.

use std::{collections::BTreeMap, time::Duration};

use http::Method;
use serde_json::{Value, json};

use super::{
    request::WriteRequest,
    writer::{WriteError, Writer},
};
use crate::client::{
    ListForm, ListRequest, ObjectRequest, ReadError, Reader, collection_path, list_json,
    object_path,
};
use crate::model::{Kind, ObjectKey, Time, parse_time};

const VERSION: &str = "v1";
const RESOURCE: &str = "configmaps";
const JSON: &str = "application/json";
/// The label of everything that this tool creates.
pub(crate) const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "kubectl-storage");
/// Number of tries to change a record.
const TRIES: usize = 8;
/// An annotation that explains a record.
const ABOUT: &str = "storage.kubectl.dev/about";

/// A `ConfigMap` as the API server stored it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredConfigMap {
    /// The object, with everything that other clients keep in it.
    object: Value,
}

impl StoredConfigMap {
    /// Returns the `ConfigMap` in an answer of the API server; `None` where the answer is no object.
    pub(crate) fn of(object: Value) -> Option<Self> {
        object["metadata"]["uid"].is_string().then_some(Self { object })
    }

    /// The name of the `ConfigMap`.
    pub(crate) fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// Creation time, by the API server's clock: no client can choose it.
    pub(crate) fn created(&self) -> Option<Time> {
        parse_time(self.object["metadata"]["creationTimestamp"].as_str()?).ok().flatten()
    }

    /// Whether the `ConfigMap` is immutable.
    pub(crate) fn is_immutable(&self) -> bool {
        self.object["immutable"] == json!(true)
    }

    /// Whether the `ConfigMap` is being deleted.
    pub(crate) fn is_terminating(&self) -> bool {
        self.object["metadata"]["deletionTimestamp"].is_string()
    }

    /// The value of a label.
    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        self.object["metadata"]["labels"][name].as_str()
    }

    /// The keys, with those whose values are not text.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        let of = |field: &str| self.object[field].as_object().into_iter().flat_map(|it| it.keys());
        of("data").chain(of("binaryData")).map(String::as_str)
    }

    /// The keys and values.
    pub(crate) fn data(&self) -> BTreeMap<String, String> {
        let all = self.object["data"].as_object().into_iter().flatten();
        all.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    }

    /// The value of a key.
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        self.object["data"][key].as_str()
    }
}

/// A `ConfigMap` that is to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewConfigMap<'a> {
    /// The namespace of the `ConfigMap`.
    pub(crate) namespace: &'a str,
    /// The name of the `ConfigMap`.
    pub(crate) name: &'a str,
    /// The labels, besides [`MANAGED_BY`].
    pub(crate) labels: &'a [(&'a str, &'a str)],
    /// The purpose of the `ConfigMap`, for people who find it.
    pub(crate) about: &'a str,
    /// The keys and values.
    pub(crate) data: &'a BTreeMap<String, String>,
    /// Whether the `ConfigMap` is immutable: it can only be deleted.
    pub(crate) immutable: bool,
}

impl NewConfigMap<'_> {
    /// Renders the request that creates the `ConfigMap`.
    pub(crate) fn request(&self) -> WriteRequest {
        let labels: BTreeMap<&str, &str> =
            std::iter::once(MANAGED_BY).chain(self.labels.iter().copied()).collect();
        let mut body = json!({
            "apiVersion": VERSION, "kind": "ConfigMap",
            "metadata": {
                "name": self.name, "namespace": self.namespace, "labels": labels,
                "annotations": {ABOUT: self.about},
            },
            "data": self.data,
        });
        if self.immutable {
            body["immutable"] = json!(true);
        }
        let path = collection_path("", VERSION, Some(self.namespace), RESOURCE);
        WriteRequest { method: Method::POST, path, content_type: JSON, body }
    }
}

/// Reads a `ConfigMap`; `None` where it does not exist.
///
/// # Errors
/// Why it could not be read. A namespace that does not exist has no `ConfigMap`s.
pub(crate) async fn read(
    reader: &Reader,
    namespace: &str,
    name: &str,
) -> Result<Option<StoredConfigMap>, ReadError> {
    let object = ObjectRequest::named(Kind::ConfigMap, Some(namespace), name);
    match reader.get_object::<Value>(&object).await {
        Ok(answer) => StoredConfigMap::of(answer.value).map(Some).ok_or_else(|| {
            ReadError::Undecodable { path: object.path(), detail: "it has no uid".to_owned() }
        }),
        Err(error) if error.is_absence_of(name) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns a `ConfigMap` from the list of its namespace, for users who may list and not get it; `None` where it is not
/// in the list.
///
/// # Errors
/// Why they could not be listed.
pub(crate) async fn find(
    reader: &Reader,
    namespace: &str,
    name: &str,
) -> Result<Option<StoredConfigMap>, ReadError> {
    let request = ListRequest {
        namespace: Some(namespace.to_owned()),
        field_selector: Some(format!("metadata.name={name}")),
        ..all()
    };
    let items = list_json::<Value>(reader, &request).await?.value;
    Ok(items.into_iter().filter_map(StoredConfigMap::of).find(|it| it.name() == name))
}

/// Renders the request that gives a `ConfigMap` other keys and values, only if it is as it was read.
pub(crate) fn replace(over: &StoredConfigMap, data: &BTreeMap<String, String>) -> WriteRequest {
    let mut body = over.object.clone();
    // The managed fields that were read would be taken for those that are wanted.
    if let Some(metadata) = body["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    body["apiVersion"] = json!(VERSION);
    body["kind"] = json!("ConfigMap");
    body["data"] = json!(data);
    let namespace = over.object["metadata"]["namespace"].as_str().unwrap_or_default();
    WriteRequest {
        method: Method::PUT,
        path: path(namespace, over.name()),
        content_type: JSON,
        body,
    }
}

/// The end of a write of a `ConfigMap`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConfigMapWrite {
    /// The `ConfigMap` is stored.
    Stored(StoredConfigMap),
    /// Another client was first: it exists, it does not any more, or it has changed.
    Overtaken,
    /// The API server refused the write: nothing was written, and another try would be refused too.
    Refused(String),
    /// Nothing was written, for another reason; the API server may have said `after` how long it can be
    /// tried again.
    Failed { reason: String, after: Option<Duration> },
    /// Whether the `ConfigMap` is stored is unknown.
    Unanswered(String),
}

/// Sends the request that creates or replaces a `ConfigMap`, once.
pub(super) async fn send(writer: &Writer, request: &WriteRequest, dry_run: bool) -> ConfigMapWrite {
    match writer.send(request, dry_run).await {
        Ok(answer) => StoredConfigMap::of(answer.value).map_or_else(
            || ConfigMapWrite::Unanswered("the answer is no ConfigMap".to_owned()),
            ConfigMapWrite::Stored,
        ),
        Err(error) => unstored(error, request),
    }
}

/// Sends a request as a dry run: whatever the answer is, nothing was written.
pub(super) async fn rehearse(writer: &Writer, request: &WriteRequest) -> ConfigMapWrite {
    rehearsed(send(writer, request, true).await)
}

fn rehearsed(sent: ConfigMapWrite) -> ConfigMapWrite {
    match sent {
        ConfigMapWrite::Unanswered(why) => {
            ConfigMapWrite::Failed { reason: format!("its dry run failed: {why}"), after: None }
        }
        sent => sent,
    }
}

fn unstored(error: WriteError, request: &WriteRequest) -> ConfigMapWrite {
    match error {
        WriteError::Rejected { code: 409, .. } => ConfigMapWrite::Overtaken,
        // What is created was not deleted: its namespace does not exist.
        WriteError::Rejected { absent: Some(_), .. } if request.method != Method::POST => {
            ConfigMapWrite::Overtaken
        }
        WriteError::Rejected { code: 429, after, .. } => {
            ConfigMapWrite::Failed { reason: error.to_string(), after }
        }
        WriteError::NotSent(_) | WriteError::Withdrawn(_) => {
            ConfigMapWrite::Failed { reason: error.to_string(), after: None }
        }
        WriteError::Rejected { .. } => ConfigMapWrite::Refused(error.to_string()),
        WriteError::Unanswered(detail) | WriteError::CarriedOut(detail) => {
            ConfigMapWrite::Unanswered(detail)
        }
    }
}

/// The end of a try to change a record.
pub(super) enum RecordTry<T> {
    /// The record is stored with the change, or has it already.
    Done(T),
    /// Another client was first, for this reason.
    Overtaken(String),
}

/// Tries a change of a record, of which only single keys are changed, until it is stored. `attempt` is
/// given the number of the try, from 0 on, and reads the record anew.
///
/// Only this tool writes its records, and a key more or less does no harm: unlike every other write, a
/// change of one is tried again after a conflict.
///
/// # Errors
/// The error of a try, or after the last one what `given_up` makes of why it failed.
pub(super) async fn change_record<T, E>(
    mut attempt: impl AsyncFnMut(usize) -> Result<RecordTry<T>, E>,
    given_up: impl FnOnce(String) -> E,
) -> Result<T, E> {
    let mut last = String::new();
    for number in 0..TRIES {
        match attempt(number).await? {
            RecordTry::Done(done) => return Ok(done),
            RecordTry::Overtaken(why) => last = why,
        }
    }
    Err(given_up(format!("{last}, {TRIES} times")))
}

/// The request for all `ConfigMap`s.
pub(crate) fn all() -> ListRequest {
    ListRequest { form: ListForm::Json, ..ListRequest::of(Kind::ConfigMap, VERSION) }
}

/// The key of a `ConfigMap`.
pub(crate) fn key(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::named(Kind::ConfigMap, namespace, name)
}

/// The path of a `ConfigMap`.
pub(crate) fn path(namespace: &str, name: &str) -> String {
    object_path("", VERSION, Some(namespace), RESOURCE, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_created_says_what_it_is_and_an_immutable_one_cannot_be_changed() {
        let data = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
        let new = NewConfigMap {
            namespace: "kube-system",
            name: "record",
            labels: &[("storage.kubectl.dev/record", "x")],
            about: "What it is.",
            data: &data,
            immutable: true,
        };
        let request = new.request();
        assert_eq!(request.method, Method::POST);
        assert_eq!(request.path, "/api/v1/namespaces/kube-system/configmaps");
        assert_eq!(request.body["immutable"], true);
        assert_eq!(request.body["data"], json!({"a": "1"}));
        assert_eq!(
            request.body["metadata"]["labels"],
            json!({
                "app.kubernetes.io/managed-by": "kubectl-storage", "storage.kubectl.dev/record": "x",
            })
        );
        let mutable = NewConfigMap { immutable: false, ..new };
        assert!(mutable.request().body.get("immutable").is_none());
    }

    #[test]
    fn a_dry_run_without_an_answer_has_written_nothing() {
        let late = || ConfigMapWrite::Unanswered("timeout".to_owned());
        let reason = "its dry run failed: timeout".to_owned();
        let failed = ConfigMapWrite::Failed { reason, after: None };
        assert_eq!(rehearsed(late()), failed);
        assert_eq!(rehearsed(ConfigMapWrite::Overtaken), ConfigMapWrite::Overtaken);
    }

    #[test]
    fn what_is_replaced_is_what_was_read_and_keeps_what_others_wrote() {
        let stored = StoredConfigMap::of(json!({
            "metadata": {
                "namespace": "ops", "name": "record", "uid": "u", "resourceVersion": "7",
                "labels": {"team": "a"}, "managedFields": [{}],
                "creationTimestamp": "2026-11-01T12:00:00Z",
            },
            "data": {"a": "1"},
        }))
        .expect("it has a uid");
        assert_eq!(stored.created(), parse_time("2026-11-01T12:00:00Z").expect("a time"));
        assert_eq!((stored.value("a"), stored.value("b")), (Some("1"), None));
        let request = replace(&stored, &BTreeMap::from([("b".to_owned(), "2".to_owned())]));
        assert_eq!(request.method, Method::PUT);
        assert_eq!(request.path, "/api/v1/namespaces/ops/configmaps/record");
        assert_eq!(
            request.body["metadata"],
            json!({
                "namespace": "ops", "name": "record", "uid": "u", "resourceVersion": "7",
                "labels": {"team": "a"}, "creationTimestamp": "2026-11-01T12:00:00Z",
            })
        );
        assert_eq!(request.body["data"], json!({"b": "2"}));
        assert_eq!(StoredConfigMap::of(json!({"kind": "Status"})), None);
    }

    #[tokio::test]
    async fn a_record_is_tried_again_after_a_conflict_and_after_nothing_else() {
        let change = async |ends: fn(usize) -> Result<RecordTry<usize>, String>| {
            let mut tries = 0;
            let attempt = async |number| {
                tries += 1;
                ends(number)
            };
            let changed = change_record(attempt, |why| why).await;
            (changed, tries)
        };
        assert_eq!(change(|number| Ok(RecordTry::Done(number))).await, (Ok(0), 1));
        assert_eq!(change(|_| Err("forbidden".to_owned())).await, (Err("forbidden".to_owned()), 1));
        let third = |number| match number {
            2 => Ok(RecordTry::Done(number)),
            _ => Ok(RecordTry::Overtaken(String::new())),
        };
        assert_eq!(change(third).await, (Ok(2), 3));
        let never = |_| Ok(RecordTry::Overtaken("somebody was first".to_owned()));
        let told = format!("somebody was first, {TRIES} times");
        assert_eq!(change(never).await, (Err(told), TRIES));
    }
}

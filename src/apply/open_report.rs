//! Findings as a `Report` of each namespace, and one `ClusterReport` (`openreports.io`), which other tools show.
//!
//! They hold what was found last, and nothing else reads them. Each is replaced as a whole, only as it was read
//! (`resourceVersion`), and only if what it says is not what it is to say. An object of the same name without the label
//! of this tool is another client's, and left alone.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::event::reference;
use super::request::WriteRequest;
use super::writer::{WriteError, Writer};
use crate::client::{
    Connection, ListForm, ListRequest, ReadError, Reader, collection_path, list_json, object_path,
};
use crate::model::{Finding, Severity, Text, beginning, escape_control};
use crate::objects::OWN_COMPONENT;

const GROUP: &str = "openreports.io";
const VERSION: &str = "v1alpha1";
/// The label by which those of this tool are found.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// What a report says, in short.
const FINGERPRINT: &str = "storage.kubectl.dev/fingerprint";
/// How many findings one lists: 200 of them have some 300 KiB, and an object may have 1.5 MiB.
const MOST: usize = 200;
/// How long a message may be, in bytes.
const LONGEST: usize = 1024;

/// A report as it is to be: the worst findings first, and how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OpenReport {
    results: Vec<Value>,
    failed: usize,
    warned: usize,
}

impl OpenReport {
    /// Adds a finding. What has no room is counted.
    pub(crate) fn add(&mut self, finding: &Finding) {
        let fails = finding.severity <= Severity::High;
        let counter = if fails { &mut self.failed } else { &mut self.warned };
        *counter += 1;
        if self.results.len() >= MOST {
            return;
        }
        let next = finding.offer.as_ref().and_then(|it| it.command.as_ref());
        let next = next.map(|it| format!("; next: {it}")).unwrap_or_default();
        let message = format!("{}{next}", finding.summary);
        self.results.push(json!({
            "source": OWN_COMPONENT,
            "policy": finding.rule,
            "category": "storage",
            "severity": finding.severity.name(),
            "result": if fails { "fail" } else { "warn" },
            "scored": true,
            "message": beginning(&escape_control(&message), LONGEST),
            "resources": [reference(&finding.object)],
        }));
    }

    /// How many findings it lists, and how many there are.
    pub(crate) fn count(&self) -> (usize, usize) {
        (self.results.len(), self.failed + self.warned)
    }

    /// The object of this name, with the version over which it is written.
    fn object(&self, namespace: Option<&str>, name: &str, over: Option<&str>) -> Value {
        let (listed, all) = self.count();
        json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": kind(namespace).1,
            "metadata": {
                "name": name, "namespace": namespace, "resourceVersion": over,
                "labels": {MANAGED_BY: OWN_COMPONENT},
                "annotations": {
                    FINGERPRINT: self.fingerprint(),
                    "storage.kubectl.dev/omitted": (all - listed).to_string(),
                },
            },
            "source": OWN_COMPONENT,
            "summary": {"pass": 0, "fail": self.failed, "warn": self.warned, "error": 0, "skip": 0},
            "results": self.results,
        })
    }

    fn fingerprint(&self) -> String {
        let all = json!([self.failed, self.warned, self.results]).to_string();
        let mut text = String::new();
        for byte in Sha256::digest(all).iter().take(16) {
            write!(text, "{byte:02x}").expect("because writing to a string does not fail");
        }
        text
    }
}

/// Plural and kind of the report of a namespace, or of the cluster.
fn kind(namespace: Option<&str>) -> (&'static str, &'static str) {
    match namespace {
        Some(_) => ("reports", "Report"),
        None => ("clusterreports", "ClusterReport"),
    }
}

/// A report that exists.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct StoredReport {
    metadata: StoredMetadata,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredMetadata {
    name: String,
    namespace: Option<Text>,
    uid: String,
    resource_version: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl StoredReport {
    /// Whether it says what it is to say.
    pub(crate) fn says(&self, report: &OpenReport) -> bool {
        self.metadata.annotations.get(FINGERPRINT).is_some_and(|it| *it == report.fingerprint())
    }
}

/// Why reports are not as they are to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OpenReportError {
    /// The API server does not serve them.
    #[error("the API server does not serve {GROUP}/{VERSION}")]
    NotServed,
    /// The right to do so is missing.
    #[error("{0}")]
    Forbidden(String),
    /// Another client has changed one, or has its name.
    #[error("{0}")]
    Overtaken(String),
    /// Another answer, or none.
    #[error("{0}")]
    Failed(String),
}

/// Writes and deletes reports of one name, and nothing else.
pub(crate) struct OpenReportWriter {
    reader: Reader,
    writer: Writer,
    name: String,
}

impl OpenReportWriter {
    /// Returns a writer of reports of this name.
    pub(crate) fn new(connection: &Connection, name: &str) -> Self {
        let writer = Writer::new(connection, OWN_COMPONENT);
        Self { reader: Reader::new(connection), writer, name: name.to_owned() }
    }

    /// Reads the reports of this tool that have the name, by their namespaces.
    ///
    /// # Errors
    /// [`OpenReportError`]
    pub(crate) async fn read(
        &self,
    ) -> Result<BTreeMap<Option<Text>, StoredReport>, OpenReportError> {
        let mut stored = BTreeMap::new();
        for (plural, kind) in [kind(None), kind(Some(""))] {
            let request = ListRequest {
                group: GROUP.to_owned(),
                version: VERSION.to_owned(),
                resource: plural.to_owned(),
                kind: kind.to_owned(),
                namespace: None,
                page: None,
                field_selector: None,
                label_selector: Some(format!("{MANAGED_BY}={OWN_COMPONENT}")),
                form: ListForm::Json,
            };
            let listed = list_json::<StoredReport>(&self.reader, &request).await?.value;
            let own = listed.into_iter().filter(|it| it.metadata.name == self.name);
            stored.extend(own.map(|it| (it.metadata.namespace.clone(), it)));
        }
        Ok(stored)
    }

    /// Creates a report, or replaces the one that was read.
    ///
    /// # Errors
    /// [`OpenReportError`]
    pub(crate) async fn write(
        &self,
        namespace: Option<&str>,
        report: &OpenReport,
        over: Option<&StoredReport>,
    ) -> Result<(), OpenReportError> {
        let plural = kind(namespace).0;
        let (method, path) = match over {
            Some(_) => (Method::PUT, object_path(GROUP, VERSION, namespace, plural, &self.name)),
            None => (Method::POST, collection_path(GROUP, VERSION, namespace, plural)),
        };
        let over = over.map(|it| &*it.metadata.resource_version);
        let body = report.object(namespace, &self.name, over);
        self.send(&WriteRequest { method, path, content_type: "application/json", body }).await
    }

    /// Deletes a report as it was read.
    ///
    /// # Errors
    /// [`OpenReportError`]
    pub(crate) async fn remove(&self, stored: &StoredReport) -> Result<(), OpenReportError> {
        let StoredMetadata { name, namespace, uid, resource_version, .. } = &stored.metadata;
        let namespace = namespace.as_deref();
        let request = WriteRequest {
            method: Method::DELETE,
            path: object_path(GROUP, VERSION, namespace, kind(namespace).0, name),
            content_type: "application/json",
            body: json!({
                "kind": "DeleteOptions", "apiVersion": "v1",
                "preconditions": {"uid": uid, "resourceVersion": resource_version},
            }),
        };
        match self.send(&request).await {
            // It was deleted meanwhile.
            Err(OpenReportError::Overtaken(_)) => Ok(()),
            end => end,
        }
    }

    async fn send(&self, request: &WriteRequest) -> Result<(), OpenReportError> {
        let Err(error) = self.writer.send(request, false).await else { return Ok(()) };
        let text = error.to_string();
        Err(match error {
            // Also of a namespace that does not exist any more.
            WriteError::Rejected { code: 409, .. }
            | WriteError::Rejected { absent: Some(_), .. } => OpenReportError::Overtaken(text),
            WriteError::Rejected { message, .. } if message.contains("being terminated") => {
                OpenReportError::Overtaken(text)
            }
            WriteError::Rejected { code: 403, .. } => OpenReportError::Forbidden(text),
            WriteError::Rejected { .. }
            | WriteError::NotSent(_)
            | WriteError::Withdrawn(_)
            | WriteError::Unanswered(_)
            | WriteError::CarriedOut(_) => OpenReportError::Failed(text),
        })
    }
}

impl From<ReadError> for OpenReportError {
    fn from(error: ReadError) -> Self {
        match error.is_forbidden() {
            _ if error.is_not_served() => Self::NotServed,
            true => Self::Forbidden(error.to_string()),
            false => Self::Failed(error.to_string()),
        }
    }
}

//! Findings as a `Report` of each namespace, and one `ClusterReport` (`openreports.io`), which other tools show.
//!
//! They hold what was found last, and nothing else reads them. Each is replaced as a whole, only as it was read
//! (`resourceVersion`), and only if what it says is not what it is to say. One of the same name without the label of this
//! tool, or that was written for another Lease, is another client's, and left alone.

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
use crate::model::{Finding, Scope, Severity, Text, beginning, escape_control};
use crate::objects::OWN_COMPONENT;

const GROUP: &str = "openreports.io";
const VERSION: &str = "v1alpha1";
/// The label of reports that this tool wrote.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The annotation with the policy for which a report is written.
const WRITTEN_FOR: &str = "storage.kubectl.dev/written-for";
/// The annotation with a hash of the content of a report.
const FINGERPRINT: &str = "storage.kubectl.dev/fingerprint";
/// The annotation that counts the findings of a report, also those that it does not list.
const FINDINGS: &str = "storage.kubectl.dev/findings";
/// The annotation that counts findings for which there is no room.
const OMITTED: &str = "storage.kubectl.dev/omitted";
/// The annotation that counts the namespaces for whose report there is no room.
const OMITTED_NAMESPACES: &str = "storage.kubectl.dev/omitted-namespaces";
/// The annotation of a report that was written while not everything was read.
const INCOMPLETE: &str = "storage.kubectl.dev/incomplete";
/// Number of reports in a page of a list.
const PAGE: u32 = 500;
/// Number of findings that a report lists at most: 200 of them have some 300 KiB, and an object may have 1.5 MiB.
const MOST: usize = 200;
/// The longest message, in bytes.
const LONGEST: usize = 1024;

/// The content of a report that is to be written: the worst findings, and the number of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OpenReport {
    results: Vec<Value>,
    failed: usize,
    warned: usize,
    /// Numbers of findings and of namespaces for whose report there is no room.
    no_room: (usize, usize),
    is_incomplete: bool,
}

impl OpenReport {
    /// Adds a finding, or only counts it where there is no room.
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

    /// Numbers of the findings that the report lists and of all.
    pub(crate) fn count(&self) -> (usize, usize) {
        (self.results.len(), self.failed + self.warned)
    }

    /// Counts findings of namespaces for whose report there is no room.
    pub(crate) fn leave_out(&mut self, findings: usize, namespaces: usize) {
        self.no_room = (findings, namespaces);
    }

    /// Notes that findings may be missing because not everything was read.
    pub(crate) fn set_incomplete(&mut self) {
        self.is_incomplete = true;
    }

    /// Number of findings for which there is no room.
    pub(crate) fn omitted(&self) -> usize {
        let (listed, all) = self.count();
        all - listed + self.no_room.0
    }

    /// Renders the object of this name, to be written over the given version.
    fn object(&self, at: (Option<&str>, &str), written_for: &str, over: Option<&str>) -> Value {
        let (namespace, name) = at;
        let mut annotations = json!({
            WRITTEN_FOR: written_for,
            FINGERPRINT: self.fingerprint(),
            FINDINGS: self.count().1.to_string(),
            OMITTED: self.omitted().to_string(),
        });
        if self.no_room.1 > 0 {
            annotations[OMITTED_NAMESPACES] = self.no_room.1.to_string().into();
        }
        if self.is_incomplete {
            annotations[INCOMPLETE] = "true".into();
        }
        json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": kind(namespace).1,
            "metadata": {
                "name": name, "namespace": namespace, "resourceVersion": over,
                "labels": {MANAGED_BY: OWN_COMPONENT},
                "annotations": annotations,
            },
            "source": OWN_COMPONENT,
            "summary": {"pass": 0, "fail": self.failed, "warn": self.warned, "error": 0, "skip": 0},
            "results": self.results,
        })
    }

    fn fingerprint(&self) -> String {
        short_hash(&json!([self.failed, self.warned, self.no_room, self.results]).to_string())
    }
}

/// Returns the annotation of reports that are written without a Lease: it names the scope of the policy.
pub(crate) fn written_for_scope(scope: &Scope) -> String {
    if scope.namespaces.is_empty() && scope.selector.is_empty() {
        return "cluster".to_owned();
    }
    let scope = json!([scope.namespaces, scope.selector.to_string()]);
    format!("scope-{}", short_hash(&scope.to_string()))
}

fn short_hash(of: &str) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(of).iter().take(16) {
        write!(text, "{byte:02x}").expect("because writing to a string does not fail");
    }
    text
}

/// Plural and kind of the report of a namespace, or of the cluster.
fn kind(namespace: Option<&str>) -> (&'static str, &'static str) {
    match namespace {
        Some(_) => ("reports", "Report"),
        None => ("clusterreports", "ClusterReport"),
    }
}

/// A report as the API server stored it.
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
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl StoredReport {
    /// Whether the report is of this tool, and written for the same policy.
    pub(crate) fn is_written_for(&self, whom: &str) -> bool {
        self.metadata.labels.get(MANAGED_BY).is_some_and(|it| it == OWN_COMPONENT)
            && self.annotation(WRITTEN_FOR) == Some(whom)
    }

    /// Whether the report has the content of another one.
    pub(crate) fn says(&self, report: &OpenReport) -> bool {
        let is_complete = self.annotation(INCOMPLETE).is_none() || report.is_incomplete;
        is_complete && self.annotation(FINGERPRINT) == Some(&report.fingerprint())
    }

    /// Whether the report has more findings than another one, or may have.
    pub(crate) fn has_more_than(&self, report: &OpenReport) -> bool {
        self.number(FINDINGS).is_none_or(|it| it > report.count().1)
    }

    /// Number of findings for which there was no room.
    pub(crate) fn omitted(&self) -> usize {
        self.number(OMITTED).unwrap_or_default()
    }

    fn number(&self, annotation: &str) -> Option<usize> {
        self.annotation(annotation)?.parse().ok()
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.get(key).map(String::as_str)
    }
}

/// Reason why reports could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OpenReportError {
    /// The API server does not serve reports.
    #[error("the API server does not serve {GROUP}/{VERSION}")]
    NotServed,
    /// A permission is missing.
    #[error("{0}")]
    Forbidden(String),
    /// Another client has a report of the name, or another answer came, or none.
    #[error("{0}")]
    Failed(String),
}

impl OpenReportError {
    /// Returns the error that another client has a report of the name.
    pub(crate) fn taken(stored: &StoredReport, written_for: &str) -> Self {
        let StoredMetadata { name, namespace, .. } = &stored.metadata;
        let kind = kind(namespace.as_deref()).1;
        let place = namespace.as_ref().map(|it| format!("{it}/")).unwrap_or_default();
        Self::Failed(format!(
            "{kind} {place}{name} is another client's: its annotation {WRITTEN_FOR} is not \
             {written_for:?}; delete it, or give leaderElection another name"
        ))
    }
}

/// The end of a write that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportWrite {
    /// The report is stored, or deleted.
    Done,
    /// Another client has changed, deleted or created it since it was read.
    Overtaken,
    /// The namespace is being deleted, or does not exist.
    NoNamespace,
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

    /// Reads the reports that have the name, by their namespaces.
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
                page: Some(PAGE),
                // It is by this that the right may be to one name.
                field_selector: Some(format!("metadata.name={}", self.name)),
                label_selector: None,
                form: ListForm::Metadata,
            };
            let listed = list_json::<StoredReport>(&self.reader, &request).await?.value;
            stored.extend(listed.into_iter().map(|it| (it.metadata.namespace.clone(), it)));
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
        written_for: &str,
        over: Option<&StoredReport>,
    ) -> Result<ReportWrite, OpenReportError> {
        let plural = kind(namespace).0;
        let (method, path) = match over {
            Some(_) => (Method::PUT, object_path(GROUP, VERSION, namespace, plural, &self.name)),
            None => (Method::POST, collection_path(GROUP, VERSION, namespace, plural)),
        };
        let over = over.map(|it| &*it.metadata.resource_version);
        let body = report.object((namespace, &self.name), written_for, over);
        self.send(&WriteRequest { method, path, content_type: "application/json", body }).await
    }

    /// Deletes a report as it was read.
    ///
    /// # Errors
    /// [`OpenReportError`]
    pub(crate) async fn remove(
        &self,
        stored: &StoredReport,
    ) -> Result<ReportWrite, OpenReportError> {
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
        self.send(&request).await
    }

    async fn send(&self, request: &WriteRequest) -> Result<ReportWrite, OpenReportError> {
        let Err(error) = self.writer.send(request, false).await else {
            return Ok(ReportWrite::Done);
        };
        let text = error.to_string();
        match error {
            _ if error.is_forbidden() => Err(OpenReportError::Forbidden(text)),
            // Only what is created needs a namespace that stays.
            WriteError::Rejected { absent: Some(_), .. } => Ok(match request.method {
                Method::POST => ReportWrite::NoNamespace,
                Method::DELETE => ReportWrite::Done,
                _ => ReportWrite::Overtaken,
            }),
            WriteError::Rejected { code: 403, message, .. }
                if message.contains("being terminated") =>
            {
                Ok(ReportWrite::NoNamespace)
            }
            WriteError::Rejected { code: 409, .. } => Ok(ReportWrite::Overtaken),
            WriteError::Rejected { .. }
            | WriteError::NotSent(_)
            | WriteError::Withdrawn(_)
            | WriteError::Unanswered(_)
            | WriteError::CarriedOut(_) => Err(OpenReportError::Failed(text)),
        }
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

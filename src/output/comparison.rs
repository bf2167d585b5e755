//! Comparison of two reports: what appeared, what cleared, and what only one of them could have found.
//!
//! A finding that a report lacks is absent only if that report would list it: it is in its scope, was read, and is not
//! hidden. Anything else is `unseen`.

mod clusters;
mod coverage;

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, Read},
};

pub use clusters::{ClusterName, ListedCluster, PairedClusters, ReportClusters};
pub use coverage::ReportCoverage;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::Value;
use thiserror::Error;

use super::table::short_name;
use super::wire::{
    API_VERSION, BaselineComparison, EarlierFinding, Finding, Gap, ObjectReference, ReportMetadata,
    ReportScope, Summary,
};
use crate::model::{Kind, Severity};

/// What `audit diff` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditComparison {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `AuditComparison`.
    pub kind: String,
    /// The earlier report.
    pub old: ReportMetadata,
    /// The later report.
    pub new: ReportMetadata,
    /// How many findings have changed neither their object nor their severity.
    pub unchanged: usize,
    /// What changed, and what cannot be compared: what appeared first, then changed severities, what cleared, and
    /// what one of the reports could not have; each worst first.
    pub changes: Vec<FindingChange>,
}

/// What has become of one finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingChange {
    /// `appeared`, `changed`, `cleared` or `unseen`.
    pub change: String,
    /// The rule that found it.
    pub id: String,
    /// Its severity, the later one.
    pub severity: String,
    /// The earlier severity, if that was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_severity: Option<String>,
    /// The cluster, where one of both reports is about several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Its object.
    pub object: ObjectReference,
    /// One sentence.
    pub summary: String,
    /// `old` or `new`: the report that could not have it; only of `unseen`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_from: Option<String>,
    /// Why it could not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Reason for which a file is no report that can be compared.
#[derive(Debug, Error)]
pub enum SavedReportError {
    /// The file is no report.
    #[error("not a report of `audit -o json`")]
    Malformed(#[source] serde_json::Error),
    /// The file is the beginning of a report.
    #[error("it is cut off")]
    Cut(#[source] serde_json::Error),
    /// The report is of another kind or version.
    #[error("it is {kind:?} of {api_version:?}, not \"AuditReport\" of {API_VERSION:?}")]
    Other {
        /// Kind of the document.
        kind: String,
        /// Version of the document.
        api_version: String,
    },
    /// The report lists the result of a comparison itself.
    #[error("it lists only what was new when it was saved (--new-only)")]
    OnlyNew,
    /// The report does not say what it is about, as those of an earlier version.
    #[error("it does not say what it is about (metadata.scope)")]
    NoScope,
    /// The report does not say where its bytes are, as those of an earlier version.
    #[error("it does not say where its bytes are (summary.storage)")]
    NoStorage,
    /// The report does not say when it was made.
    #[error("it does not say when it was made (metadata.takenAt)")]
    NoTime,
}

impl SavedReportError {
    /// Whether reading failed, and not the report.
    pub fn is_io(&self) -> bool {
        matches!(self, Self::Malformed(error) if error.is_io())
    }
}

impl From<serde_json::Error> for SavedReportError {
    fn from(error: serde_json::Error) -> Self {
        let ended = error.io_error_kind() == Some(io::ErrorKind::UnexpectedEof);
        if error.is_eof() || ended { Self::Cut(error) } else { Self::Malformed(error) }
    }
}

/// Document that `audit -o json` printed, with what `F` keeps of its findings.
#[derive(Debug)]
pub struct SavedDocument<F> {
    /// Time, cluster, version and scope of the report.
    pub metadata: ReportMetadata,
    /// The findings added up.
    pub summary: Summary,
    /// The findings of the report.
    pub findings: F,
    /// The resources that could not be read.
    pub gaps: Vec<Gap>,
}

impl<F: DeserializeOwned> SavedDocument<F> {
    /// Reads a document that `audit -o json` printed.
    ///
    /// # Errors
    /// When it is something else, or not whole.
    pub fn read(from: impl Read) -> Result<Self, SavedReportError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", default, bound(deserialize = "F: Deserialize<'de>"))]
        struct Fields<F> {
            api_version: String,
            kind: String,
            metadata: Value,
            summary: Value,
            findings: Option<F>,
            gaps: Option<Vec<Gap>>,
        }
        // Not derived: that would ask for a default of `F`.
        impl<F> Default for Fields<F> {
            fn default() -> Self {
                let (api_version, kind) = (String::new(), String::new());
                let (metadata, summary) = (Value::Null, Value::Null);
                Self { api_version, kind, metadata, summary, findings: None, gaps: None }
            }
        }
        let fields: Fields<F> = serde_json::from_reader(from)?;
        if (&*fields.kind, &*fields.api_version) != ("AuditReport", API_VERSION) {
            let Fields { kind, api_version, .. } = fields;
            return Err(SavedReportError::Other { kind, api_version });
        }
        let missing = |field| <serde_json::Error as serde::de::Error>::missing_field(field);
        Ok(Self {
            metadata: serde_json::from_value(fields.metadata)?,
            summary: serde_json::from_value(fields.summary)?,
            findings: fields.findings.ok_or_else(|| missing("findings"))?,
            gaps: fields.gaps.ok_or_else(|| missing("gaps"))?,
        })
    }
}

/// A saved report, reduced to what is compared.
#[derive(Debug, Clone)]
pub struct SavedReport {
    /// Time, cluster, version and scope of the report.
    pub metadata: ReportMetadata,
    clusters: ReportClusters,
    /// What it calls the cluster of a later report, if that is about one and this about several.
    alone: ClusterName,
    scope: ReportScope,
    findings: Vec<SavedFinding>,
    gaps: Vec<Gap>,
    /// Number of findings that are counted and not listed, by rule.
    hidden: HashMap<String, usize>,
    /// Index of each finding in the list.
    places: HashMap<FindingKey, usize>,
}

/// A finding of a saved report, reduced to what is compared.
#[derive(Debug, Clone, Deserialize)]
pub struct SavedFinding {
    id: String,
    severity: String,
    cluster: ClusterName,
    object: ObjectReference,
    summary: String,
    volume: Option<SavedVolume>,
    /// The other clusters that have to do with it.
    #[serde(default, rename = "related", deserialize_with = "clusters_of")]
    beyond: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct SavedVolume {
    claim: Option<String>,
}

/// Reads the clusters of objects.
fn clusters_of<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    struct InCluster {
        cluster: Option<String>,
    }
    let objects = Vec::<InCluster>::deserialize(from)?;
    Ok(objects.into_iter().filter_map(|it| it.cluster).collect())
}

/// Identity of a finding in two reports: its rule, its cluster, and kind, namespace and name of its object.
type FindingKey = (String, ClusterName, String, Option<String>, String);

fn key(id: &str, cluster: &ClusterName, object: &ObjectReference) -> FindingKey {
    let ObjectReference { kind, namespace, name, .. } = object;
    (id.to_owned(), cluster.clone(), kind.clone(), namespace.clone(), name.clone())
}

impl From<&Finding> for SavedFinding {
    fn from(finding: &Finding) -> Self {
        let Finding { id, severity, cluster, object, summary, volume, .. } = finding;
        let claim = volume.as_ref().map(|it| SavedVolume { claim: it.claim.clone() });
        Self {
            id: id.clone(),
            severity: severity.clone(),
            cluster: cluster.clone(),
            object: object.clone(),
            summary: summary.clone(),
            volume: claim,
            beyond: finding.related.iter().filter_map(|it| it.cluster.clone()).collect(),
        }
    }
}

impl SavedFinding {
    /// Returns the namespace by which scopes select the finding, as far as a report says it.
    fn namespace(&self) -> Option<&str> {
        if self.object.kind == Kind::Namespace.name() {
            return Some(&self.object.name);
        }
        let of_claim = || Some(self.volume.as_ref()?.claim.as_ref()?.split_once('/')?.0);
        self.object.namespace.as_deref().or_else(of_claim)
    }
}

impl ReportScope {
    /// Returns what the report was asked about, if that is not everything; each part in few words.
    pub fn narrowed(&self) -> Vec<String> {
        let list = |names: &[String]| (!names.is_empty()).then(|| names.join(", "));
        let objects: Vec<_> = self.objects.iter().map(short_name).collect();
        let parts = [
            list(&self.namespaces).map(|it| format!("namespace {it}")),
            self.selector.as_ref().map(|it| format!("labels {it}")),
            self.field_selector.as_ref().map(|it| format!("fields {it}")),
            list(&objects),
            list(&self.rules).map(|it| format!("findings of {it}")),
            list(&self.ignored).map(|it| format!("no findings of {it}")),
        ];
        parts.into_iter().flatten().collect()
    }
}

/// Whether a severity is worse than another one, or than one that this version does not know.
fn is_worse(severity: &str, than: &str) -> bool {
    let (severity, than) = (Severity::parse(severity), Severity::parse(than));
    severity.is_some_and(|it| than.is_none_or(|than| it < than))
}

/// Whether two references with one name are to two objects.
fn is_another(a: &ObjectReference, b: &ObjectReference) -> bool {
    a.uid.as_ref().zip(b.uid.as_ref()).is_some_and(|(a, b)| a != b)
}

/// State of a finding compared with an earlier report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaselineState {
    /// The earlier report lacks the finding, or has it less severe, with fewer clusters, or about another object of the
    /// same name.
    New,
    /// The earlier report has the finding.
    Known,
    /// The earlier report could not have the finding.
    Unseen,
}

impl BaselineState {
    /// Returns the name of the state in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Known => "known",
            Self::Unseen => "unseen",
        }
    }
}

impl TryFrom<SavedDocument<Vec<SavedFinding>>> for SavedReport {
    type Error = SavedReportError;

    fn try_from(document: SavedDocument<Vec<SavedFinding>>) -> Result<Self, SavedReportError> {
        let SavedDocument { metadata, summary, findings, gaps } = document;
        let scope = metadata.scope.clone().ok_or(SavedReportError::NoScope)?;
        let contents = summary.comparable();
        let mut hidden: HashMap<String, usize> = summary.by_id.into_iter().collect();
        for finding in &findings {
            if let Some(count) = hidden.get_mut(&finding.id) {
                *count = count.saturating_sub(1);
            }
        }
        let (places, clusters) = (places(&findings), ReportClusters::of(&metadata, contents));
        Ok(Self { metadata, clusters, alone: None, scope, findings, gaps, hidden, places })
    }
}

/// Returns the index of each finding in the list.
fn places(findings: &[SavedFinding]) -> HashMap<FindingKey, usize> {
    let places = findings.iter().enumerate();
    places.map(|(at, it)| (key(&it.id, &it.cluster, &it.object), at)).collect()
}

impl SavedReport {
    /// Returns this report if a later one can be compared with it: findings that it does not list would stay unseen for
    /// ever.
    ///
    /// # Errors
    /// When it was made with `--new-only`.
    pub fn as_baseline(self) -> Result<Self, SavedReportError> {
        match self.scope.hidden.as_ref().is_some_and(|it| it.known) {
            true => Err(SavedReportError::OnlyNew),
            false => Ok(self),
        }
    }

    /// Returns this report with the clusters called as a later one calls them, which is about to be compared with it.
    #[must_use]
    pub fn aligned(mut self, later: &ReportMetadata) -> Self {
        if self.metadata.clusters.is_empty() && later.clusters.is_empty() {
            return self;
        }
        let paired = PairedClusters::of(&self.metadata, later);
        let names = paired.names();
        self.alone = match &paired.both[..] {
            [(old, new)] if new.name.is_none() => old.name.map(str::to_owned),
            _ => None,
        };
        let renamed = |name: ClusterName| names.get(&name).cloned().unwrap_or(name);
        self.clusters.names = names.values().cloned().collect();
        for finding in &mut self.findings {
            finding.cluster = renamed(finding.cluster.take());
            let beyond = finding.beyond.iter().filter_map(|it| renamed(Some(it.clone())));
            finding.beyond = beyond.collect();
        }
        for gap in &mut self.gaps {
            gap.cluster = renamed(gap.cluster.take());
        }
        for exempted in &mut self.scope.exempted {
            exempted.cluster = renamed(exempted.cluster.take());
        }
        self.places = places(&self.findings);
        self
    }

    fn coverage(&self) -> ReportCoverage<'_> {
        let Self { clusters, scope, gaps, hidden, .. } = self;
        ReportCoverage { clusters, scope, gaps, hidden: Some(hidden), is_earlier: false }
    }

    fn find(
        &self,
        id: &str,
        cluster: &ClusterName,
        object: &ObjectReference,
    ) -> Option<&SavedFinding> {
        self.places.get(&key(id, cluster, object)).and_then(|at| self.findings.get(*at))
    }

    /// Returns the state of a finding of a later report compared with this one.
    pub fn state(&self, finding: &Finding, later: ReportCoverage) -> BaselineState {
        match self.find(&finding.id, &finding.cluster, &finding.object) {
            Some(earlier) => {
                let rose = is_worse(&finding.severity, &earlier.severity);
                // A cluster more has to do with it.
                let mut beyond = finding.related.iter().filter_map(|it| it.cluster.as_ref());
                let spread = beyond.any(|it| !earlier.beyond.contains(it));
                match rose || spread || is_another(&earlier.object, &finding.object) {
                    true => BaselineState::New,
                    false => BaselineState::Known,
                }
            }
            None if self.lacks(&finding.into(), later).is_some() => BaselineState::Unseen,
            None => BaselineState::New,
        }
    }

    /// Returns why this report may lack a finding of a later one; `None` if it did not exist, or was less severe.
    fn lacks(&self, finding: &SavedFinding, later: ReportCoverage) -> Option<String> {
        // Had it been as severe as those that are listed, it would be listed.
        let is_listed = self.scope.hidden.as_ref().is_none_or(|hidden| {
            let least = hidden.less_severe_than.as_deref();
            !hidden.known && least.is_some_and(|least| !is_worse(least, &finding.severity))
        });
        let hidden = Some(&self.hidden).filter(|_| !is_listed);
        let coverage = ReportCoverage { hidden, is_earlier: true, ..self.coverage() };
        coverage.blind(finding, later.scope, later.gaps)
    }

    /// Compares all findings of a later report with this one.
    pub fn compare(
        &self,
        later: ReportCoverage,
        findings: impl Iterator<Item = Finding>,
        mut told: impl FnMut(&Finding, BaselineState),
    ) -> BaselineComparison {
        let mut compared = BaselineComparison {
            taken_at: self.metadata.taken_at.clone(),
            tool: Some(self.metadata.tool.clone()),
            ..BaselineComparison::default()
        };
        // Of each: whether it is there, if an object of its name is.
        let mut there = vec![None; self.findings.len()];
        for finding in findings {
            let state = self.state(&finding, later);
            match state {
                BaselineState::New => compared.new += 1,
                BaselineState::Known => compared.known += 1,
                BaselineState::Unseen => compared.unseen += 1,
            }
            told(&finding, state);
            if let Some(at) = self.places.get(&key(&finding.id, &finding.cluster, &finding.object))
            {
                there[*at] = Some(!is_another(&self.findings[*at].object, &finding.object));
            }
        }
        for (earlier, there) in self.findings.iter().zip(there) {
            let reason = match there {
                Some(true) => continue,
                // A deleted object has no findings, whatever is asked for.
                Some(false) => None,
                None => later.blind(earlier, &self.scope, &[]),
            };
            let SavedFinding { id, severity, cluster, object, .. } = earlier.clone();
            let list = match reason {
                None => &mut compared.cleared,
                Some(_) => &mut compared.not_seen,
            };
            list.push(EarlierFinding { id, severity, cluster, object, reason });
        }
        compared
    }
}

/// Compares two saved reports, of which the earlier one is [aligned](SavedReport::aligned) with the later one.
pub fn diff(old: &SavedReport, new: &SavedReport) -> AuditComparison {
    let of_new = new.coverage();
    let change = |change: &str, it: &SavedFinding| FindingChange {
        change: change.to_owned(),
        id: it.id.clone(),
        severity: it.severity.clone(),
        earlier_severity: None,
        cluster: it.cluster.clone().or_else(|| old.alone.clone()),
        object: it.object.clone(),
        summary: it.summary.clone(),
        missing_from: None,
        reason: None,
    };
    let unseen = |from: &str, reason: String, it: &SavedFinding| FindingChange {
        missing_from: Some(from.to_owned()),
        reason: Some(reason),
        ..change("unseen", it)
    };
    let mut unchanged = 0;
    let mut changes = Vec::new();
    for later in &new.findings {
        let earlier = old.find(&later.id, &later.cluster, &later.object);
        match earlier.filter(|it| !is_another(&it.object, &later.object)) {
            Some(earlier) if earlier.severity == later.severity => unchanged += 1,
            Some(earlier) => changes.push(FindingChange {
                earlier_severity: Some(earlier.severity.clone()),
                ..change("changed", later)
            }),
            None => changes.push(match old.lacks(later, of_new) {
                // Another object of its name was seen: so would this one have been.
                Some(reason) if earlier.is_none() => unseen("old", reason, later),
                _ => change("appeared", later),
            }),
        }
    }
    for earlier in &old.findings {
        let later = new.find(&earlier.id, &earlier.cluster, &earlier.object);
        match later {
            Some(later) if !is_another(&earlier.object, &later.object) => {}
            // A deleted object has no findings, whatever is asked for.
            Some(_) => changes.push(change("cleared", earlier)),
            None => changes.push(match of_new.blind(earlier, &old.scope, &[]) {
                Some(reason) => unseen("new", reason, earlier),
                None => change("cleared", earlier),
            }),
        }
    }
    let order: BTreeMap<&str, usize> =
        ["appeared", "changed", "cleared", "unseen"].into_iter().zip(0..).collect();
    // The lists of both reports are sorted, worst first, and remain so.
    changes.sort_by_key(|it| (order.get(&*it.change).copied(), Severity::parse(&it.severity)));
    AuditComparison {
        api_version: API_VERSION.to_owned(),
        kind: "AuditComparison".to_owned(),
        old: old.metadata.clone(),
        new: new.metadata.clone(),
        unchanged,
        changes,
    }
}

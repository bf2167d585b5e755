//! The public shapes of reports. Scripts rest on them: fields are added, never renamed.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::inventory::{InventorySummary, ListedDisk};
use super::money::Money;
pub use super::storage::{StorageAmounts, StorageShare};
use crate::facts::UsageSummary;
use crate::model::counted;
use crate::rules::ReportContents;

/// Version of every shape in this file.
pub const API_VERSION: &str = "storage.kubectl.dev/v1alpha1";

/// What `audit` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditReport {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `AuditReport`.
    pub kind: String,
    /// When, of what, by which version and with which thresholds.
    pub metadata: ReportMetadata,
    /// The findings added up.
    pub summary: Summary,
    /// What has become of the findings of an earlier report (`--baseline`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineComparison>,
    /// What is wrong, worst first.
    pub findings: Vec<Finding>,
    /// What was not seen.
    pub gaps: Vec<Gap>,
}

/// The report without its lists, which are written one by one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportHead {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    /// Time, cluster, version, thresholds and scope of the report.
    pub metadata: ReportMetadata,
    /// The findings added up.
    pub summary: Summary,
    /// Comparison of the findings with those of an earlier report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineComparison>,
}

/// The end of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportTail {
    /// The resources that were not read.
    pub gaps: Vec<Gap>,
}

/// When, of what, by which version and with which thresholds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportMetadata {
    /// The server's clock when the report was made, or when the dump was taken; absent when a dump
    /// does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_at: Option<String>,
    /// Where the objects came from.
    pub source: Source,
    /// The cluster; empty where it is about several.
    pub cluster: ClusterIdentity,
    /// The clusters of a report about several, in the order in which they were named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<ReportedCluster>,
    /// The tool.
    pub tool: Tool,
    /// Every duration that ages were compared with.
    pub thresholds: BTreeMap<String, String>,
    /// What `audit` was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ReportScope>,
    /// The folder whose records of earlier runs were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<String>,
}

/// What a report is about: of anything else, it says nothing. Without fields, that is the whole cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportScope {
    /// Only these namespaces (`-n`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// Only objects with these labels (`-l`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Only objects with these fields (`--field-selector`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_selector: Option<String>,
    /// Only these objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<ObjectReference>,
    /// Only findings of these rules (`--rule`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// No findings of these rules (`--ignore`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// Not these findings: their objects carry the annotation `storage.kubectl.dev/ignore`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exempted: Vec<NamedFinding>,
    /// What `--severity` and `--new-only` leave out of `findings`, but not out of `summary`; absent if that is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HiddenFindings>,
}

impl ReportScope {
    /// Whether findings of a rule were asked for.
    pub fn asks_for(&self, id: &str) -> bool {
        let named = |ids: &[String]| ids.iter().any(|it| it == id);
        (self.rules.is_empty() || named(&self.rules)) && !named(&self.ignored)
    }
}

/// A finding, by what tells it apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NamedFinding {
    /// The rule that found it.
    pub id: String,
    /// The cluster, in a report about several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Its object.
    pub object: ObjectReference,
}

/// Findings that are counted and not listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HiddenFindings {
    /// They are less severe than this (`--severity`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub less_severe_than: Option<String>,
    /// They are not new (`--new-only`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// How many they are.
    pub count: usize,
}

impl HiddenFindings {
    /// Describes the number of hidden findings, and which they are.
    pub fn told(&self) -> String {
        format!("{} counted, not listed: {}", counted(self.count, "finding"), self.what())
    }

    /// Describes which findings are hidden.
    pub fn what(&self) -> String {
        let known = self.known.then(|| "those that are not new".to_owned());
        let less = self.less_severe_than.as_ref().map(|it| format!("those less severe than {it}"));
        known.into_iter().chain(less).collect::<Vec<_>>().join(" and ")
    }
}

/// Where the objects came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// An API server, once.
    Live,
    /// A saved dump.
    Dump,
    /// An API server, continuously.
    Watch,
    /// None: what is known without a cluster.
    None,
}

/// Which cluster it is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterIdentity {
    /// Uid of the namespace `kube-system`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The server's URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The server's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// One of several clusters of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedCluster {
    /// What findings and gaps call it.
    pub name: String,
    /// Which cluster it is.
    #[serde(flatten)]
    pub identity: ClusterIdentity,
    /// Its clock when it was read, or when its dump was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_at: Option<String>,
    /// Where its objects came from.
    pub source: Source,
    /// How many volumes there are in scope.
    pub volumes: usize,
    /// How many claims there are in scope.
    pub claims: usize,
    /// How many findings there are.
    pub findings: usize,
    /// How many findings of each severity; only those that there are.
    #[serde(default)]
    pub by_severity: BTreeMap<String, usize>,
    /// How many findings of each rule; only those that there are.
    #[serde(default)]
    pub by_id: BTreeMap<String, usize>,
    /// How many gaps there are.
    pub gaps: usize,
}

/// Which tool made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Tool {
    /// Its version.
    pub version: String,
}

/// The findings added up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// How many volumes there are in scope.
    pub volumes: usize,
    /// How many claims there are in scope.
    pub claims: usize,
    /// How many findings of each severity; every severity is named.
    pub by_severity: BTreeMap<String, usize>,
    /// How many findings of each rule; only those that there are.
    pub by_id: BTreeMap<String, usize>,
    /// How many findings another finding explains: those with `causedBy`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub caused: usize,
    /// How many findings were left out by annotation, exemption or `--ignore`.
    pub exempted: usize,
    /// Capacity that could be reclaimed now.
    pub reclaimable: String,
    /// Capacity of all Released volumes.
    pub released: String,
    /// Capacity that is, or is about to be, billed without an object that names it.
    pub leaking: String,
    /// Capacity whose data can be destroyed, or read by others.
    pub at_risk: String,
    /// The same by where it is, each backend volume once, whatever `findings` leaves out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Vec<StorageShare>>,
    /// What became of the disks that `--inventory` lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<InventorySummary>,
    /// What is known of how full volumes are, by `--usage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageSummary>,
    /// What that is wasted costs, by `--price`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<Money>,
}

/// What of a report may be compared with what another one says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ComparableContents {
    /// Whether it is about disks of providers.
    pub disks: bool,
    /// Whether every claim was judged by figures of how full it is; `None` where there were none.
    pub usage: Option<bool>,
}

impl ComparableContents {
    /// Returns what of a report with these summaries may be compared.
    pub fn of(inventory: Option<&InventorySummary>, usage: Option<&UsageSummary>) -> Self {
        Self { disks: inventory.is_some(), usage: usage.map(UsageSummary::is_whole) }
    }
}

impl Summary {
    /// Returns what of the report may be compared.
    pub(super) fn comparable(&self) -> ComparableContents {
        ComparableContents::of(self.inventory.as_ref(), self.usage.as_ref())
    }

    /// Returns what the report about one cluster has.
    pub(super) fn contents(&self) -> ReportContents {
        let (inventory, usage) = (self.inventory.is_some(), self.usage.is_some());
        ReportContents { inventory, usage, clusters: false }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls it with")]
pub(super) fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// One thing that is wrong with one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The rule that found it.
    pub id: String,
    /// `critical`, `high`, `medium`, `low` or `info`.
    pub severity: String,
    /// The cluster, in a report about several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The object. There is at most one finding per id and object.
    pub object: ObjectReference,
    /// With `--baseline`: `new`, `known`, or `unseen` if the earlier report could not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// One sentence.
    pub summary: String,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age: Option<Age>,
    /// What tells it apart from other volumes, when it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    /// The disk at its provider, of a finding about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<ListedDisk>,
    /// What proves it.
    pub evidence: Vec<Evidence>,
    /// Other objects that have to do with it.
    pub related: Vec<ObjectReference>,
    /// The findings that explain it, the most direct one first; absent when there is none. They may
    /// be out of the scope of the report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caused_by: Vec<CausedBy>,
    /// Whether something can be done.
    pub verdict: Verdict,
    /// What could be done; absent when the finding is report-only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
}

/// What `audit --watch -o json` and `watch -o json` print, one object a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingEvent {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `FindingEvent`.
    pub kind: String,
    /// `appeared`, `changed` or `cleared`. What is there at the beginning has appeared.
    pub event: String,
    /// The server's clock when this was found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The finding, with its fields beside those above.
    #[serde(flatten)]
    pub finding: EventFinding,
}

/// The finding of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum EventFinding {
    /// It is there.
    Present(Box<Finding>),
    /// It has cleared.
    Cleared(ClearedFinding),
}

/// A finding that is not there any more, or is not reported any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClearedFinding {
    /// The rule that had found it.
    pub id: String,
    /// Its last severity.
    pub severity: String,
    /// Its object, which may not exist any more.
    pub object: ObjectReference,
    /// `true` if it may still be there, and the scope, an exemption or an annotation leaves it out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_out: bool,
}

/// What has become of the findings of an earlier report (`--baseline`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BaselineComparison {
    /// When the earlier report was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_at: Option<String>,
    /// Which tool made it.
    pub tool: Option<Tool>,
    /// How many findings are new: they were not there, were less severe, had fewer clusters, or are about another object
    /// of the same name.
    pub new: usize,
    /// How many findings were there.
    pub known: usize,
    /// How many findings the earlier report could not have: whether they are new is unknown.
    pub unseen: usize,
    /// The findings of the earlier report that are not there any more.
    pub cleared: Vec<EarlierFinding>,
    /// Those that this report does not have, and could not have: they may still be there.
    pub not_seen: Vec<EarlierFinding>,
}

/// A finding of an earlier report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EarlierFinding {
    /// The rule that found it.
    pub id: String,
    /// Its severity.
    pub severity: String,
    /// The cluster, where one of both reports is about several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Its object.
    pub object: ObjectReference,
    /// Why it was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A finding that explains another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CausedBy {
    /// The rule that found it.
    pub id: String,
    /// Its object.
    pub object: ObjectReference,
}

/// An object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// The cluster, where it is another one than that of the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// API version of its kind.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace, for kinds that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its uid, when it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// Since when something has been so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Age {
    /// The beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Seconds between then and `takenAt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<i64>,
    /// `corroborated`, `conflicting`, `single-source`, `lower-bound` or `unknown`.
    pub trust: String,
}

/// What tells a volume apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// Its capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<String>,
    /// Its phase.
    pub phase: String,
    /// The claim that it is or was bound to, as `namespace/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Its storage class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<String>,
    /// Its CSI driver, provisioner or plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Its reclaim policy.
    pub reclaim_policy: String,
}

/// A field and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Evidence {
    /// The object, as `kind/name`.
    pub object: String,
    /// The field, or the name of a derived fact.
    pub field: String,
    /// Its value.
    pub value: String,
}

/// Whether something can be done about a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Verdict {
    /// `fixable`, `blocked`, `report-only` or `unseen`.
    pub state: String,
    /// Why.
    pub reason: String,
}

/// What could be done about a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Remedy {
    /// The command, where this version has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What it would do.
    pub effect: String,
    /// What is lost if the judgement is wrong.
    pub risk: String,
}

/// Something that was not seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Gap {
    /// The cluster, in a report about several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The resource.
    pub resource: String,
    /// The namespace, when it is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Why.
    pub reason: String,
    /// Findings, or their verdicts, that could therefore not be judged everywhere.
    pub ids: Vec<String>,
}

impl Gap {
    /// The resource of a gap where nothing of a cluster was read.
    pub const ALL_KINDS: &'static str = "all kinds";

    /// Returns the resource, with its namespace when it is only one.
    pub fn place(&self) -> String {
        let place = match &self.namespace {
            Some(namespace) => format!("{} of namespace {namespace}", self.resource),
            None => self.resource.clone(),
        };
        self.cluster.as_ref().map_or(place.clone(), |cluster| format!("{cluster}: {place}"))
    }

    /// Describes what was not read, and why.
    pub fn told(&self) -> String {
        format!("{}: {}", self.place(), self.reason)
    }
}

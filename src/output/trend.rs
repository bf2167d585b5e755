//! What saved reports say over time: `audit trend`.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    lines::readable,
    sections::Grouping,
    table::{TableStyle, TextTable},
    tally::{Amounts, Place, StorageTally, Waste},
    wire::{API_VERSION, ClusterIdentity, ReportMetadata, Summary, Tool},
};
use crate::model::format_bytes;

/// What `audit trend` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageTrend {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `StorageTrend`.
    pub kind: String,
    /// One for each cluster, and for each scope of its reports.
    pub series: Vec<TrendSeries>,
}

/// The reports of one cluster that are about the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrendSeries {
    /// The cluster, as the newest report names it.
    pub cluster: ClusterIdentity,
    /// What the reports were narrowed to; absent where they are about the whole cluster, or do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Value>,
    /// The reports, the oldest first.
    pub reports: Vec<TrendPoint>,
}

/// What one report says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrendPoint {
    /// When the report was made.
    pub taken_at: String,
    /// What made it.
    pub tool: Tool,
    /// How many findings it has.
    pub findings: usize,
    /// Whether something was not read.
    #[serde(rename = "incomplete")]
    pub is_incomplete: bool,
    /// The bytes of its summary.
    #[serde(flatten)]
    pub total: TrendAmounts,
    /// Bytes of the volumes in findings, by storage class; the empty name is none.
    pub by_class: BTreeMap<String, TrendAmounts>,
    /// The same by namespace.
    pub by_namespace: BTreeMap<String, TrendAmounts>,
}

/// Bytes, as quantities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrendAmounts {
    /// Capacity of Released volumes.
    pub released: String,
    /// Capacity that is, or is about to be, billed without an object that names it.
    pub leaking: String,
    /// Capacity whose data can be destroyed, or read by others.
    pub at_risk: String,
}

/// By what the bytes of reports are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrendGroup {
    /// By storage class.
    Class,
    /// By namespace.
    Namespace,
}

/// A report as it was saved, of which findings are only added up.
#[derive(Debug, Deserialize)]
pub struct SavedReport {
    metadata: SavedMetadata,
    summary: Summary,
    findings: StorageTally,
    gaps: Vec<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct SavedMetadata {
    #[serde(default)]
    scope: Option<Value>,
    #[serde(flatten)]
    known: ReportMetadata,
}

impl TrendAmounts {
    fn of(amounts: &Amounts) -> Self {
        Self {
            released: format_bytes(amounts.of(Waste::Released)),
            leaking: format_bytes(amounts.of(Waste::Leaking)),
            at_risk: format_bytes(amounts.at_risk),
        }
    }
}

impl TrendPoint {
    /// The bytes by name of a group.
    pub fn by(&self, group: TrendGroup) -> &BTreeMap<String, TrendAmounts> {
        match group {
            TrendGroup::Class => &self.by_class,
            TrendGroup::Namespace => &self.by_namespace,
        }
    }
}

impl TrendSeries {
    /// What people call it.
    pub fn name(&self) -> String {
        let ClusterIdentity { uid, server, .. } = &self.cluster;
        let name = server.as_ref().or(uid.as_ref());
        let name = name.map_or_else(|| "unnamed cluster".to_owned(), Clone::clone);
        self.scope.as_ref().map(|it| format!("{name} {it}")).unwrap_or(name)
    }

    /// Every name that a group has in any report.
    pub fn names(&self, group: TrendGroup) -> BTreeSet<&str> {
        self.reports.iter().flat_map(|it| it.by(group).keys().map(String::as_str)).collect()
    }

    /// By what reports are known to be of one series: a server has other names, a cluster has one uid.
    fn key(&self) -> (Option<String>, String) {
        let ClusterIdentity { uid, server, .. } = &self.cluster;
        let scope = self.scope.as_ref().map(ToString::to_string).unwrap_or_default();
        (uid.clone().or_else(|| server.clone()), scope)
    }
}

/// What is said of a scope; nothing where it narrows nothing.
fn narrowed(scope: Option<Value>) -> Option<Value> {
    let Some(Value::Object(mut fields)) = scope else { return None };
    fields.retain(|_, it| match it {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    });
    (!fields.is_empty()).then_some(Value::Object(fields))
}

impl Default for StorageTrend {
    fn default() -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "StorageTrend".to_owned(),
            series: Vec::new(),
        }
    }
}

impl StorageTrend {
    /// Adds a report where it belongs.
    ///
    /// # Errors
    /// A report that does not say when it was made.
    pub fn add(&mut self, report: SavedReport) -> Result<(), NoTime> {
        let SavedReport { metadata: SavedMetadata { scope, known }, summary, findings, gaps } =
            report;
        let groups = |by: Grouping| -> BTreeMap<String, TrendAmounts> {
            let places = findings.by(Place::Group(by)).into_iter();
            places
                .map(|(name, it)| {
                    (name.as_deref().unwrap_or_default().to_owned(), TrendAmounts::of(&it))
                })
                .collect()
        };
        let Summary { released, leaking, at_risk, .. } = summary;
        let point = TrendPoint {
            taken_at: known.taken_at.ok_or(NoTime)?,
            tool: known.tool,
            findings: findings.findings,
            is_incomplete: !gaps.is_empty(),
            total: TrendAmounts { released, leaking, at_risk },
            by_class: groups(Grouping::Class),
            by_namespace: groups(Grouping::Namespace),
        };
        let alone =
            TrendSeries { cluster: known.cluster, scope: narrowed(scope), reports: Vec::new() };
        let key = alone.key();
        let at = self.series.iter().position(|it| it.key() == key).unwrap_or(self.series.len());
        if at == self.series.len() {
            self.series.push(alone);
        } else if self.series[at].reports.last().is_some_and(|it| it.taken_at < point.taken_at) {
            self.series[at].cluster = alone.cluster;
        }
        let reports = &mut self.series[at].reports;
        match reports.binary_search_by(|it| it.taken_at.cmp(&point.taken_at)) {
            // The same report under another name, or what a later run said of the same dump.
            Ok(same) => reports[same] = point,
            Err(place) => reports.insert(place, point),
        }
        Ok(())
    }
}

/// A report does not say when it was made.
#[derive(Debug, thiserror::Error)]
#[error("it does not say when it was made (metadata.takenAt)")]
pub struct NoTime;

/// Prints a line for each report, or for each report and group.
///
/// # Errors
/// When writing fails.
pub fn table(
    out: &mut dyn Write,
    trend: &StorageTrend,
    group: Option<TrendGroup>,
    headers: bool,
) -> io::Result<()> {
    let is_one = trend.series.len() == 1;
    let mut titles = if is_one { Vec::new() } else { vec!["CLUSTER"] };
    titles.extend(match group {
        None => None,
        Some(TrendGroup::Class) => Some("CLASS"),
        Some(TrendGroup::Namespace) => Some("NAMESPACE"),
    });
    titles.extend(["TAKEN-AT", "RELEASED", "LEAKING", "AT-RISK"]);
    titles.extend(group.is_none().then_some("FINDINGS"));
    let style = TableStyle { headers, width: None, escape: readable };
    let mut table = TextTable::new(out, &titles, style);
    let none = TrendAmounts::of(&Amounts::default());
    for series in &trend.series {
        let names = group.map(|it| series.names(it).into_iter().map(Some).collect());
        for name in names.unwrap_or_else(|| vec![None]) {
            for report in &series.reports {
                let of_group = |name| group.and_then(|it| report.by(it).get(name)).unwrap_or(&none);
                let amounts = name.map_or(&report.total, of_group);
                let mut cells = if is_one { Vec::new() } else { vec![series.name()] };
                cells.extend(name.map(|it| if it.is_empty() { "<none>" } else { it }.to_owned()));
                cells.push(report.taken_at.clone());
                cells.extend(
                    [&amounts.released, &amounts.leaking, &amounts.at_risk].map(Clone::clone),
                );
                if name.is_none() {
                    let incomplete = if report.is_incomplete { " (incomplete)" } else { "" };
                    cells.push(format!("{}{incomplete}", report.findings));
                }
                table.row(cells)?;
            }
        }
    }
    table.finish()
}

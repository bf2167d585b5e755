//! The bytes of saved reports over time: `audit trend`.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::{
    comparison::{SavedDocument, SavedReportError},
    lines::readable,
    table::{TableStyle, TextTable},
    wire::{
        API_VERSION, ClusterIdentity, Gap, ReportMetadata, ReportScope, ReportedCluster,
        StorageAmounts, StorageShare, Tool,
    },
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
    /// What the newest report about several clusters calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The cluster, as the newest report names it.
    pub cluster: ClusterIdentity,
    /// What the reports were narrowed to; absent where they are about the whole cluster, or do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ReportScope>,
    /// The reports, the oldest first.
    pub reports: Vec<TrendPoint>,
    /// The name, where another cluster has the same uid: one was cloned from the other.
    #[serde(skip)]
    clone: Option<String>,
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
    /// Every duration that ages were compared with.
    pub thresholds: BTreeMap<String, String>,
    /// All bytes.
    #[serde(flatten)]
    pub total: StorageAmounts,
    /// The same by storage class; the empty name is none.
    pub by_class: BTreeMap<String, StorageAmounts>,
    /// The same by namespace.
    pub by_namespace: BTreeMap<String, StorageAmounts>,
}

/// Property by which the bytes of reports are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrendGroup {
    /// The storage class.
    Class,
    /// The namespace.
    Namespace,
}

impl TrendPoint {
    /// Returns the bytes by name of a group.
    pub fn by(&self, group: TrendGroup) -> &BTreeMap<String, StorageAmounts> {
        match group {
            TrendGroup::Class => &self.by_class,
            TrendGroup::Namespace => &self.by_namespace,
        }
    }
}

impl TrendSeries {
    /// Returns every name that a group has in any report.
    pub fn names(&self, group: TrendGroup) -> BTreeSet<&str> {
        self.reports.iter().flat_map(|it| it.by(group).keys().map(String::as_str)).collect()
    }

    /// Returns the identity of a series: the uid of the cluster, since its server may have several names, else its
    /// server or its name; and the scope.
    fn key(&self) -> (Option<&String>, Option<&String>, Option<&ReportScope>) {
        let ClusterIdentity { uid, server, .. } = &self.cluster;
        let cluster = uid.as_ref().or(server.as_ref()).or(self.name.as_ref());
        (cluster, self.clone.as_ref(), self.scope.as_ref())
    }
}

/// Returns the scope to which a report was narrowed, if it was. What annotations leave out, and which findings are not
/// listed, differs from report to report of the same.
fn narrowed(scope: Option<ReportScope>) -> Option<ReportScope> {
    let asked = ReportScope { exempted: Vec::new(), hidden: None, ..scope? };
    (asked != ReportScope::default()).then_some(asked)
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
    /// Returns the name of a series for people: that of a report about several clusters, else its server, with the uid
    /// where another cluster has that, too, and what it is narrowed to.
    pub fn name(&self, series: &TrendSeries) -> String {
        let ClusterIdentity { uid, .. } = &series.cluster;
        let called = |it: &TrendSeries| it.name.clone().or_else(|| it.cluster.server.clone());
        let name = called(series);
        let is_other = |it: &TrendSeries| it.cluster.uid != *uid && called(it) == name;
        let several = self.series.iter().any(is_other);
        let mut parts = Vec::new();
        parts.extend(uid.clone().filter(|_| name.is_some() && several));
        parts.extend(series.scope.iter().flat_map(ReportScope::narrowed));
        let name = name.as_ref().or(uid.as_ref()).map_or("unnamed cluster", |it| it);
        match parts.is_empty() {
            true => name.to_owned(),
            false => format!("{name} ({})", parts.join("; ")),
        }
    }

    /// Adds a report to the series of its clusters, and returns the names of those that could not be read then, which
    /// have no figures.
    ///
    /// # Errors
    /// A report that does not say when it was made, or where its bytes are.
    pub fn add(
        &mut self,
        report: SavedDocument<Vec<IgnoredAny>>,
    ) -> Result<Vec<String>, SavedReportError> {
        let SavedDocument { metadata, summary, gaps, .. } = report;
        let storage = summary.storage.ok_or(SavedReportError::NoStorage)?;
        let scope = narrowed(metadata.scope.clone());
        if metadata.clusters.is_empty() {
            let found = summary.by_severity.values().sum();
            let taken_at = metadata.taken_at.clone().ok_or(SavedReportError::NoTime)?;
            let shares: Vec<_> = storage.iter().collect();
            let point = point(&metadata, taken_at, (found, !gaps.is_empty()), &shares);
            let (cluster, reports) = (metadata.cluster, Vec::new());
            self.insert(TrendSeries { name: None, cluster, scope, reports, clone: None }, point);
            return Ok(Vec::new());
        }
        let mut unread = Vec::new();
        for cluster in &metadata.clusters {
            let name = Some(cluster.name.clone());
            let is_unread = |it: &Gap| it.cluster == name && it.resource == Gap::ALL_KINDS;
            let taken_at = match &cluster.taken_at {
                Some(taken_at) => taken_at.clone(),
                None if gaps.iter().any(is_unread) => {
                    unread.extend(name);
                    continue;
                }
                None => return Err(SavedReportError::NoTime),
            };
            let shares: Vec<_> = storage.iter().filter(|it| it.cluster == name).collect();
            let counts = (cluster.findings, cluster.gaps > 0);
            let point = point(&metadata, taken_at, counts, &shares);
            let ClusterIdentity { uid, .. } = &cluster.identity;
            let is_clone =
                |it: &ReportedCluster| it.name != cluster.name && it.identity.uid == *uid;
            let are_clones = uid.is_some() && metadata.clusters.iter().any(is_clone);
            let alone = TrendSeries {
                clone: name.clone().filter(|_| are_clones),
                name,
                cluster: cluster.identity.clone(),
                scope: scope.clone(),
                reports: Vec::new(),
            };
            self.insert(alone, point);
        }
        Ok(unread)
    }

    /// Adds a point to the series with the key of this one.
    fn insert(&mut self, alone: TrendSeries, point: TrendPoint) {
        let same = self.series.iter().position(|it| it.key() == alone.key());
        let at = same.unwrap_or(self.series.len());
        if at == self.series.len() {
            self.series.push(alone);
        } else {
            let known = &mut self.series[at];
            let is_newest = known.reports.last().is_some_and(|it| it.taken_at < point.taken_at);
            if is_newest {
                known.cluster = alone.cluster;
            }
            // A report about one cluster does not name it.
            if alone.name.is_some() && (is_newest || known.name.is_none()) {
                known.name = alone.name;
            }
        }
        let reports = &mut self.series[at].reports;
        match reports.binary_search_by(|it| it.taken_at.cmp(&point.taken_at)) {
            // The same report under another name, or what a later run said of the same dump.
            Ok(same) => reports[same] = point,
            Err(place) => reports.insert(place, point),
        }
    }
}

/// Returns what a report says of one cluster: the number of its findings, whether something of it was not read, and
/// where its bytes are.
fn point(
    metadata: &ReportMetadata,
    taken_at: String,
    (findings, is_incomplete): (usize, bool),
    storage: &[&StorageShare],
) -> TrendPoint {
    let groups = |name: fn(&StorageShare) -> &Option<String>| {
        let shares = storage.iter().copied();
        let sums = StorageAmounts::by(shares, |it| name(it).clone().unwrap_or_default());
        sums.into_iter().collect::<BTreeMap<_, _>>()
    };
    TrendPoint {
        taken_at,
        tool: metadata.tool.clone(),
        findings,
        is_incomplete,
        thresholds: metadata.thresholds.clone(),
        total: storage.iter().fold(StorageAmounts::default(), |sum, it| sum.plus(it.amounts)),
        by_class: groups(|it| &it.storage_class),
        by_namespace: groups(|it| &it.namespace),
    }
}

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
    titles.extend(["TAKEN-AT", "WASTED", "LEAKING", "RELEASED", "UNUSED", "AT-RISK"]);
    titles.extend(group.is_none().then_some("FINDINGS"));
    let style = TableStyle { headers, width: None, escape: readable };
    let mut table = TextTable::new(out, &titles, style);
    let none = StorageAmounts::default();
    for series in &trend.series {
        let names = group.map(|it| series.names(it).into_iter().map(Some).collect());
        for name in names.unwrap_or_else(|| vec![None]) {
            for report in &series.reports {
                let of_group = |name| group.and_then(|it| report.by(it).get(name)).unwrap_or(&none);
                let amounts = name.map_or(&report.total, of_group);
                let mut cells = if is_one { Vec::new() } else { vec![trend.name(series)] };
                cells.extend(name.map(|it| if it.is_empty() { "<none>" } else { it }.to_owned()));
                cells.push(report.taken_at.clone());
                let StorageAmounts { leaking_bytes, released_bytes, unused_bytes, .. } = *amounts;
                let wasted = amounts.wasted();
                let bytes =
                    [wasted, leaking_bytes, released_bytes, unused_bytes, amounts.at_risk_bytes];
                cells.extend(bytes.map(format_bytes));
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

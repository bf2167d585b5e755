//! The policy file of `watch`: what is judged, of which objects, and where findings are told.
//!
//! - `document`: the file as a tree in which each value knows its line.
//! - `decode`: typed values of that tree, and everything that is wrong with it.
//! - `values`: what single values may be.
//! - [`report`]: where findings are told; [`leader_election`]: by which of several processes.
//! - [`acting`]: what is done besides reporting; `contradictions`: what the rest says against that.
//! - `file`: the file, which may change while it is in force.

pub mod acting;
mod contradictions;
mod decode;
mod document;
mod file;
pub mod leader_election;
pub mod report;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, de::Error as _};

pub(crate) use self::file::{PolicyFile, PolicySource, Reloaded};
pub(crate) use self::values::LeaseName;
use self::{
    acting::{BoundsPolicy, OLDEST_LOOK, ReconcilersPolicy},
    document::{Content, Fault, Node},
    leader_election::LeaderElectionPolicy,
    report::ReportPolicy,
    values::{NamespaceName, ObjectName, Reason, RuleName, SelectorText, ThresholdSettings, Until},
};
use crate::model::{Exemption, Scope, Settings, Text, Threshold, format_duration};

/// The policy file of `watch`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "keys and values")]
pub struct WatchPolicy {
    /// The version of this format.
    api_version: ApiVersion,
    /// What the file is.
    kind: PolicyKind,
    /// Which findings are reported; all, unless it says otherwise.
    #[serde(default)]
    rules: RuleSelection,
    /// Durations with which ages are compared, such as `stuck: 2h`.
    #[serde(default)]
    thresholds: ThresholdSettings,
    /// Of which objects findings are reported; of the whole cluster, unless it says otherwise.
    #[serde(default)]
    scope: PolicyScope,
    /// Findings of single objects that are not reported.
    #[serde(default)]
    exemptions: Vec<PolicyExemption>,
    /// Where findings are told besides the log.
    #[serde(default)]
    pub report: ReportPolicy,
    /// That only one of several processes reports; without it each does.
    pub leader_election: Option<LeaderElectionPolicy>,
    /// What is done besides reporting; nothing, unless it says otherwise.
    #[serde(default)]
    pub reconcilers: ReconcilersPolicy,
    /// How much reconcilers do, and when they stop.
    #[serde(default)]
    pub bounds: BoundsPolicy,
    /// The namespace of the journal of reconcilers, of the record by which they are paused, and of the Lease; that of the pod or of the kubeconfig, unless it says otherwise.
    cluster_journal: Option<NamespaceName>,
}

/// The namespaces in which a policy has its records. Without a place of its own one is where the process is: where that
/// is not known, as in a role that is printed, it is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordPlaces<N = Text> {
    /// That of the journal, and of the record by which reconcilers are paused.
    pub(crate) records: N,
    /// That of the Lease.
    pub(crate) lease: N,
    /// Those in which a record pauses reconcilers: first that in which they have to be resumed, then that in which the
    /// process is, where earlier versions look.
    pub(crate) pauses: Vec<N>,
}

impl Default for RecordPlaces<Option<Text>> {
    fn default() -> Self {
        Self { records: None, lease: None, pauses: vec![None] }
    }
}

/// The version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum ApiVersion {
    #[serde(rename = "storage.kubectl.dev/v1alpha1")]
    V1Alpha1,
}

/// What the file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum PolicyKind {
    WatchPolicy,
}

/// The two that every policy begins with.
const HEADER: [(&str, &str); 2] =
    [("apiVersion", "storage.kubectl.dev/v1alpha1"), ("kind", "WatchPolicy")];

/// Which findings are reported: all but some, or some.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "RuleLists")]
struct RuleSelection {
    off: BTreeSet<RuleName>,
    only: BTreeSet<RuleName>,
}

/// Which findings are reported: all but some, or some.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "RuleSelection"))]
#[serde(deny_unknown_fields, expecting = "keys and values")]
struct RuleLists {
    /// Not these findings.
    #[serde(default)]
    off: BTreeSet<RuleName>,
    /// Only these findings.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    only: BTreeSet<RuleName>,
}

fn some<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeSet<RuleName>, D::Error> {
    let only = BTreeSet::deserialize(from)?;
    match only.is_empty() {
        true => Err(D::Error::custom("the list is empty: nothing would be reported")),
        false => Ok(only),
    }
}

impl TryFrom<RuleLists> for RuleSelection {
    type Error = &'static str;

    fn try_from(lists: RuleLists) -> Result<Self, Self::Error> {
        let RuleLists { off, only } = lists;
        match off.is_empty() || only.is_empty() {
            true => Ok(Self { off, only }),
            false => Err("\"off\" and \"only\" exclude each other"),
        }
    }
}

/// Of which objects findings are reported. Every object is read and judged all the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "keys and values")]
struct PolicyScope {
    /// Claims of these namespaces, and volumes whose claim is or was there; all if it is empty.
    #[serde(default)]
    namespaces: BTreeSet<NamespaceName>,
    /// Objects with these labels, as kubectl's `-l` takes them.
    #[serde(default)]
    selector: SelectorText,
}

/// A finding of one object that is not reported.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "keys and values")]
struct PolicyExemption {
    /// The finding.
    rule: RuleName,
    /// Its object: `pv/NAME`, `pvc/NAMESPACE/NAME`.
    object: ObjectName,
    /// Why: for whoever reads the file.
    reason: Reason,
    /// When it ends: a date, whose first moment in UTC counts, or a time.
    until: Option<Until>,
}

/// Why a policy is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("failed to read {}: {detail}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        detail: String,
    },
    /// What is wrong with it, each with its place.
    #[error("{}", lines(.0))]
    Refused(Vec<String>),
}

fn lines(all: &[String]) -> String {
    all.join("\n")
}

impl PolicyError {
    /// Everything that is wrong, a line for each.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Unreadable { .. } => vec![self.to_string()],
            Self::Refused(lines) => lines.clone(),
        }
    }
}

impl WatchPolicy {
    /// Parses a policy. `name` is that of the file, for messages.
    ///
    /// # Errors
    /// Everything that is wrong with it, with line and column.
    pub fn parse(name: &dyn fmt::Display, text: &str) -> Result<Self, PolicyError> {
        let mut faults = Vec::new();
        let policy = match Node::parse(text, &mut faults) {
            Ok(root) => parse_root(root, &mut faults),
            Err(fault) => {
                faults.push(fault);
                None
            }
        };
        faults.sort_by_key(|it| it.at);
        faults.dedup();
        match policy {
            Some(policy) if faults.is_empty() => Ok(policy),
            _ => {
                let line = |Fault { at, message }: &Fault| {
                    format!("{name}:{}:{}: {message}", at.line, at.column)
                };
                Err(PolicyError::Refused(faults.iter().map(line).collect()))
            }
        }
    }

    /// Line and column of a namespace of the scope; without one, of the selector.
    fn place(text: &str, namespace: Option<&str>) -> Option<(usize, usize)> {
        let root = Node::parse(text, &mut Vec::new()).ok()?;
        let scope = root.get("scope")?;
        let node = match namespace {
            None => scope.get("selector")?,
            Some(name) => {
                let Content::Sequence(names) = &scope.get("namespaces")?.content else {
                    return None;
                };
                names.iter().find(|it| it.text() == Some(name))?
            }
        };
        Some((node.at.line, node.at.column))
    }

    /// The namespace of the journal of reconcilers, if the policy names it.
    pub fn cluster_journal(&self) -> Option<Text> {
        self.cluster_journal.as_ref().map(|it| Text::clone(&it.0))
    }

    /// Where its records are, for whoever does not know where it is in force. Everybody who reads or writes one asks this.
    pub(crate) fn places_by_name(&self) -> RecordPlaces<Option<Text>> {
        let records = self.cluster_journal();
        let lease = self.leader_election.as_ref().and_then(LeaderElectionPolicy::namespace);
        let lease = lease.or_else(|| records.clone());
        let here = records.is_some().then_some(None);
        let pauses = std::iter::once(records.clone()).chain(here).collect();
        RecordPlaces { records, lease, pauses }
    }

    /// Where its records are, for a process in this namespace: that of its pod, or of the kubeconfig.
    pub(crate) fn places(&self, here: &str) -> RecordPlaces {
        let RecordPlaces { records, lease, pauses } = self.places_by_name();
        let at = |it: Option<Text>| it.unwrap_or_else(|| here.into());
        let mut pauses: Vec<_> = pauses.into_iter().map(at).collect();
        pauses.dedup();
        RecordPlaces { records: at(records), lease: at(lease), pauses }
    }

    /// What it asks for of judgements and of the report.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        for (threshold, duration) in &self.thresholds.0 {
            settings.thresholds.set(*threshold, *duration);
        }
        // What is announced is reported before.
        if let Some(times) = self.reconcilers.reclaim.times() {
            let reported = settings.thresholds.get(Threshold::OlderThan);
            settings.thresholds.set(Threshold::OlderThan, reported.min(times.older_than));
        }
        let ids = |names: &BTreeSet<RuleName>| names.iter().map(|it| Text::clone(&it.0)).collect();
        let exemption = |it: &PolicyExemption| Exemption {
            rule: Text::clone(&it.rule.0),
            object: it.object.0.clone(),
            until: it.until.map(|Until(time)| time),
        };
        settings.scope = Scope {
            namespaces: self.scope.namespaces.iter().map(|it| Text::clone(&it.0)).collect(),
            selector: self.scope.selector.0.clone(),
            rules: ids(&self.rules.only),
            ignored: ids(&self.rules.off),
            exemptions: self.exemptions.iter().map(exemption).collect(),
        };
        settings
    }
}

fn parse_root(mut root: Node, faults: &mut Vec<Fault>) -> Option<WatchPolicy> {
    if !matches!(root.content, Content::Mapping(_)) {
        faults.push(Fault { at: root.at, message: "expected keys and values".to_owned() });
        return None;
    }
    for (key, expected) in HEADER {
        let fault = match root.get(key) {
            Some(value) if value.text() == Some(expected) => continue,
            Some(value) => Fault { at: value.at, message: format!("{key} must be {expected}") },
            None => Fault {
                at: root.at,
                message: format!("the key {key:?} is missing: write {key}: {expected}"),
            },
        };
        let is_other = root.get(key).is_some();
        faults.push(fault);
        if is_other {
            // Nothing else of it can be judged.
            return None;
        }
        root.add(key, expected);
    }
    contradictions::find(&mut root, faults);
    let bounds = root.get("bounds").map(|it| it.at);
    let policy: WatchPolicy = decode::decode(root, faults)?;
    if let Some(at) = bounds.filter(|_| policy.bounds.never_settles()) {
        let longest = format_duration(OLDEST_LOOK);
        let message = format!(
            "so many judgements take {longest} or more, and nothing is done by a look that is so old"
        );
        faults.push(Fault { at, message });
    }
    Some(policy)
}

//! The policy file of `watch`: what is judged, of which objects, and where findings are reported.
//!
//! - here: the policy, and what it says of acting that its other parts contradict.
//! - `decode`: the file as a tree in which each value knows its line; typed values of that tree, and
//!   everything that is wrong with it.
//! - `values`: what single values may be.
//! - [`report`]: where findings are told, and by which of several processes.
//! - [`acting`]: what is done besides reporting.
//! - `file`: the file, which may change while it is in force.

pub mod acting;
mod decode;
mod file;
pub mod report;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

pub(crate) use self::file::{PolicyFile, PolicySource, Reloaded};
pub(crate) use self::values::LeaseName;

use self::acting::{
    BoundsPolicy, OLDEST_LOOK, Percent, ReconcilerMode, ReconcilerName, ReconcilersPolicy,
    USUAL_GRACE,
};
use self::decode::{Content, Fault, Node};
use self::report::{LeaderElectionPolicy, ReportPolicy};
use self::values::{
    NamespaceName, ObjectName, Reason, RuleName, SelectorText, ThresholdSettings, Until,
};
use crate::model::{Exemption, RuleId, Scope, Settings, Text, Threshold, format_duration};

/// The policy file of `watch`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "keys and values")]
#[schemars(transform = values::without_null)]
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
    /// The namespace of the journal, and of the record by which reconcilers are paused.
    pub(crate) records: N,
    /// The namespace of the Lease.
    pub(crate) lease: N,
    /// The namespaces in which a record pauses reconcilers: first that in which they have to be resumed, then that in
    /// which the process is, where earlier versions look.
    pub(crate) pauses: Vec<N>,
}

impl Default for RecordPlaces<Option<Text>> {
    fn default() -> Self {
        Self { records: None, lease: None, pauses: vec![None] }
    }
}

/// The version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
enum ApiVersion {
    #[serde(rename = "storage.kubectl.dev/v1alpha1")]
    V1Alpha1,
}

/// What the file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
enum PolicyKind {
    WatchPolicy,
}

/// The two keys with which every policy begins, and their values.
const HEADER: [(&str, &str); 2] =
    [("apiVersion", "storage.kubectl.dev/v1alpha1"), ("kind", "WatchPolicy")];

/// Which findings are reported: all but some, or some.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "RuleLists")]
struct RuleSelection {
    off: BTreeSet<RuleName>,
    only: BTreeSet<RuleName>,
}

/// Which findings are reported: all but some, or some.
#[derive(Deserialize, schemars::JsonSchema)]
#[schemars(rename = "RuleSelection")]
#[serde(deny_unknown_fields, expecting = "keys and values")]
struct RuleLists {
    /// Not these findings.
    #[serde(default)]
    off: BTreeSet<RuleName>,
    /// Only these findings.
    #[serde(default, deserialize_with = "some")]
    #[schemars(length(min = 1))]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "keys and values")]
#[schemars(transform = values::without_null)]
struct PolicyExemption {
    /// The finding.
    rule: RuleName,
    /// Its object: `pv/NAME`, `pvc/NAMESPACE/NAME`.
    object: ObjectName,
    /// Why: for readers of the file.
    reason: Reason,
    /// When it ends: a date, whose first moment in UTC counts, or a time.
    until: Option<Until>,
}

/// Reason for which a policy is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("failed to read {}: {detail}", path.display())]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The operating system's error.
        detail: String,
    },
    /// The policy has these faults, each with its place.
    #[error("{}", lines(.0))]
    Refused(Vec<String>),
}

fn lines(all: &[String]) -> String {
    all.join("\n")
}

impl PolicyError {
    /// Returns all faults, a line for each.
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

    /// Returns line and column of a namespace of the scope; without one, of the selector.
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

    /// Returns the namespace of the journal of reconcilers, if the policy names it.
    pub fn cluster_journal(&self) -> Option<Text> {
        self.cluster_journal.as_ref().map(|it| Text::clone(&it.0))
    }

    /// Returns the places of the records as far as the policy names them, for a caller that does not know where it is
    /// in force. All that read or write one ask this.
    pub(crate) fn places_by_name(&self) -> RecordPlaces<Option<Text>> {
        let records = self.cluster_journal();
        let lease = self.leader_election.as_ref().and_then(LeaderElectionPolicy::namespace);
        let lease = lease.or_else(|| records.clone());
        let here = records.is_some().then_some(None);
        let pauses = std::iter::once(records.clone()).chain(here).collect();
        RecordPlaces { records, lease, pauses }
    }

    /// Returns the places of the records, for a process in this namespace: that of its pod, or of the kubeconfig.
    pub(crate) fn places(&self, here: &str) -> RecordPlaces {
        let RecordPlaces { records, lease, pauses } = self.places_by_name();
        let at = |it: Option<Text>| it.unwrap_or_else(|| here.into());
        let mut pauses: Vec<_> = pauses.into_iter().map(at).collect();
        pauses.dedup();
        RecordPlaces { records: at(records), lease: at(lease), pauses }
    }

    /// Returns the settings of judgements and of the report.
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
            ..Scope::default()
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
    find_contradictions(&mut root, faults);
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

/// Flags of the commands with which a user accepts a danger, or asserts what cannot be read. That user looks at
/// the object and at what is known of it.
const DANGER_FLAGS: [&str; 20] = [
    "accept-leak",
    "add-owners",
    "all-clusters",
    "backend-exclusive",
    "backend-verified",
    "delete-leftovers",
    "destroy-data",
    "destroy-snapshots",
    "driver-absent",
    "include-recreated",
    "include-unknown-age",
    "include-vetoed",
    "include-wanted",
    "no-other-users",
    "owner-kind-gone",
    "provisioner-alive",
    "remove-finalizer",
    "replicas-zero",
    "resizer-alive",
    "rolled-back",
];

/// Finds what contradicts acting in a policy. Keys that name a danger are taken out, so that they are told once.
fn find_contradictions(root: &mut Node, faults: &mut Vec<Fault>) {
    let mut dangers = Vec::new();
    danger_keys(root, false, &mut dangers);
    if let Some(reconcilers) = root.get("reconcilers") {
        danger_keys(reconcilers, true, &mut dangers);
    }
    for (id, fault) in dangers {
        root.take_out(id);
        faults.push(fault);
    }
    let on: Vec<_> = ReconcilerName::ALL.into_iter().filter_map(|it| on(root, it)).collect();
    if on.is_empty() {
        idle(root, faults);
    }
    for (name, mode) in on {
        if mode.text() == Some(ReconcilerMode::Act.name()) && root.get("leaderElection").is_none() {
            let message = "act requires leaderElection: only one process may act at a time";
            faults.push(Fault { at: mode.at, message: message.to_owned() });
        }
        hidden(root, name, faults);
    }
}

/// Finds keys that are named as danger flags.
fn danger_keys(node: &Node, deeper: bool, found: &mut Vec<(usize, Fault)>) {
    let Content::Mapping(entries) = &node.content else { return };
    for (key, value) in entries {
        match key.text().and_then(danger_flag) {
            Some(flag) => {
                let message = format!(
                    "no reconciler takes --{flag}: what needs it is done by a person who looks at \
                     the object"
                );
                found.push((key.id, Fault { at: key.at, message }));
            }
            None if deeper => danger_keys(value, true, found),
            None => {}
        }
    }
}

fn danger_flag(key: &str) -> Option<&'static str> {
    let plain = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
    let key = plain(key);
    DANGER_FLAGS.into_iter().find(|flag| plain(flag) == key)
}

/// Returns a reconciler that is not off, with its mode as it stands in the file.
fn on(root: &Node, name: ReconcilerName) -> Option<(ReconcilerName, &Node)> {
    let mode = root.get("reconcilers")?.get(name.name())?.get("mode")?;
    let acts = [ReconcilerMode::Report, ReconcilerMode::Act];
    acts.iter().any(|it| mode.text() == Some(it.name())).then_some((name, mode))
}

/// Finds keys that only reconcilers use, where all of them are off.
fn idle(root: &Node, faults: &mut Vec<Fault>) {
    for key in ["bounds", "clusterJournal"] {
        let Some(value) = root.get(key) else { continue };
        let message = format!("{key:?} is of no use: every reconciler is off");
        faults.push(Fault { at: value.at, message });
    }
}

/// Returns the rules whose findings a reconciler needs.
fn rests_on(name: ReconcilerName) -> impl Iterator<Item = RuleId> {
    let announced = (name == ReconcilerName::Reclaim).then_some("pv-reclaim-announced");
    name.answers().iter().copied().chain(announced)
}

/// Finds rules that a reconciler needs and that are not reported: all that is done is reported too.
fn hidden(root: &Node, name: ReconcilerName, faults: &mut Vec<Fault>) {
    let Some(rules) = root.get("rules") else { return };
    let listed = |key| match rules.get(key).map(|it| (&it.content, it.at)) {
        Some((Content::Sequence(items), at)) => Some((items, at)),
        _ => None,
    };
    let answered = |it: &&Node| it.text().is_some_and(|id| rests_on(name).any(|it| it == id));
    for item in listed("off").into_iter().flat_map(|(items, _)| items).filter(answered) {
        let id = item.text().unwrap_or_default();
        let message = format!("{id:?} is off, but reconcilers.{name} answers it");
        faults.push(Fault { at: item.at, message });
    }
    let Some((items, at)) = listed("only") else { return };
    let is_listed = |id: &str| items.iter().any(|it| it.text() == Some(id));
    let missing: Vec<_> = rests_on(name).filter(|id| !is_listed(id)).collect();
    if !items.is_empty() && !missing.is_empty() {
        let missing = missing.join(", ");
        let message = format!("\"only\" lacks what reconcilers.{name} answers: {missing}");
        faults.push(Fault { at, message });
    }
}

impl WatchPolicy {
    /// Returns what is accepted, but hardly meant, a line for each.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if let Some(times) = self.reconcilers.reclaim.times() {
            if times.grace < USUAL_GRACE {
                doubts.push(format!(
                    "reconcilers.reclaim.grace is {}: a veto takes people at least {}",
                    format_duration(times.grace),
                    format_duration(USUAL_GRACE),
                ));
            }
            let asked = self.thresholds.0.get(&Threshold::OlderThan);
            if let Some(asked) = asked.filter(|it| **it > times.older_than) {
                doubts.push(format!(
                    "thresholds.older-than is {}, but what reconcilers.reclaim announces is reported \
                     before: after {}",
                    format_duration(*asked),
                    format_duration(times.older_than),
                ));
            }
        }
        if self.bounds.newly_eligible_percent == Percent::ALL && !self.reconcilers.is_off() {
            doubts.push(
                "bounds.newlyEligiblePercent is 100: the circuit breaker never opens".to_owned(),
            );
        }
        doubts
    }
}

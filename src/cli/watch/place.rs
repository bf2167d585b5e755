//! What a policy says that only a cluster can contradict, and where it has findings reported.

use crate::{
    cluster::{Cluster, Subject},
    model::{Kind, Settings, Severity, Text, format_time, nearest},
    rules,
    watch::policy::report::ReportPolicy,
};

/// What a policy says in vain: namespaces that do not exist, and a selector that selects nothing.
pub(super) fn contradictions(cluster: &Cluster, settings: &Settings) -> Vec<String> {
    let scope = &settings.scope;
    let missing = scope.namespaces.iter().filter(|it| is_missing(cluster, it));
    let mut lines: Vec<_> = missing.map(|it| no_namespace(cluster, it)).collect();
    let is_selected = |it: &Subject| rules::in_scope(cluster, settings, it);
    if !scope.selector.is_empty()
        && lines.len() < scope.namespaces.len().max(1)
        && !rules::subjects(cluster).iter().any(is_selected)
    {
        lines.push(format!("scope.selector {} selects no object", scope.selector));
    }
    lines
}

/// What a policy says that has had its time.
pub(super) fn ended(cluster: &Cluster, settings: &Settings) -> Vec<String> {
    let now = cluster.clock();
    let ended = settings.scope.exemptions.iter().filter(|it| !it.applies_at(now));
    let line = |it: &crate::model::Exemption| {
        let until = it.until.as_ref().map(format_time).unwrap_or_default();
        format!("the exemption of {} for {} ended at {until}", it.rule, it.object)
    };
    ended.map(line).collect()
}

/// Whether a namespace is known not to exist.
pub(super) fn is_missing(cluster: &Cluster, name: &Text) -> bool {
    cluster.reach(Kind::Namespace, None).is_ok()
        && !cluster.namespaces().any(|(_, it)| *it.metadata.name == **name)
}

fn no_namespace(cluster: &Cluster, name: &str) -> String {
    let names = cluster.namespaces().map(|(_, it)| it.metadata.name.to_string());
    match nearest(name, names).first() {
        Some(near) => format!("scope: namespace {name:?} does not exist; did you mean {near:?}?"),
        None => format!("scope: namespace {name:?} does not exist"),
    }
}

/// What is printed where a policy reports nothing.
pub(super) const NOWHERE: &str = "nowhere";
/// What that means.
pub(super) const ONLY_COUNTED: &str =
    "the policy reports nowhere: findings are only counted in the log, and printed with -o json";

/// Where findings of a severity are reported; without one, where any are.
pub(super) fn reported_to(reports: &ReportPolicy, severity: Option<Severity>) -> String {
    let reaches = |bound: Severity| severity.is_none_or(|it| it <= bound);
    let events = reports.events.as_ref().is_some_and(|it| reaches(it.severity));
    let webhook = reports.webhook.as_ref().is_some_and(|it| reaches(it.severity));
    let all = [("events", events), ("metrics", reports.metrics.is_some()), ("webhook", webhook)];
    let names: Vec<_> = all.into_iter().filter(|it| it.1).map(|it| it.0).collect();
    if names.is_empty() { NOWHERE.to_owned() } else { names.join(", ") }
}

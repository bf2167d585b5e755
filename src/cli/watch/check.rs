//! `watch --check`: validates a policy, looks once, and says what would be reported now, where, and what contradicts
//! the cluster.

use std::collections::BTreeMap;

use crate::{
    cli::{
        Exit, Failure,
        args::ConnectionArgs,
        collect::{ClusterSource, Collected, collect, tell},
        namespaces, terminal,
    },
    cluster::{Cluster, Subject},
    model::{RuleId, Settings, Severity, Text, escape_control, format_time},
    output::{
        lines::readable,
        table::{GrowingTable, TableStyle},
    },
    rules,
    watch::policy::{PolicyFile, report::ReportPolicy},
};

pub(super) async fn check(connection: &ConnectionArgs, file: &PolicyFile) -> Result<Exit, Failure> {
    let settings = file.policy().settings();
    let from = ClusterSource::Live { connection, namespace: None };
    let collected = collect(from, &settings, None).await?;
    let cluster = &collected.intake.cluster;
    let mut wrong: Vec<_> = contradictions(cluster, &settings)
        .iter()
        .map(|it| format!("{}: {}", file.place(it.namespace.as_deref()), it.message))
        .collect();
    if let Some(last) = wrong.pop() {
        for line in wrong {
            terminal::note(&format!("error: {}", escape_control(&line)));
        }
        return Err(Failure::usage(last));
    }
    show(&collected, &settings, file).map_err(Failure::error)?;
    let doubts = file.policy().doubts();
    for line in doubts.into_iter().chain(ended(cluster, &settings)) {
        terminal::note(&format!("note: {}", escape_control(&line)));
    }
    tell(&collected, "watch");
    Ok(if collected.blind.is_empty() { Exit::Done } else { Exit::Incomplete })
}

/// Prints the number of findings of each rule and severity, and where they would be reported.
fn show(collected: &Collected, settings: &Settings, file: &PolicyFile) -> std::io::Result<()> {
    let cluster = &collected.intake.cluster;
    let mut counts: BTreeMap<(Severity, RuleId), usize> = BTreeMap::new();
    for finding in collected.assessor.findings(cluster, settings) {
        *counts.entry((finding.severity, finding.rule)).or_default() += 1;
    }
    let reports = &file.policy().report;
    let row = |((severity, rule), count): (&(Severity, RuleId), &usize)| {
        vec![
            severity.name().to_owned(),
            (*rule).to_owned(),
            count.to_string(),
            reported_to(reports, Some(*severity)),
        ]
    };
    let all: usize = counts.values().sum();
    if !counts.is_empty() {
        let look = TableStyle { headers: true, width: terminal::width(), escape: readable };
        terminal::print(|out| {
            let mut table = GrowingTable::new(&["SEVERITY", "ID", "FINDINGS", "REPORTED TO"], look);
            table.rows(out, counts.iter().map(row).collect())
        })?;
    }
    let exempted = collected.assessor.totals(cluster, settings).exempted;
    let findings = if all == 1 { "1 finding".to_owned() } else { format!("{all} findings") };
    let exempted = if exempted > 0 { format!("; {exempted} exempted") } else { String::new() };
    let reported = reported_to(reports, None);
    terminal::note(&format!(
        "{}: valid; {findings} now{exempted}; reported to {reported}",
        escape_control(&file.source().name()),
    ));
    if reported == NOWHERE {
        terminal::note(&format!("note: {ONLY_COUNTED}"));
    }
    Ok(())
}

/// Part of a policy that has no effect in a cluster.
#[derive(Debug)]
pub(super) struct Contradiction {
    /// The namespace that does not exist; `None` for a selector that selects nothing.
    pub(super) namespace: Option<Text>,
    /// Message that says what is wrong.
    pub(super) message: String,
}

/// Returns namespaces of a policy that do not exist, and its selector if that selects nothing.
pub(super) fn contradictions(cluster: &Cluster, settings: &Settings) -> Vec<Contradiction> {
    let scope = &settings.scope;
    let missing = scope.namespaces.iter();
    let missing = missing.filter(|it| namespaces::existence(cluster, it) == Some(false));
    let no_namespace = |name: &Text| Contradiction {
        namespace: Some(Text::clone(name)),
        message: no_namespace(cluster, name),
    };
    let mut found: Vec<_> = missing.map(no_namespace).collect();
    let is_selected = |it: &Subject| rules::in_scope(cluster, settings, it);
    // Where no namespace exists, the selector is not to blame.
    if !scope.selector.is_empty()
        && (scope.namespaces.is_empty() || found.len() < scope.namespaces.len())
        && !rules::subjects(cluster).iter().any(is_selected)
    {
        let message = format!("the selector {} selects no object", scope.selector);
        found.push(Contradiction { namespace: None, message });
    }
    found
}

/// Returns notes about the exemptions of a policy that have ended.
pub(super) fn ended(cluster: &Cluster, settings: &Settings) -> Vec<String> {
    let now = cluster.clock();
    let ended = settings.scope.exemptions.iter().filter(|it| !it.applies_at(now));
    let line = |it: &crate::model::Exemption| {
        let until = it.until.as_ref().map(format_time).unwrap_or_default();
        format!("the exemption of {} for {} ended at {until}", it.rule, it.object)
    };
    ended.map(line).collect()
}

fn no_namespace(cluster: &Cluster, name: &str) -> String {
    match namespaces::similar(cluster, name).first() {
        Some(near) => format!("namespace {name:?} does not exist; did you mean {near:?}?"),
        None => format!("namespace {name:?} does not exist"),
    }
}

/// Word for a policy that reports nothing.
pub(super) const NOWHERE: &str = "nowhere";
/// Note about a policy that reports nothing.
pub(super) const ONLY_COUNTED: &str =
    "the policy reports nowhere: findings are only counted in the log, and printed with -o json";

/// Returns where findings of a severity are reported; without one, where any are.
pub(super) fn reported_to(reports: &ReportPolicy, severity: Option<Severity>) -> String {
    let reaches = |bound: Severity| severity.is_none_or(|it| it <= bound);
    let events = reports.events.as_ref().is_some_and(|it| reaches(it.severity));
    let webhook = reports.webhook.as_ref().is_some_and(|it| reaches(it.severity));
    let open_reports = reports.open_reports.as_ref().is_some_and(|it| reaches(it.severity));
    let metrics = reports.metrics.is_some();
    let all = [
        ("events", events),
        ("metrics", metrics),
        ("webhook", webhook),
        ("openReports", open_reports),
    ];
    let names: Vec<_> = all.into_iter().filter(|it| it.1).map(|it| it.0).collect();
    if names.is_empty() { NOWHERE.to_owned() } else { names.join(", ") }
}

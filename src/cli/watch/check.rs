//! `watch --check`: validates a policy, looks once, and says what would be reported now, and where.

use std::collections::BTreeMap;

use super::place;
use crate::{
    cli::{
        Exit, Failure,
        args::ConnectionArgs,
        collect::{ClusterSource, Collected, collect, tell},
        terminal,
    },
    model::{RuleId, Settings, Severity, escape_control},
    output::table::{GrowingTable, TableStyle},
    watch::policy::PolicyFile,
};

pub(super) async fn check(connection: &ConnectionArgs, file: &PolicyFile) -> Result<Exit, Failure> {
    let settings = file.policy().settings();
    let from = ClusterSource::Live { connection, namespace: None };
    let collected = collect(from, &settings, None).await?;
    let cluster = &collected.intake.cluster;
    let mut wrong: Vec<_> = place::contradictions(cluster, &settings)
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
    for line in doubts.into_iter().chain(place::ended(cluster, &settings)) {
        terminal::note(&format!("note: {}", escape_control(&line)));
    }
    tell(&collected, "watch");
    Ok(if collected.blind.is_empty() { Exit::Done } else { Exit::Incomplete })
}

/// Prints how many findings there are of each rule and severity, and where each would be reported.
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
            place::reported_to(reports, Some(*severity)),
        ]
    };
    let all: usize = counts.values().sum();
    if !counts.is_empty() {
        let look = TableStyle { headers: true, width: terminal::width(), escape: escape_control };
        terminal::print(|out| {
            let mut table = GrowingTable::new(&["SEVERITY", "ID", "FINDINGS", "REPORTED TO"], look);
            table.rows(out, counts.iter().map(row).collect())
        })?;
    }
    let exempted = collected.assessor.totals(cluster, settings).exempted;
    let findings = if all == 1 { "1 finding".to_owned() } else { format!("{all} findings") };
    let exempted = if exempted > 0 { format!("; {exempted} exempted") } else { String::new() };
    let reported = place::reported_to(reports, None);
    terminal::note(&format!(
        "{}: valid; {findings} now{exempted}; reported to {reported}",
        escape_control(&file.source().name()),
    ));
    if reported == place::NOWHERE {
        terminal::note(&format!("note: {}", place::ONLY_COUNTED));
    }
    Ok(())
}

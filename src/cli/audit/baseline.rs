//! Saved reports: `--baseline`, and `audit diff`.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::File,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;

use super::super::{Exit, Failure, args::format, completion, terminal};
use crate::{
    model::{Severity, counted, escape_control, first_of},
    output::{
        comparison::{
            AuditComparison, BaselineState, ListedCluster, PairedClusters, ReportClusters,
            ReportCoverage, SavedDocument, SavedReport, SavedReportError, diff,
        },
        format::Format,
        lines::readable,
        list,
        table::{TableStyle, TextTable, short_name},
        wire::{
            BaselineComparison, ClusterIdentity, ComparableContents, Finding, Gap, ReportMetadata,
            ReportScope,
        },
    },
};

/// Reads a report that `audit -o json` printed, also as gzip.
///
/// # Errors
/// When it cannot be read (1), or is none (2).
pub(super) fn saved<F: DeserializeOwned>(path: &Path) -> Result<SavedDocument<F>, Failure> {
    let unread = |error: io::Error| {
        let context = format!("failed to read {}", path.display());
        Failure::error(anyhow::Error::new(error).context(context))
    };
    let mut file = File::open(path).map(BufReader::new).map_err(unread)?;
    match file.fill_buf().map_err(unread)? {
        [0x1f, 0x8b, ..] => SavedDocument::read(BufReader::new(MultiGzDecoder::new(file))),
        _ => SavedDocument::read(file),
    }
    .map_err(|error| refused(path, error))
}

/// Reads a saved report, to compare another one with it.
///
/// # Errors
/// When it cannot be read (1), or is none that can be compared (2).
pub(super) fn compared(path: &Path) -> Result<SavedReport, Failure> {
    SavedReport::try_from(saved(path)?).map_err(|error| refused(path, error))
}

/// Reads the report that `--baseline` names.
///
/// # Errors
/// When it cannot be read (1), or no report can be compared with it (2).
pub(super) fn baseline(path: &Path) -> Result<SavedReport, Failure> {
    compared(path)?.as_baseline().map_err(|error| refused(path, error))
}

/// Returns the failure that a file cannot be read, or is no report that can be compared.
pub(super) fn refused(path: &Path, error: SavedReportError) -> Failure {
    let is_io = error.is_io();
    let hint = match error {
        SavedReportError::NoScope | SavedReportError::NoStorage => {
            "an earlier version made it; save a new one with `audit -o json`"
        }
        SavedReportError::OnlyNew => {
            "save the whole report: `audit -o json=FILE` without --new-only"
        }
        _ => "save a report with `audit -o json`",
    };
    let shown = path.display();
    let error = anyhow::Error::new(error);
    if is_io {
        return Failure::error(error.context(format!("failed to read {shown}")));
    }
    let error = error.context(format!("{shown} cannot be compared"));
    Failure { exit: Exit::Usage, error, hint: Some(hint.to_owned()) }
}

/// Refuses to compare reports of other clusters, and tells what else may make them differ. `which` names the earlier one.
///
/// # Errors
/// When they have no cluster in common.
pub(super) fn comparable(
    which: &Path,
    old: &ReportMetadata,
    new: &ReportMetadata,
) -> Result<(), Failure> {
    let which = escape_control(&which.display().to_string()).into_owned();
    match old.clusters.is_empty() && new.clusters.is_empty() {
        true => are_one(&which, &old.cluster, &new.cluster)?,
        false => have_some_in_common(&which, &PairedClusters::of(old, new))?,
    }
    if old.tool.version != new.tool.version {
        let version = escape_control(&old.tool.version);
        terminal::note(&format!(
            "note: {which} was made by version {version}, whose checks and severities may differ"
        ));
    }
    let differ: Vec<_> = new
        .thresholds
        .iter()
        .filter(|(name, value)| old.thresholds.get(*name) != Some(value))
        .map(|(name, value)| {
            let before = old.thresholds.get(name).map_or("none", |it| it);
            format!(
                "{} (was {})",
                escape_control(&format!("{name}={value}")),
                escape_control(before)
            )
        })
        .collect();
    if !differ.is_empty() {
        terminal::note(&format!("note: thresholds differ: {}", differ.join(", ")));
    }
    if old.taken_at.as_deref().zip(new.taken_at.as_deref()).is_some_and(|(old, new)| old > new) {
        terminal::note(&format!("note: {which} is the later one of both reports"));
    }
    Ok(())
}

/// Refuses to compare a report about one cluster with one about another.
fn are_one(which: &str, old: &ClusterIdentity, new: &ClusterIdentity) -> Result<(), Failure> {
    match (old, new) {
        (ClusterIdentity { uid: Some(a), .. }, ClusterIdentity { uid: Some(b), .. }) if a != b => {
            let told = format!("{which} is about another cluster: {a}, not {b}");
            return Err(Failure::usage(told));
        }
        (ClusterIdentity { uid: Some(_), .. }, ClusterIdentity { uid: Some(_), .. }) => {}
        (before, now) => {
            let servers = before.server.as_ref().zip(now.server.as_ref());
            let servers = servers
                .filter(|(a, b)| a != b)
                .map(|(a, b)| format!("; its server was {a}, not {b}"));
            let servers = escape_control(&servers.unwrap_or_default()).into_owned();
            terminal::note(&format!(
                "note: whether {which} is about the same cluster is unknown: the uid of namespace kube-system is missing{servers}"
            ));
        }
    }
    Ok(())
}

/// Refuses to compare reports, one of them about several clusters, that are about different ones, and tells which are in
/// only one of them.
fn have_some_in_common(which: &str, paired: &PairedClusters) -> Result<(), Failure> {
    const NAMED: usize = 5;
    let PairedClusters { both, only_old, only_new } = paired;
    let names = |clusters: &[ListedCluster]| {
        let name = |it: &ListedCluster| {
            let apart = paired.apart(it).filter(|_| only_old.contains(it));
            let name = apart.as_deref().or(it.name).or(it.uid).unwrap_or("an unknown cluster");
            escape_control(name).into_owned()
        };
        first_of(&clusters.iter().map(name).collect::<Vec<_>>(), NAMED)
    };
    if both.is_empty() {
        let mut all = only_old.iter().chain(only_new);
        if all.clone().any(|it| *it == ListedCluster { name: None, uid: None }) {
            let told = format!(
                "{which} cannot be compared: one of both reports is about one cluster, whose uid is unknown"
            );
            return Err(Failure::usage(told));
        }
        if all.all(|it| it.uid.is_some()) {
            let told = format!("{which} is about other clusters: {}", names(only_old));
            let hint = "clusters are compared by the uid of namespace kube-system".to_owned();
            return Err(Failure::usage(told).hint(Some(hint)));
        }
    }
    let uncertain = both.iter().filter(|(a, b)| a.uid.is_none() || b.uid.is_none());
    let uncertain: Vec<_> = uncertain.map(|(_, new)| *new).collect();
    let told = |clusters: &[ListedCluster], note: &dyn Fn(String) -> String| {
        if !clusters.is_empty() {
            terminal::note(&format!("note: {}", note(names(clusters))));
        }
    };
    told(only_old, &|names| format!("only {which} is about {names}"));
    told(only_new, &|names| format!("{which} is not about {names}"));
    told(&uncertain, &|names| {
        format!(
            "{names} may be another cluster in {which}: the uid of namespace kube-system is missing"
        )
    });
    Ok(())
}

/// Comparison of this report with an earlier one.
pub(super) struct Compared<'a> {
    earlier: &'a SavedReport,
    clusters: ReportClusters,
    scope: ReportScope,
    gaps: &'a [Gap],
    /// Number of new findings by severity.
    pub(super) new: BTreeMap<Severity, usize>,
    /// Result of the comparison, as it is published.
    pub(super) comparison: BaselineComparison,
}

impl<'a> Compared<'a> {
    /// Compares all findings with the earlier report, which is aligned with this one.
    pub(super) fn build(
        earlier: &'a SavedReport,
        (metadata, scope, gaps): (&ReportMetadata, &ReportScope, &'a [Gap]),
        contents: ComparableContents,
        findings: impl Iterator<Item = Finding>,
    ) -> Self {
        let mut new = BTreeMap::new();
        let (clusters, scope) = (ReportClusters::of(metadata, contents), scope.clone());
        let count = |finding: &Finding, state: BaselineState| {
            let severity = Severity::parse(&finding.severity);
            if let Some(severity) = severity.filter(|_| state == BaselineState::New) {
                *new.entry(severity).or_default() += 1;
            }
        };
        let coverage = ReportCoverage::of_all(&clusters, &scope, gaps);
        let comparison = earlier.compare(coverage, findings, count);
        Self { earlier, clusters, scope, gaps, new, comparison }
    }

    /// Returns a finding with its state in the comparison.
    pub(super) fn marked(&self, finding: Finding) -> Finding {
        let coverage = ReportCoverage::of_all(&self.clusters, &self.scope, self.gaps);
        let state = self.earlier.state(&finding, coverage);
        Finding { baseline: Some(state.name().to_owned()), ..finding }
    }

    /// Returns the numbers of the comparison, in one line.
    pub(super) fn summary(&self) -> String {
        let BaselineComparison { new, known, unseen, cleared, not_seen, .. } = &self.comparison;
        let at = self.comparison.taken_at.as_deref().unwrap_or("at an unknown time");
        let mut told = format!(
            "Baseline {}: {new} new, {known} known, {} cleared",
            escape_control(at),
            cleared.len()
        );
        if *unseen > 0 {
            let _ = write!(told, "; {unseen} that it could not have");
        }
        if !not_seen.is_empty() {
            let _ = write!(told, "; {} not seen now, which may not be cleared", not_seen.len());
        }
        told
    }
}

/// Arguments of `audit diff`.
#[derive(Debug, Args)]
pub(super) struct AuditDiffArgs {
    /// The earlier report, as `audit -o json` printed it
    #[arg(value_name = "OLD", value_hint = clap::ValueHint::FilePath)]
    old: PathBuf,
    /// The later report
    #[arg(value_name = "NEW", value_hint = clap::ValueHint::FilePath)]
    new: PathBuf,
    /// Print in this format: table, json or yaml
    #[arg(short, long, value_name = "FORMAT", default_value = "table", add = completion::formats(completion::DOCUMENTS))]
    output: String,
    /// Omit headers
    #[arg(long)]
    no_headers: bool,
}

impl AuditDiffArgs {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let known = [Format::Table, Format::Json, Format::Yaml];
        let refusal = |it: &str| format!("audit diff prints table, json or yaml, not {it}");
        let format = format(&self.output, &known, refusal)?;
        let (old, new) = (compared(&self.old)?, compared(&self.new)?);
        comparable(&self.old, &old.metadata, &new.metadata)?;
        let changed = diff(&old.aligned(&new.metadata), &new);
        terminal::print(|out| match format {
            Format::Json => list::json(out, &changed),
            Format::Yaml => list::yaml(out, &changed),
            _ => self.table(out, &changed),
        })
        .map_err(Failure::error)?;
        if format == Format::Table {
            terminal::note(&summary(&changed));
        }
        Ok(Exit::Done)
    }

    fn table(&self, out: &mut dyn Write, compared: &AuditComparison) -> std::io::Result<()> {
        if compared.changes.is_empty() {
            return Ok(());
        }
        let look =
            TableStyle { headers: !self.no_headers, width: terminal::width(), escape: readable };
        let are_several = [&compared.old, &compared.new].iter().any(|it| !it.clusters.is_empty());
        let mut headers = vec!["CHANGE", "SEVERITY", "ID", "OBJECT", "WHAT"];
        headers.splice(1..1, are_several.then_some("CLUSTER"));
        let mut table = TextTable::new(out, &headers, look);
        for it in &compared.changes {
            let severity = match &it.earlier_severity {
                None => it.severity.clone(),
                Some(earlier) => format!("{earlier} -> {}", it.severity),
            };
            let missing = it.missing_from.as_ref().zip(it.reason.as_ref());
            let what =
                missing.map(|(from, reason)| format!("not in {}: {reason}", from.to_uppercase()));
            let mut cells = vec![
                it.change.to_uppercase(),
                severity,
                it.id.clone(),
                short_name(&it.object),
                what.unwrap_or_else(|| it.summary.clone()),
            ];
            let cluster = are_several.then(|| it.cluster.clone().unwrap_or_default());
            cells.splice(1..1, cluster);
            table.row(cells)?;
        }
        table.finish()
    }
}

/// Returns the numbers of a comparison, in one line.
fn summary(compared: &AuditComparison) -> String {
    let count = |change: &str| compared.changes.iter().filter(|it| it.change == change).count();
    let told = format!(
        "{} appeared, {} changed severity, {} cleared, {} unchanged",
        count("appeared"),
        count("changed"),
        count("cleared"),
        compared.unchanged
    );
    match count("unseen") {
        0 => told,
        unseen => format!(
            "{told}; {} in only one report, which the other could not have",
            counted(unseen, "finding")
        ),
    }
}

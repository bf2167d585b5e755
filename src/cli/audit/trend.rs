//! `kubectl storage audit trend`: what saved reports say over time.

use std::{collections::BTreeSet, fs, io, path::PathBuf};

use clap::{Args, ValueEnum};

use super::baseline::{refused, saved};
use crate::{
    cli::{Exit, Failure, args::format, completion::formats, terminal},
    model::{counted, escape_control, first_of},
    output::{
        format::Format,
        formats::ExportFormat,
        list, page,
        trend::{StorageTrend, TrendGroup, TrendSeries, table},
    },
};

/// Arguments of `audit trend`.
#[derive(Debug, Args)]
pub(super) struct TrendArgs {
    /// Read all files of this folder that end in .json or .json.gz: reports saved with audit -o json
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
    /// List the table by storage class or namespace
    #[arg(long, value_name = "BY", value_enum, hide_possible_values = true)]
    group_by: Option<TrendBy>,
    /// Print in this format: table, json, yaml or html
    #[arg(short, long, value_name = "FORMAT", default_value = "table", add = formats(&["table", "json", "yaml", "html"]))]
    output: String,
    /// Omit headers
    #[arg(long)]
    no_headers: bool,
}

/// `--group-by` of a trend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TrendBy {
    /// By storage class
    Class,
    /// By namespace: that of the object, or of the claim of a volume
    Namespace,
}

impl TrendArgs {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let known = [Format::Table, Format::Json, Format::Yaml];
        let refusal = |it: &str| {
            format!("audit trend does not print {it}; its formats are table, json, yaml and html")
        };
        // `None` is the page.
        let format = match ExportFormat::parse(&self.output) {
            Some(ExportFormat::Html) => None,
            _ if self.output.parse::<Format>().is_err() => {
                return Err(Failure::usage(refusal(&format!("{:?}", self.output))));
            }
            _ => Some(format(&self.output, &known, refusal)?),
        };
        if self.group_by.is_some() && format != Some(Format::Table) {
            return Err(Failure::usage("--group-by applies to the format table")
                .hint(Some("the others list both classes and namespaces")));
        }
        if format.is_none() {
            refuse_page("write a file: kubectl storage audit trend DIR -o html > FILE")?;
        }
        let mut trend = StorageTrend::default();
        let files = self.files()?;
        for file in &files {
            let unread = trend.add(saved(file)?).map_err(|error| refused(file, error))?;
            if !unread.is_empty() {
                let told = format!("{} could not read {}", file.display(), first_of(&unread, 3));
                terminal::note(&format!("note: {}", escape_control(&told)));
            }
        }
        tell(&trend, files.len());
        let group = self.group_by.map(|it| match it {
            TrendBy::Class => TrendGroup::Class,
            TrendBy::Namespace => TrendGroup::Namespace,
        });
        terminal::print(|out| match format {
            None => page::print_trend(out, &trend),
            Some(Format::Json) => list::json(out, &trend),
            Some(Format::Yaml) => list::yaml(out, &trend),
            _ => table(out, &trend, group, !self.no_headers),
        })
        .map_err(Failure::error)?;
        Ok(Exit::Done)
    }

    /// Returns the reports in the folder, sorted by name.
    fn files(&self) -> Result<Vec<PathBuf>, Failure> {
        let folder = || format!("failed to read {}", self.folder.display());
        let failed = |error: io::Error| Failure::error(anyhow::Error::new(error).context(folder()));
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_report = name.ends_with(".json") || name.ends_with(".json.gz");
            if is_report && path.is_file() {
                files.push(path);
            }
        }
        files.sort();
        match files.is_empty() {
            true => Err(Failure::usage(format!(
                "no file of {} ends in .json or .json.gz",
                self.folder.display()
            ))
            .hint(Some("save reports there: kubectl storage audit -o json > DIR/DATE.json"))),
            false => Ok(files),
        }
    }
}

/// Refuses to print a page to a terminal.
pub(super) fn refuse_page(hint: &str) -> Result<(), Failure> {
    match terminal::is_terminal() {
        true => Err(Failure::usage("-o html prints a page for a browser, not for a terminal")
            .hint(Some(hint.to_owned()))),
        false => Ok(()),
    }
}

/// Tells on stderr what a reader of the figures must know.
fn tell(trend: &StorageTrend, files: usize) {
    let reports = || trend.series.iter().flat_map(|it| &it.reports);
    if trend.series.len() > 1 {
        let names: Vec<_> = trend.series.iter().map(|it| trend.name(it)).collect();
        let several =
            format!("reports of several clusters or scopes, shown apart: {}", names.join(", "));
        terminal::note(&format!("note: {}", escape_control(&several)));
    }
    let repeated = files.saturating_sub(reports().count());
    if repeated > 0 {
        terminal::note(&format!(
            "note: {} of a time that another report has: the last by name counts",
            counted(repeated, "report")
        ));
    }
    let own = env!("CARGO_PKG_VERSION");
    let versions: BTreeSet<&str> = reports().map(|it| &*it.tool.version).collect();
    if versions.iter().any(|it| *it != own) {
        let versions = versions.into_iter().collect::<Vec<_>>().join(", ");
        let told = format!(
            "reports were made by version {versions}, this is {own}: one may find what another does not"
        );
        terminal::note(&format!("note: {}", escape_control(&told)));
    }
    let differ =
        |it: &TrendSeries| it.reports.windows(2).any(|it| it[0].thresholds != it[1].thresholds);
    if trend.series.iter().any(differ) {
        terminal::note(
            "note: thresholds differ between reports, and so what counts as leaking or unused may",
        );
    }
    let incomplete = reports().filter(|it| it.is_incomplete).count();
    if incomplete > 0 {
        terminal::note(&format!(
            "note: {} incomplete: their figures are at least these",
            counted(incomplete, "report")
        ));
    }
}

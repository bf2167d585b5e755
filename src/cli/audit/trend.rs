//! `kubectl storage audit trend`: what saved reports say over time.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use flate2::read::MultiGzDecoder;
use serde::Deserialize;

use crate::{
    cli::{Exit, Failure, args::format, completion::formats, terminal},
    model::{counted, escape_control},
    output::{
        format::Format,
        list, page,
        trend::{SavedReport, StorageTrend, TrendGroup, TrendSeries, table},
        wire::API_VERSION,
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
        let known = [Format::Table, Format::Json, Format::Yaml, Format::Html];
        let format = format(&self.output, &known, |it| {
            format!("audit trend does not print {it}; its formats are table, json, yaml and html")
        })?;
        if self.group_by.is_some() && format != Format::Table {
            return Err(Failure::usage("--group-by applies to the format table")
                .hint(Some("the others list both classes and namespaces")));
        }
        refuse_terminal(&format, "audit trend DIR")?;
        let mut trend = StorageTrend::default();
        let files = self.files()?;
        for file in &files {
            let report = read(file).map_err(|error| refused(file, error))?;
            trend.add(report).map_err(|error| refused(file, error.into()))?;
        }
        tell(&trend, files.len());
        let group = self.group_by.map(|it| match it {
            TrendBy::Class => TrendGroup::Class,
            TrendBy::Namespace => TrendGroup::Namespace,
        });
        terminal::print(|out| match format {
            Format::Json => list::json(out, &trend),
            Format::Yaml => list::yaml(out, &trend),
            Format::Html => page::print_trend(out, &trend),
            _ => table(out, &trend, group, !self.no_headers),
        })
        .map_err(Failure::error)?;
        Ok(Exit::Done)
    }

    /// The reports of the folder, by name.
    fn files(&self) -> Result<Vec<PathBuf>, Failure> {
        let folder = || format!("failed to read {}", self.folder.display());
        let failed = |error: io::Error| Failure::error(anyhow::Error::new(error).context(folder()));
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(".json") || name.ends_with(".json.gz") {
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

/// Refuses a page where it would be printed to a terminal.
pub(super) fn refuse_terminal(format: &Format, command: &str) -> Result<(), Failure> {
    match format {
        Format::Html if terminal::is_terminal() => {
            Err(Failure::usage("-o html prints a page for a browser, not for a terminal")
                .hint(Some(format!("write a file: kubectl storage {command} -o html > FILE"))))
        }
        _ => Ok(()),
    }
}

fn refused(file: &Path, error: anyhow::Error) -> Failure {
    let error = error.context(format!("{} is no report to add", file.display()));
    Failure { exit: Exit::Usage, error, hint: None }
}

fn open(file: &Path) -> io::Result<Box<dyn Read>> {
    let plain = BufReader::new(File::open(file)?);
    Ok(match file.extension().is_some_and(|it| it == "gz") {
        true => Box::new(BufReader::new(MultiGzDecoder::new(plain))),
        false => Box::new(plain),
    })
}

/// Reads a report twice: what it is, then what it says. Its findings are never in memory together.
fn read(file: &Path) -> Result<SavedReport, anyhow::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Declared {
        api_version: Option<String>,
        kind: Option<String>,
    }
    let declared: Declared = serde_json::from_reader(open(file)?).map_err(explained)?;
    let kind = declared.kind.unwrap_or_default();
    if kind != "AuditReport" {
        return Err(anyhow!("its kind is {kind:?}, not AuditReport"));
    }
    let version = declared.api_version.unwrap_or_default();
    if version != API_VERSION {
        return Err(anyhow!("its apiVersion is {version:?}; this version reads {API_VERSION}"));
    }
    serde_json::from_reader(open(file)?).map_err(explained)
}

/// Says of a report that was cut off that it was.
fn explained(error: serde_json::Error) -> anyhow::Error {
    let is_cut = error.is_eof() || error.io_error_kind() == Some(io::ErrorKind::UnexpectedEof);
    match is_cut {
        true => anyhow::Error::new(error).context("it is cut off"),
        false => error.into(),
    }
}

/// Tells on stderr what a reader of the figures must know.
fn tell(trend: &StorageTrend, files: usize) {
    let reports = || trend.series.iter().flat_map(|it| &it.reports);
    if trend.series.len() > 1 {
        let names: Vec<_> = trend.series.iter().map(TrendSeries::name).collect();
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
    let incomplete = reports().filter(|it| it.is_incomplete).count();
    if incomplete > 0 {
        terminal::note(&format!(
            "note: {} incomplete: their figures are at least these",
            counted(incomplete, "report")
        ));
    }
}

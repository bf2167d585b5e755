//! Formats of a report that other programs read, with one file for each format.
//!
//! What they contain of the cluster is text of others: each neutralises what its readers would take for more than text.

mod csv;
mod junit;
mod markdown;
mod sarif;

use std::io::{self, Write};

use super::{
    list, page,
    summary::Checks,
    wire::{Finding, ReportHead, ReportTail},
};

/// A format of a whole report that can be written to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A line for each finding, for spreadsheets.
    Csv,
    /// A page for a browser.
    Html,
    /// The whole report, as JSON.
    Json,
    /// Cases of a test run.
    Junit,
    /// A table for an issue or the summary of a pipeline.
    Markdown,
    /// Gauges of metrics.
    OpenMetrics,
    /// Results for code scanning.
    Sarif,
    /// The whole report, as YAML.
    Yaml,
}

/// A report without its findings, which are written one by one.
#[derive(Clone, Copy)]
pub struct ReportFrame<'a> {
    /// The beginning of the report.
    pub head: &'a ReportHead,
    /// The end of the report.
    pub tail: &'a ReportTail,
    /// The number of checks that were made.
    pub checks: Checks,
    /// The number of findings that are listed.
    pub listed: usize,
    /// Function that makes metrics of the report's numbers.
    pub metrics: &'a dyn Fn() -> String,
    /// Whether columns have headers.
    pub headers: bool,
}

impl ExportFormat {
    /// All formats, sorted by name.
    pub const ALL: [Self; 8] = [
        Self::Csv,
        Self::Html,
        Self::Json,
        Self::Junit,
        Self::Markdown,
        Self::OpenMetrics,
        Self::Sarif,
        Self::Yaml,
    ];

    /// Returns the name of the format, as it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Html => "html",
            Self::Json => "json",
            Self::Junit => "junit",
            Self::Markdown => "markdown",
            Self::OpenMetrics => "openmetrics",
            Self::Sarif => "sarif",
            Self::Yaml => "yaml",
        }
    }

    /// Returns the format of this name, in any case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(name))
    }

    /// Whether the format lists all findings in the order in which it gets them.
    pub const fn keeps_order(self) -> bool {
        matches!(self, Self::Csv | Self::Html | Self::Json | Self::Yaml)
    }

    /// Whether the format also lists, with `--new-only`, what is not new, and says which is: code scanning closes what
    /// an upload lacks.
    pub const fn marks_new(self) -> bool {
        matches!(self, Self::Sarif)
    }

    /// Writes a report.
    ///
    /// # Errors
    /// When writing fails.
    pub fn write(
        self,
        out: &mut dyn Write,
        report: ReportFrame,
        findings: &mut dyn Iterator<Item = Finding>,
    ) -> io::Result<()> {
        let ReportFrame { head, tail, .. } = report;
        match self {
            Self::Csv => csv::write(out, report, findings),
            Self::Html => page::print(out, head, findings, tail),
            Self::Json => list::report_json(out, head, "findings", findings, tail),
            Self::Junit => junit::write(out, report, findings),
            Self::Markdown => markdown::write(out, report, findings),
            Self::OpenMetrics => out.write_all((report.metrics)().as_bytes()),
            Self::Sarif => sarif::write(out, report, findings),
            Self::Yaml => list::report_yaml(out, head, "findings", findings, tail),
        }
    }
}

/// Returns the cluster of a report, as files name it.
fn cluster(head: &ReportHead) -> &str {
    let cluster = &head.metadata.cluster;
    cluster.uid.as_deref().or(cluster.server.as_deref()).unwrap_or("cluster")
}

//! Printing of a report in any format.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use serde::Serialize;

pub use super::lines::wrapped as wrap;
pub(super) use super::table::{age_cell, resource_name, short_name};
use super::{
    columns::Columns,
    format::Format,
    jsonpath::{RenderError, Template},
    lines::readable,
    list,
    screen::{self, OfferedCommands, ScreenStyle},
    table::{TableStyle, TextTable},
    wire::{Finding, ReportHead, ReportTail},
};
use crate::model::escape_control;

/// A format with its templates parsed, so that nothing can go wrong half way through.
#[derive(Debug)]
pub enum Printer {
    /// A table: at a terminal with causes first; otherwise, or with more columns, with one line per finding.
    Table {
        wide: bool,
    },
    Json,
    Yaml,
    Name,
    JsonPath(Template),
    JsonPathAsJson(Template),
    Columns(Columns),
}

/// Style of a printed report.
#[derive(Debug, Clone, Copy)]
pub struct ReportStyle {
    /// Whether headers are printed.
    pub headers: bool,
    /// Width of the terminal, `None` when there is none.
    pub width: Option<u16>,
    /// Whether the terminal shows colours, and they are wanted.
    pub colour: bool,
    /// Whether the findings are printed in the opposite order: the worst last.
    pub reverse: bool,
}

impl Printer {
    /// Prints a report in this format. For people at a terminal, it returns the commands with which to begin.
    ///
    /// # Errors
    /// When writing fails, or a template does not fit the report.
    pub fn print(
        &self,
        out: &mut dyn Write,
        head: &ReportHead,
        findings: &mut dyn Iterator<Item = Finding>,
        tail: &ReportTail,
        style: ReportStyle,
        offered: OfferedCommands,
    ) -> Result<Vec<String>, RenderError> {
        if let (Self::Table { wide: false }, Some(width)) = (self, style.width) {
            let ReportStyle { headers, colour, reverse, .. } = style;
            let style = ScreenStyle { headers, width, colour, reverse };
            return Ok(screen::print(out, findings, style, offered)?);
        }
        let mut reversed: Vec<Finding> = Vec::new();
        if style.reverse {
            reversed.extend(&mut *findings);
        }
        let mut reversed = reversed.into_iter().rev();
        let findings =
            if style.reverse { &mut reversed as &mut dyn Iterator<Item = _> } else { findings };
        match self {
            Self::Table { wide } => table(out, findings, *wide, head, style)?,
            Self::Json => list::report_json(out, head, "findings", findings, tail)?,
            Self::Yaml => list::report_yaml(out, head, "findings", findings, tail)?,
            Self::Name => names(out, findings)?,
            Self::JsonPath(template) => {
                let mut report = whole(head, findings, tail)?;
                escape_all(&mut report);
                template.render(&report, out)?;
            }
            Self::JsonPathAsJson(template) => {
                template.render_json(&whole(head, findings, tail)?, out)?;
            }
            Self::Columns(columns) => {
                let mut values = findings.filter_map(|finding| serde_json::to_value(finding).ok());
                let look =
                    TableStyle { headers: style.headers, width: None, escape: escape_control };
                columns.print(out, &mut values, look)?;
            }
        }
        Ok(Vec::new())
    }

    /// Whether the summary belongs under the report, on stderr.
    pub fn is_for_people(&self) -> bool {
        matches!(self, Self::Table { .. })
    }
}

/// Input that a format needs before it can print.
impl Format {
    /// Returns the file that has to be read first, if the format is in one.
    pub fn file(&self) -> Option<&std::path::Path> {
        match self {
            Self::JsonPathFile(path) | Self::CustomColumnsFile(path) => Some(path),
            _ => None,
        }
    }
}

/// Returns the headers of a table with one line per finding.
pub(super) fn headers(wide: bool) -> &'static [&'static str] {
    const NARROW: [&str; 6] = ["SEVERITY", "ID", "OBJECT", "AGE", "SIZE", "WHAT"];
    const WIDE: [&str; 11] = [
        "SEVERITY", "ID", "OBJECT", "AGE", "SIZE", "CLAIM", "CLASS", "DRIVER", "POLICY", "NEXT",
        "WHAT",
    ];
    if wide { &WIDE } else { &NARROW }
}

fn table(
    out: &mut dyn Write,
    findings: &mut dyn Iterator<Item = Finding>,
    wide: bool,
    head: &ReportHead,
    page: ReportStyle,
) -> io::Result<()> {
    let compared = head.baseline.is_some();
    let are_several = !head.metadata.clusters.is_empty();
    // Nothing is cut and nothing coloured: scripts read this.
    let look = TableStyle { headers: page.headers, width: None, escape: readable };
    // New columns stand before the last one.
    let mut headers = headers(wide).to_vec();
    if compared {
        headers.insert(headers.len() - 1, "BASELINE");
    }
    if are_several {
        headers.insert(0, "CLUSTER");
    }
    let mut table = TextTable::new(out, &headers, look);
    let mut any = false;
    for mut finding in findings {
        any = true;
        let baseline = finding.baseline.take().filter(|_| compared);
        let cluster = finding.cluster.take().filter(|_| are_several);
        let mut cells = cells(finding, wide);
        cells.splice(0..0, cluster);
        if let Some(baseline) = baseline {
            cells.insert(cells.len() - 1, baseline);
        }
        table.row(cells)?;
    }
    if any { table.finish() } else { Ok(()) }
}

/// Returns the cells of a finding beneath these headers.
pub(super) fn cells(finding: Finding, wide: bool) -> Vec<String> {
    let none = || "<none>".to_owned();
    let age = age_cell(finding.age.as_ref(), "<unknown>");
    let object = short_name(&finding.object);
    let volume = finding.volume;
    let size = volume.as_ref().and_then(|volume| volume.capacity.clone()).unwrap_or_default();
    let mut cells = vec![finding.severity, finding.id, object, age, size];
    if wide {
        let of = |get: fn(&super::wire::Volume) -> Option<String>| {
            volume.as_ref().map_or_else(String::new, |volume| get(volume).unwrap_or_else(none))
        };
        cells.push(of(|volume| volume.claim.clone()));
        cells.push(of(|volume| volume.storage_class.clone()));
        cells.push(of(|volume| volume.driver.clone()));
        cells.push(of(|volume| Some(volume.reclaim_policy.clone())));
        let next = finding.remedy.and_then(|remedy| remedy.command);
        cells.push(next.unwrap_or_else(|| match finding.verdict.reason.is_empty() {
            true => finding.verdict.state.clone(),
            false => format!("{}: {}", finding.verdict.state, finding.verdict.reason),
        }));
    }
    cells.push(finding.summary);
    cells
}

fn names(out: &mut dyn Write, findings: &mut dyn Iterator<Item = Finding>) -> io::Result<()> {
    let mut printed = std::collections::HashSet::new();
    for finding in findings {
        let name = resource_name(&finding.object);
        // Not a prefix of the name, which would then be that of another object.
        let of_cluster = |it: &String| format!("{}\t", escape_control(it));
        let cluster = finding.cluster.as_ref().map_or_else(String::new, of_cluster);
        let line = format!("{cluster}{}", escape_control(&name));
        let identity = (line.clone(), finding.object.namespace);
        if printed.insert(identity) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// Makes every text of a report safe to print as it is: a name or a message must not be able to
/// move the cursor, while the template itself may.
pub(super) fn escape_all(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::String(text) => {
            if let Cow::Owned(safe) = escape_control(text) {
                *text = safe;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(escape_all),
        Value::Object(fields) => fields.values_mut().for_each(escape_all),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the whole report as one value, for templates, which may look anywhere.
fn whole(
    head: &ReportHead,
    findings: &mut dyn Iterator<Item = Finding>,
    tail: &ReportTail,
) -> Result<serde_json::Value, io::Error> {
    #[derive(Serialize)]
    struct WholeReport<'a> {
        #[serde(flatten)]
        head: &'a ReportHead,
        findings: Vec<Finding>,
        #[serde(flatten)]
        tail: &'a ReportTail,
    }
    let whole = WholeReport { head, findings: findings.collect(), tail };
    serde_json::to_value(whole).map_err(io::Error::other)
}

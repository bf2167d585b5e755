//! Format `-o csv`: one line a finding, by RFC 4180, harmless to a spreadsheet.

use std::io::{self, Write};

use super::ReportFrame;
use crate::{
    model::escape_control,
    output::{
        table::short_name,
        wire::{Finding, Volume},
    },
};

/// The columns, named as the fields of `-o json` are. New ones are added at the end.
const HEADERS: [&str; 21] = [
    "severity",
    "id",
    "kind",
    "namespace",
    "name",
    "uid",
    "since",
    "ageSeconds",
    "ageTrust",
    "capacity",
    "phase",
    "claim",
    "storageClass",
    "driver",
    "reclaimPolicy",
    "summary",
    "verdict",
    "reason",
    "command",
    "causedBy",
    "baseline",
];

/// The column after these in a report about several clusters.
const CLUSTER: &str = "cluster";

/// Characters with which a spreadsheet begins a formula, also in the full width of East Asian keyboards, or leaves the
/// cell.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// Writes a line for each finding, beneath the names of the columns.
pub fn write(
    out: &mut dyn Write,
    report: ReportFrame,
    findings: &mut dyn Iterator<Item = Finding>,
) -> io::Result<()> {
    let are_several = !report.head.metadata.clusters.is_empty();
    if report.headers {
        line(out, HEADERS.iter().copied().chain(are_several.then_some(CLUSTER)))?;
    }
    for mut finding in findings {
        let cluster = finding.cluster.take().filter(|_| are_several);
        let cells = cells(finding);
        line(out, cells.iter().chain(&cluster).map(String::as_str))?;
    }
    Ok(())
}

fn line<'c>(out: &mut dyn Write, cells: impl Iterator<Item = &'c str>) -> io::Result<()> {
    let cells: Vec<_> = cells.map(cell).collect();
    write!(out, "{}\r\n", cells.join(","))
}

fn cells(finding: Finding) -> [String; HEADERS.len()] {
    let Finding { object, age, volume, verdict, .. } = finding;
    let of = |get: fn(&Volume) -> Option<&String>| {
        volume.as_ref().and_then(get).cloned().unwrap_or_default()
    };
    let caused = finding.caused_by.iter();
    let caused = caused.map(|it| format!("{} {}", it.id, short_name(&it.object)));
    let (since, seconds, trust) =
        age.map_or_else(Default::default, |it| (it.since, it.seconds, it.trust));
    [
        finding.severity,
        finding.id,
        object.kind,
        object.namespace.unwrap_or_default(),
        object.name,
        object.uid.unwrap_or_default(),
        since.unwrap_or_default(),
        seconds.map(|it| it.to_string()).unwrap_or_default(),
        trust,
        of(|it| it.capacity.as_ref()),
        of(|it| Some(&it.phase)),
        of(|it| it.claim.as_ref()),
        of(|it| it.storage_class.as_ref()),
        of(|it| it.driver.as_ref()),
        of(|it| Some(&it.reclaim_policy)),
        finding.summary,
        verdict.state,
        verdict.reason,
        finding.remedy.and_then(|it| it.command).unwrap_or_default(),
        caused.collect::<Vec<_>>().join("; "),
        finding.baseline.unwrap_or_default(),
    ]
}

/// Returns a cell that is text wherever it is opened, also where cells are taken to end at a semicolon.
fn cell(text: &str) -> String {
    let mark = |part: &str| if part.starts_with(FORMULA) { "'" } else { "" };
    let parts = text.split(';').map(|part| format!("{}{}", mark(part), escape_control(part)));
    let text = parts.collect::<Vec<_>>().join(";");
    match text.contains(['"', ',']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a line as RFC 4180 has it.
    fn parse(line: &str) -> Option<Vec<String>> {
        let mut rest = line.strip_suffix("\r\n")?;
        let mut cells = Vec::new();
        loop {
            let (cell, after) = match rest.strip_prefix('"') {
                None => {
                    let end = rest.find(',').unwrap_or(rest.len());
                    (rest[..end].to_owned(), &rest[end..])
                }
                Some(quoted) => {
                    let mut cell = String::new();
                    let mut left = quoted;
                    loop {
                        let (text, after) = left.split_once('"')?;
                        cell.push_str(text);
                        match after.strip_prefix('"') {
                            Some(more) => {
                                cell.push('"');
                                left = more;
                            }
                            None => break (cell, after),
                        }
                    }
                }
            };
            if cell.contains(['\r', '\n']) || (!line.contains('"') && cell.contains('"')) {
                return None;
            }
            cells.push(cell);
            match after.strip_prefix(',') {
                Some(more) => rest = more,
                None => return after.is_empty().then_some(cells),
            }
        }
    }

    #[test]
    fn formulas_are_text() {
        for (text, shown) in [
            ("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\\t=1"),
            ("\r", "'\\r"),
            ("\n=1", "'\\n=1"),
            ("＝1", "'＝1"),
            ("boom;=A1", "boom;'=A1"),
            ("pv-1", "pv-1"),
            ("a=b", "a=b"),
            ("", ""),
        ] {
            assert_eq!(cell(text), shown, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_one_cell_and_no_formula(texts in prop::array::uniform4(".{0,12}|[=+@,;\"\r\n\t-]{1,6}")) {
            let mut out = Vec::new();
            line(&mut out, texts.iter().map(String::as_str)).expect("because memory does not fail");
            let printed = String::from_utf8(out).expect("it is text");
            let cells = parse(&printed).expect("it is a line of cells");
            prop_assert_eq!(cells.len(), texts.len(), "{}", printed);
            for (text, cell) in texts.iter().zip(cells) {
                for (part, shown) in text.split(';').zip(cell.split(';')) {
                    prop_assert!(!shown.starts_with(FORMULA), "{:?}", cell);
                    let marked = part.starts_with(FORMULA);
                    let said = if marked { shown.strip_prefix('\'').expect("a mark") } else { shown };
                    prop_assert_eq!(said, &*escape_control(part));
                }
            }
        }
    }
}

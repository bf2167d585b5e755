//! The page of `audit trend`: lines over time, drawn by the program. It has no script.

use std::io::{self, Write};

use super::{
    frame::{Escaped, document},
    overview::COLUMNS,
};
use crate::{
    model::{Bytes, Time, counted, format_bytes, parse_time},
    output::{
        trend::{StorageTrend, TrendGroup, TrendPoint, TrendSeries},
        wire::StorageAmounts,
    },
};

/// Width of a drawing, which the page stretches.
const WIDE: f64 = 1000.0;
const HIGH: f64 = 100.0;

/// A line: its class and name on the page, and its bytes.
type Line = (&'static str, &'static str, fn(&StorageAmounts) -> Bytes);

const LINES: [Line; 4] = [
    ("leaking", "Leaking", |it| it.leaking_bytes),
    ("released", "Released", |it| it.released_bytes),
    ("unused", "Unused", |it| it.unused_bytes),
    ("at-risk", "Data at risk", |it| it.at_risk_bytes),
];

/// Prints the trend as a page.
///
/// # Errors
/// When writing fails.
pub fn print(out: &mut dyn Write, trend: &StorageTrend) -> io::Result<()> {
    document(out, "Storage over time", None, |out| {
        writeln!(out, "<header><h1>Storage over time</h1></header>\n<main>")?;
        for (index, series) in trend.series.iter().enumerate() {
            of_series(out, series, &trend.name(series), index)?;
        }
        writeln!(out, "</main>")
    })
}

fn of_series(
    out: &mut dyn Write,
    series: &TrendSeries,
    name: &str,
    index: usize,
) -> io::Result<()> {
    let Some((first, last)) = series.reports.first().zip(series.reports.last()) else {
        return Ok(());
    };
    writeln!(
        out,
        "<section aria-labelledby=\"series-{index}\"><h2 id=\"series-{index}\">{}</h2>",
        Escaped(name)
    )?;
    let span = (Escaped(&first.taken_at), Escaped(&last.taken_at));
    writeln!(out, "<p>{}, {} to {}</p>", counted(series.reports.len(), "report"), span.0, span.1)?;
    if series.reports.len() > 1 {
        chart(out, series)?;
    }
    writeln!(out, r#"<div class="panels">"#)?;
    groups(out, series, TrendGroup::Namespace, "By namespace")?;
    groups(out, series, TrendGroup::Class, "By storage class")?;
    writeln!(out, "</div>")?;
    reports(out, series, index)?;
    writeln!(out, "</section>")
}

/// Draws all lines, with a scale beside them, and what each is at its end.
fn chart(out: &mut dyn Write, series: &TrendSeries) -> io::Result<()> {
    let all = || series.reports.iter().map(|it| &it.total);
    let most = LINES.iter().flat_map(|(_, _, of)| all().map(of)).max().unwrap_or(0);
    writeln!(
        out,
        "<div class=\"chart\"><div class=\"scale\" aria-hidden=\"true\"><span>{}</span><span>{}</span><span>0</span></div>",
        format_bytes(most),
        format_bytes(most / 2)
    )?;
    write!(
        out,
        "<svg viewBox=\"0 -1 {WIDE} 102\" preserveAspectRatio=\"none\" aria-hidden=\"true\" focusable=\"false\">"
    )?;
    write!(out, "<line class=\"grid\" x1=\"0\" x2=\"{WIDE}\" y1=\"{0}\" y2=\"{0}\"/>", HIGH / 2.0)?;
    for (class, _, of) in LINES {
        polyline(out, class, &series.reports, most, |it| of(&it.total))?;
    }
    writeln!(out, "</svg>")?;
    if let Some((first, last)) = series.reports.first().zip(series.reports.last()) {
        writeln!(
            out,
            "<div class=\"times\"><span>{}</span><span>{}</span></div></div>\n<p class=\"legend\">",
            Escaped(day(first)),
            Escaped(day(last))
        )?;
        for (class, name, of) in LINES {
            let (before, now) = (format_bytes(of(&first.total)), format_bytes(of(&last.total)));
            writeln!(
                out,
                "<span><span class=\"key {class}\"></span>{name}: {before} to <strong>{now}</strong></span>"
            )?;
        }
    }
    writeln!(out, "</p>")
}

/// Writes a table of groups, the largest first: their lines have one scale, so that they can be compared.
fn groups(
    out: &mut dyn Write,
    series: &TrendSeries,
    group: TrendGroup,
    heading: &str,
) -> io::Result<()> {
    let of =
        |report: &TrendPoint, name: &str, line: Line| report.by(group).get(name).map_or(0, line.2);
    let all = series.reports.iter().flat_map(|it| it.by(group).values());
    let most = all.flat_map(|it| LINES.map(|line| line.2(it))).max().unwrap_or(0);
    let Some((first, last)) = series.reports.first().zip(series.reports.last()) else {
        return Ok(());
    };
    let wasted = |report: &TrendPoint, name: &str| {
        report.by(group).get(name).map_or(0, StorageAmounts::wasted)
    };
    let mut names: Vec<_> = series.names(group).into_iter().collect();
    names.sort_by_key(|name| std::cmp::Reverse((wasted(last, name), wasted(first, name))));
    writeln!(out, "<div class=\"panel\"><h3>{heading}</h3>")?;
    writeln!(
        out,
        "<table>{COLUMNS}<thead><tr><td></td><td></td><th scope=\"col\" colspan=\"2\">Wasted, first and last</th></tr></thead><tbody>"
    )?;
    for name in names {
        let shown = Escaped(if name.is_empty() { "(none)" } else { name });
        write!(
            out,
            "<tr><th scope=\"row\">{shown}</th><td><svg class=\"spark\" viewBox=\"0 -6 {WIDE} 112\" preserveAspectRatio=\"none\" aria-hidden=\"true\" focusable=\"false\">"
        )?;
        for line in LINES {
            polyline(out, line.0, &series.reports, most, |report| of(report, name, line))?;
        }
        let (before, now) = (wasted(first, name), wasted(last, name));
        writeln!(
            out,
            "</svg></td><td>{}</td><td>{}</td></tr>",
            format_bytes(before),
            format_bytes(now)
        )?;
    }
    writeln!(out, "</tbody></table></div>")
}

/// Writes a table of the drawn values.
fn reports(out: &mut dyn Write, series: &TrendSeries, index: usize) -> io::Result<()> {
    writeln!(
        out,
        "<details class=\"counting\"><summary>All reports</summary><div class=\"wide\" role=\"region\" aria-label=\"All reports {}\" tabindex=\"0\"><table class=\"gaps\">",
        index + 1
    )?;
    let columns = LINES.map(|(_, name, _)| format!("<th scope=\"col\">{name}</th>")).concat();
    writeln!(
        out,
        "<thead><tr><th scope=\"col\">Taken at</th>{columns}<th scope=\"col\">Findings</th><th scope=\"col\">Version</th></tr></thead><tbody>"
    )?;
    for TrendPoint { taken_at, tool, findings, is_incomplete, total, .. } in &series.reports {
        let (at, version) = (Escaped(taken_at), Escaped(&tool.version));
        let cells =
            LINES.map(|(_, _, of)| format!("<td>{}</td>", format_bytes(of(total)))).concat();
        let incomplete = if *is_incomplete { ", incomplete" } else { "" };
        writeln!(
            out,
            "<tr><th scope=\"row\">{at}</th>{cells}<td>{findings}{incomplete}</td><td>{version}</td></tr>"
        )?;
    }
    writeln!(
        out,
        "</tbody></table></div><p>Capacities of volumes, each backend volume once. Wasted is what is leaking, Released or unused.</p></details>"
    )
}

/// Draws bytes over time, from the left edge to the right one.
fn polyline(
    out: &mut dyn Write,
    class: &str,
    reports: &[TrendPoint],
    most: Bytes,
    of: impl Fn(&TrendPoint) -> Bytes,
) -> io::Result<()> {
    let time = |it: &TrendPoint| parse_time(&it.taken_at).ok().flatten();
    let seconds = |it: Option<Time>| it.map_or(0, |it| it.timestamp());
    let start = seconds(reports.first().and_then(time));
    let whole = (seconds(reports.last().and_then(time)) - start).max(1);
    write!(out, "<polyline class=\"{class}\" points=\"")?;
    for report in reports {
        #[expect(clippy::cast_precision_loss, reason = "a screen has fewer columns and lines")]
        let (x, y) = (
            WIDE * (seconds(time(report)) - start) as f64 / whole as f64,
            HIGH - HIGH * of(report) as f64 / most.max(1) as f64,
        );
        write!(out, "{x:.1},{y:.1} ")?;
    }
    write!(out, "\"/>")
}

fn day(report: &TrendPoint) -> &str {
    report.taken_at.split('T').next().unwrap_or_default()
}

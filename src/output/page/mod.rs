//! Format `-o html`: a report as one page that needs no network. `page.html`, `page.css` and `page.js` are the page
//! itself.
//!
//! Findings are written as they come, as JSON that the script lists, before everything else, so that they need not be kept.
//! Without the script, the first hundred can be read.

mod entry;
mod frame;
mod overview;
mod trend;

use std::io::{self, Write};

use entry::PageEntry;
use frame::{Escaped, Island, document};
use overview::overview;
pub use trend::print as print_trend;

use super::wire::{
    ClusterIdentity, Finding, Gap, ReportHead, ReportMetadata, ReportTail, ReportedCluster, Source,
};
use crate::model::{Severity, counted};

const SCRIPT: &str = include_str!("page.js");
/// Number of findings that can be read without the script.
const FIRST: usize = 100;

/// Prints a report as a page.
///
/// # Errors
/// When writing fails.
pub fn print(
    out: &mut dyn Write,
    head: &ReportHead,
    findings: &mut dyn Iterator<Item = Finding>,
    tail: &ReportTail,
) -> io::Result<()> {
    let place = place(&head.metadata);
    let title = format!("Storage audit: {place}");
    document(out, &title, Some(SCRIPT), |out| {
        let (listed, first) = island(out, findings)?;
        writeln!(out, "<header>\n<h1>Storage audit</h1>")?;
        writeln!(out, "<p>{}</p>\n</header>\n<main>", Escaped(&origin(&place, &head.metadata)))?;
        overview(out, head, tail.gaps.len())?;
        clusters(out, &head.metadata.clusters)?;
        list(out, listed, &first)?;
        gaps(out, &tail.gaps)?;
        writeln!(out, "</main>")
    })
}

/// Writes all findings as JSON, and returns their number and the first of them.
fn island(
    out: &mut dyn Write,
    findings: &mut dyn Iterator<Item = Finding>,
) -> io::Result<(usize, Vec<PageEntry>)> {
    let (mut listed, mut first) = (0, Vec::new());
    write!(out, r#"<script type="application/json" id="findings">["#)?;
    for (index, finding) in findings.enumerate() {
        listed += 1;
        let entry = PageEntry::of(finding);
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(Island(out), &entry)?;
        if index < FIRST {
            first.push(entry);
        }
    }
    writeln!(out, "]</script>")?;
    Ok((listed, first))
}

/// Writes the list: without the script, its beginning; the script puts all of it in its place.
fn list(out: &mut dyn Write, listed: usize, first: &[PageEntry]) -> io::Result<()> {
    writeln!(out, r#"<section id="list" aria-labelledby="list-title">"#)?;
    writeln!(out, r#"<h2 id="list-title">{}</h2>"#, counted(listed, "finding"))?;
    if listed > first.len() {
        let shown = first.len();
        writeln!(
            out,
            "<noscript><p>The first {shown} of {listed}: your browser runs no scripts, or this page may not.</p></noscript>"
        )?;
    }
    writeln!(out, r#"<div id="rows">"#)?;
    if !first.is_empty() {
        writeln!(out, r#"<ol class="chunk">"#)?;
        first.iter().try_for_each(|it| it.write(out))?;
        writeln!(out, "</ol>")?;
    }
    writeln!(out, "</div>\n</section>")
}

/// Writes a table of several clusters, whose names filter the list.
fn clusters(out: &mut dyn Write, clusters: &[ReportedCluster]) -> io::Result<()> {
    if clusters.is_empty() {
        return Ok(());
    }
    let of = counted(clusters.len(), "cluster");
    writeln!(
        out,
        "<details class=\"counting\"><summary>{of}</summary><div class=\"wide\" role=\"region\" aria-label=\"Table of clusters\" tabindex=\"0\"><table class=\"gaps\">"
    )?;
    let columns = ["Cluster", "Server", "Version", "As of", "Findings", "Not read"];
    let columns = columns.map(|it| format!("<th scope=\"col\">{it}</th>")).concat();
    writeln!(out, "<thead><tr>{columns}</tr></thead>\n<tbody>")?;
    for it in clusters {
        let severities = Severity::ALL.into_iter().filter_map(|severity| {
            let count = it.by_severity.get(severity.name())?;
            Some(format!("{count} {}", severity.name()))
        });
        let found = severities.collect::<Vec<_>>().join(", ");
        let unknown = || "unknown".to_owned();
        let ClusterIdentity { server, version, .. } = it.identity.clone();
        let cells = [
            server.unwrap_or_else(unknown),
            version.unwrap_or_else(unknown),
            it.taken_at.clone().unwrap_or_else(unknown),
            if found.is_empty() { "none".to_owned() } else { found },
            if it.gaps == 0 { String::new() } else { counted(it.gaps, "resource") },
        ];
        let cells = cells.map(|it| format!("<td>{}</td>", Escaped(&it))).concat();
        let name = Escaped(&it.name);
        let filters = if it.findings == 0 { "" } else { " data-by=\"cluster\"" };
        writeln!(out, "<tr><th scope=\"row\"{filters}>{name}</th>{cells}</tr>")?;
    }
    writeln!(out, "</tbody></table></div></details>")
}

/// Writes the resources that were not read.
fn gaps(out: &mut dyn Write, gaps: &[Gap]) -> io::Result<()> {
    if gaps.is_empty() {
        return Ok(());
    }
    writeln!(out, r#"<section id="gaps" aria-labelledby="gaps-title">"#)?;
    writeln!(
        out,
        "<h2 id=\"gaps-title\">Not read</h2>\n<div class=\"wide\" role=\"region\" aria-label=\"Table of what was not read\" tabindex=\"0\"><table class=\"gaps\">"
    )?;
    writeln!(
        out,
        "<thead><tr><th scope=\"col\">Resource</th><th scope=\"col\">Reason</th><th scope=\"col\">Checks that it limits</th></tr></thead>\n<tbody>"
    )?;
    for gap in gaps {
        let (resource, ids) = (gap.place(), gap.ids.join(", "));
        let [resource, reason, ids] = [&resource, &gap.reason, &ids].map(|it| Escaped(it));
        writeln!(
            out,
            "<tr><th scope=\"row\">{resource}</th><td>{reason}</td><td><details><summary>{}</summary>{ids}</details></td></tr>",
            counted(gap.ids.len(), "check")
        )?;
    }
    writeln!(out, "</tbody></table></div>\n</section>")
}

/// Returns the name of the cluster that the report is about, or the number of several.
fn place(metadata: &ReportMetadata) -> String {
    if !metadata.clusters.is_empty() {
        return counted(metadata.clusters.len(), "cluster");
    }
    let cluster = &metadata.cluster;
    let known = cluster.server.as_ref().or(cluster.uid.as_ref());
    known.map_or_else(|| "a cluster that is not named".to_owned(), Clone::clone)
}

/// Returns the cluster, the time and the tool of the report in few words.
fn origin(place: &str, metadata: &ReportMetadata) -> String {
    let mut parts = vec![place.to_owned()];
    parts.extend(metadata.cluster.version.as_ref().map(|it| format!("Kubernetes {it}")));
    let from = match metadata.source {
        Source::Dump => " from a dump",
        Source::Live | Source::Watch | Source::None => "",
    };
    let as_of = if metadata.clusters.is_empty() { "as of" } else { "the oldest as of" };
    parts.push(match &metadata.taken_at {
        Some(time) => format!("{as_of} {time}{from}"),
        None => format!("at an unknown time{from}"),
    });
    parts.push(format!("kubectl storage {}", metadata.tool.version));
    parts.join(" · ")
}

#[cfg(test)]
mod tests;

//! What is wasted, where and whose: the figures and bars at the top of the page.

use std::io::{self, Write};

use super::frame::Escaped;
use crate::{
    model::{Bytes, Severity, Text, counted, format_bytes},
    output::{
        sections::Grouping,
        tally::{Amounts, Place, StorageTally},
        wire::{HiddenFindings, Summary},
    },
    rules::Waste,
};

/// Places of a panel that have a bar of their own.
const SHOWN: usize = 8;

/// The columns of a panel: a name, what is drawn, and two figures.
pub(super) const COLUMNS: &str =
    r#"<colgroup><col class="place"><col><col class="bytes"><col class="bytes"></colgroup>"#;

/// What each panel says, and whether its names filter the list.
const PANELS: [(&str, Place, Option<&str>); 4] = [
    ("By namespace", Place::Group(Grouping::Namespace), Some("namespace")),
    ("By storage class", Place::Group(Grouping::Class), Some("class")),
    ("By driver", Place::Group(Grouping::Driver), Some("driver")),
    ("By age", Place::Age, None),
];

/// Writes the overview.
///
/// # Errors
/// When writing fails.
pub(super) fn overview(
    out: &mut dyn Write,
    tally: &StorageTally,
    summary: &Summary,
    hidden: Option<&HiddenFindings>,
    gaps: usize,
) -> io::Result<()> {
    let total = tally.total();
    if gaps > 0 {
        let kinds = counted(gaps, "resource");
        writeln!(
            out,
            "<p class=\"incomplete\"><strong>Incomplete:</strong> {kinds} not read, or only in part. All figures are at least these. <a href=\"#gaps\">What was not read</a></p>"
        )?;
    }
    if let Some(hidden) = hidden {
        let (findings, what) = (counted(hidden.count, "finding"), hidden.what());
        writeln!(
            out,
            "<p class=\"incomplete\">{findings} not on this page, nor in its figures: {}.</p>",
            Escaped(&what)
        )?;
    }
    writeln!(
        out,
        r#"<section aria-labelledby="wasted"><div class="figures"><div class="figure main">"#
    )?;
    writeln!(
        out,
        "<h2 id=\"wasted\">Wasted</h2><p class=\"big\">{}</p><p>in {}</p></div>",
        format_bytes(total.wasted()),
        counted(total.volumes, "backend volume")
    )?;
    for waste in Waste::ALL {
        let (name, bytes) = (waste.name(), format_bytes(total.of(waste)));
        writeln!(
            out,
            "<div class=\"figure\"><h3><span class=\"key {name}\"></span>{}</h3><p class=\"big\">{bytes}</p><p>{}</p></div>",
            title(waste),
            meaning(waste)
        )?;
    }
    writeln!(
        out,
        "<div class=\"figure\"><h3><span class=\"key at-risk\"></span>Data at risk</h3><p class=\"big\">{}</p><p>can be destroyed, or read by others: {}</p></div></div>",
        format_bytes(total.at_risk),
        counted(total.volumes_at_risk, "volume")
    )?;
    bar(out, &total, total.wasted(), "bar whole")?;
    severities(out, summary)?;
    writeln!(out, r#"<div class="panels">"#)?;
    for (heading, place, filters) in PANELS {
        panel(out, heading, filters, tally.by(place))?;
    }
    writeln!(out, "</div>")?;
    counting(out, summary)?;
    writeln!(out, "</section>")
}

const fn title(waste: Waste) -> &'static str {
    match waste {
        Waste::Leaking => "Leaking",
        Waste::Released => "Released",
        Waste::Unused => "Unused",
    }
}

const fn meaning(waste: Waste) -> &'static str {
    match waste {
        Waste::Leaking => "billed without an object that references it, now or soon",
        Waste::Released => "its claim was deleted",
        Waste::Unused => "no pod, workload, owner or paused StatefulSet uses its claim",
    }
}

fn severities(out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let count = |it: Severity| summary.by_severity.get(it.name()).copied().unwrap_or(0);
    write!(out, r#"<p class="severities">"#)?;
    for severity in Severity::ALL.into_iter().filter(|it| count(*it) > 0) {
        write!(
            out,
            r#"<span class="severity {0}">{1} {0}</span> "#,
            severity.name(),
            count(severity)
        )?;
    }
    writeln!(
        out,
        "<span>among {}, {}</span></p>",
        counted(summary.volumes, "volume"),
        counted(summary.claims, "claim")
    )
}

/// Writes the bytes of one kind of place, as a table whose rows are drawn, too.
fn panel(
    out: &mut dyn Write,
    heading: &str,
    filters: Option<&str>,
    mut places: Vec<(Option<Text>, Amounts)>,
) -> io::Result<()> {
    let none = if filters.is_some() { "none" } else { "unknown" };
    let others = places.split_off(places.len().min(SHOWN));
    let most = places.iter().map(|(_, it)| it.wasted()).max().unwrap_or(0);
    let id = heading.to_lowercase().replace(' ', "-");
    writeln!(
        out,
        "<section class=\"panel\" aria-labelledby=\"{id}\"><h3 id=\"{id}\">{heading}</h3>"
    )?;
    writeln!(
        out,
        "<table>{COLUMNS}<thead><tr><td></td><td></td><th scope=\"col\">wasted</th><th scope=\"col\">at risk</th></tr></thead><tbody>"
    )?;
    for (name, amounts) in &places {
        let filter = name.as_ref().zip(filters).map(|(_, by)| format!(" data-by=\"{by}\""));
        let name = Escaped(name.as_deref().unwrap_or(none));
        write!(out, "<tr><th scope=\"row\"{}>{name}</th><td>", filter.unwrap_or_default())?;
        bar(out, amounts, most, "bar")?;
        figures(out, amounts)?;
    }
    if !others.is_empty() {
        let sum = others.iter().fold(Amounts::default(), |sum, (_, it)| sum.plus(it));
        write!(out, "<tr><td colspan=\"2\">{}", counted(others.len(), "other"))?;
        figures(out, &sum)?;
    }
    writeln!(out, "</tbody></table></section>")
}

fn figures(out: &mut dyn Write, amounts: &Amounts) -> io::Result<()> {
    let shown = |bytes: Bytes| if bytes == 0 { "–".to_owned() } else { format_bytes(bytes) };
    writeln!(
        out,
        "</td><td>{}</td><td>{}</td></tr>",
        shown(amounts.wasted()),
        shown(amounts.at_risk)
    )
}

/// Draws the kinds of waste side by side, as long as they are beside the most there is. Its figures stand beside it.
fn bar(out: &mut dyn Write, amounts: &Amounts, most: Bytes, class: &str) -> io::Result<()> {
    write!(out, r#"<svg class="{class}" aria-hidden="true" focusable="false">"#)?;
    let mut start = 0.0;
    for waste in Waste::ALL {
        #[expect(clippy::cast_precision_loss, reason = "a screen has fewer columns")]
        let share = amounts.of(waste) as f64 / most.max(1) as f64;
        // The least that is there can be seen.
        let width = if share > 0.0 { (100.0 * share).max(0.8) } else { 0.0 };
        if width > 0.0 {
            let name = waste.name();
            write!(
                out,
                r#"<rect class="{name}" x="{start:.2}%" width="{width:.2}%" height="100%"/>"#
            )?;
        }
        start += width;
    }
    writeln!(out, "</svg>")
}

/// Says how bytes were counted, and what the summary of the report says beside that.
fn counting(out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let Summary { released, reclaimable, leaking, at_risk, exempted, .. } = summary;
    let exempted = match exempted {
        0 => String::new(),
        count => format!(" Exemptions leave out {}.", counted(*count, "finding")),
    };
    writeln!(
        out,
        "<details class=\"counting\"><summary>How bytes are counted</summary>\
         <p>They are capacities of the volumes in findings. A backend volume counts once, however many findings, claims or PersistentVolumes \
         reference it: as leaking, else as Released, else as unused. Volumes that became Released more recently than the threshold are in no finding, \
         and so is what was not read.{exempted} A namespace is that of the claim, an age that of the finding.</p>\
         <p>Summary of the report, which counts objects in scope: Released {}, reclaimable now {}; leaking {}; data at risk {}.</p></details>",
        Escaped(released),
        Escaped(reclaimable),
        Escaped(leaking),
        Escaped(at_risk)
    )
}

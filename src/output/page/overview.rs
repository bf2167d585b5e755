//! Overview of waste, by place and owner: the figures and bars at the top of the page.

use std::io::{self, Write};

use super::frame::Escaped;
use crate::{
    model::{Bytes, Severity, counted, format_bytes},
    output::wire::{ReportHead, StorageAmounts, StorageShare, Summary},
};

/// Number of places of a panel that have a bar of their own.
const SHOWN: usize = 8;

/// The columns of a panel: a name, a drawing, and two figures.
pub(super) const COLUMNS: &str =
    r#"<colgroup><col class="place"><col><col class="bytes"><col class="bytes"></colgroup>"#;

/// A kind of waste: its class on the page, its name, its meaning, and its bytes.
type Waste = (&'static str, &'static str, &'static str, fn(&StorageAmounts) -> Bytes);

const WASTES: [Waste; 3] = [
    ("leaking", "Leaking", "billed without an object that references it, now or soon", |it| {
        it.leaking_bytes
    }),
    ("released", "Released", "kept after its claim was deleted", |it| it.released_bytes),
    (
        "unused",
        "Unused",
        "no pod, workload, owner or paused StatefulSet uses its claim; custom resources are not checked",
        |it| it.unused_bytes,
    ),
];

/// Function that returns the place of a share, by which a panel groups.
type Place = fn(&StorageShare) -> Option<&String>;

/// The panels: the heading, the place, and the name by which places filter the list.
const PANELS: [(&str, Place, &str); 4] = [
    ("By cluster", |it| it.cluster.as_ref(), "cluster"),
    ("By namespace", |it| it.namespace.as_ref(), "namespace"),
    ("By storage class", |it| it.storage_class.as_ref(), "class"),
    ("By driver", |it| it.driver.as_ref(), "driver"),
];

/// Writes the overview.
///
/// # Errors
/// When writing fails.
pub(super) fn overview(out: &mut dyn Write, head: &ReportHead, gaps: usize) -> io::Result<()> {
    let summary = &head.summary;
    let sum = |sum: StorageAmounts, it: &StorageShare| sum.plus(it.amounts);
    let storage = summary.storage.as_deref().unwrap_or_default();
    let total = storage.iter().fold(StorageAmounts::default(), sum);
    if gaps > 0 {
        let kinds = counted(gaps, "resource");
        writeln!(
            out,
            "<p class=\"incomplete\"><strong>Incomplete:</strong> {kinds} not read, or only in part. All figures are at least these. <a href=\"#gaps\">What was not read</a></p>"
        )?;
    }
    if let Some(scope) = &head.metadata.scope {
        let only = scope.narrowed();
        if !only.is_empty() {
            let only = only.join("; ");
            writeln!(
                out,
                "<p class=\"incomplete\">This report is only about: {}.</p>",
                Escaped(&only)
            )?;
        }
        if let Some(hidden) = &scope.hidden {
            let told = hidden.told();
            writeln!(out, "<p class=\"incomplete\">{}: not on this page.</p>", Escaped(&told))?;
        }
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
    for (class, title, meaning, of) in WASTES {
        let bytes = format_bytes(of(&total));
        writeln!(
            out,
            "<div class=\"figure\"><h3><span class=\"key {class}\"></span>{title}</h3><p class=\"big\">{bytes}</p><p>{meaning}</p></div>"
        )?;
    }
    writeln!(
        out,
        "<div class=\"figure\"><h3><span class=\"key at-risk\"></span>Data at risk</h3><p class=\"big\">{}</p><p>can be destroyed, or read by others: {}</p></div></div>",
        format_bytes(total.at_risk_bytes),
        counted(total.volumes_at_risk, "volume")
    )?;
    bar(out, &total, total.wasted(), "bar whole")?;
    severities(out, summary)?;
    writeln!(out, r#"<div class="panels">"#)?;
    let is_one = head.metadata.clusters.is_empty();
    for (heading, place, filters) in PANELS.into_iter().skip(usize::from(is_one)) {
        let places = StorageAmounts::by(storage, place).into_iter();
        let places = places.map(|(name, it)| (name.cloned(), it)).collect();
        panel(out, heading, Some(filters), places)?;
    }
    panel(out, "Released, by age", None, by_age(storage))?;
    writeln!(out, "</div>")?;
    counting(out, summary)?;
    writeln!(out, "</section>")
}

/// Returns released bytes by age, the oldest first.
fn by_age(storage: &[StorageShare]) -> Vec<(Option<String>, StorageAmounts)> {
    let ages = StorageAmounts::by(storage, |it| it.released_days);
    let released = |(days, it): (Option<u32>, StorageAmounts)| {
        let StorageAmounts { released_bytes, .. } = it;
        (released_bytes > 0)
            .then(|| (days, StorageAmounts { released_bytes, ..Default::default() }))
    };
    let mut ages: Vec<_> = ages.into_iter().filter_map(released).collect();
    ages.sort_by_key(|(days, _)| std::cmp::Reverse(*days));
    let name = |days: u32| match days {
        0 => "less than 7 days".to_owned(),
        7 => "7 to 30 days".to_owned(),
        30 => "30 to 90 days".to_owned(),
        90 => "90 days to 1 year".to_owned(),
        _ => "1 year or longer".to_owned(),
    };
    ages.into_iter().map(|(days, it)| (days.map(name), it)).collect()
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
    mut places: Vec<(Option<String>, StorageAmounts)>,
) -> io::Result<()> {
    let none = if filters.is_some() { "(none)" } else { "unknown" };
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
        let sum = others.iter().fold(StorageAmounts::default(), |sum, (_, it)| sum.plus(*it));
        write!(out, "<tr><td colspan=\"2\">{}", counted(others.len(), "other"))?;
        figures(out, &sum)?;
    }
    writeln!(out, "</tbody></table></section>")
}

fn figures(out: &mut dyn Write, amounts: &StorageAmounts) -> io::Result<()> {
    let shown = |bytes: Bytes| if bytes == 0 { "–".to_owned() } else { format_bytes(bytes) };
    writeln!(
        out,
        "</td><td>{}</td><td>{}</td></tr>",
        shown(amounts.wasted()),
        shown(amounts.at_risk_bytes)
    )
}

/// Draws the kinds of waste side by side, to the scale of the largest place. Its figures stand beside it.
fn bar(out: &mut dyn Write, amounts: &StorageAmounts, most: Bytes, class: &str) -> io::Result<()> {
    write!(out, r#"<svg class="{class}" aria-hidden="true" focusable="false">"#)?;
    let mut start = 0.0;
    for (name, _, _, of) in WASTES {
        #[expect(clippy::cast_precision_loss, reason = "a screen has fewer columns")]
        let share = of(amounts) as f64 / most.max(1) as f64;
        // The least that is there can be seen.
        let width = if share > 0.0 { (100.0 * share).max(0.8) } else { 0.0 };
        if width > 0.0 {
            write!(
                out,
                r#"<rect class="{name}" x="{start:.2}%" width="{width:.2}%" height="100%"/>"#
            )?;
        }
        start += width;
    }
    writeln!(out, "</svg>")
}

/// Writes how bytes were counted.
fn counting(out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let Summary { reclaimable, exempted, .. } = summary;
    let exempted = match exempted {
        0 => String::new(),
        count => format!(" Exemptions leave out {}.", counted(*count, "finding")),
    };
    writeln!(
        out,
        "<details class=\"counting\"><summary>How bytes are counted</summary>\
         <p>They are capacities of volumes; 1Ti is 1024Gi, 1Gi is 1024³ bytes. A backend volume counts once, however many claims or \
         PersistentVolumes reference it: as leaking, else as Released, else as unused; and beside that once at risk. All Released volumes count, \
         also those that are not old enough for a finding. A namespace is that of the claim.{exempted}</p>\
         <p>Of the Released volumes, <code>gc</code> could reclaim {} now.</p></details>",
        Escaped(reclaimable)
    )
}

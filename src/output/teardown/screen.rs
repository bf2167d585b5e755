//! Screen of a teardown: what is destroyed by class and driver, and everything else by its reason.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::super::lines::{Paint, command_lines, readable, wrapped};
use super::super::table::short_name;
use super::super::wire::ObjectReference;
use super::{TeardownRecord, TornDownVolume};
use crate::model::{Bytes, Time, counted, format_age, format_bytes};

/// Screen on which a record is printed.
#[derive(Debug, Clone, Copy)]
pub struct TeardownScreen<'a> {
    /// The cluster or the dump.
    pub place: &'a str,
    /// Number of columns of the terminal.
    pub width: usize,
    /// Whether colours are used.
    pub colour: bool,
    /// Time by which ages are told.
    pub now: Option<Time>,
    /// The line to paste, which does what was surveyed.
    pub next: Option<&'a str>,
}

/// Number of objects that are named of those with the same reason.
const NAMED: usize = 8;
/// Number of objects that are named before their reason.
const FEW: usize = 3;

/// Prints a record: what is destroyed by class and driver, and everything else by its reason. What is left comes first.
///
/// # Errors
/// When writing fails.
pub fn teardown_table(
    out: &mut dyn Write,
    record: &TeardownRecord,
    screen: TeardownScreen,
) -> io::Result<()> {
    let width = screen.width.max(40);
    let paint = Paint { colour: screen.colour };
    for line in wrapped(&first_line(record, screen), width) {
        writeln!(out, "{line}")?;
    }
    let of = |fates: &[&str]| -> Vec<&TornDownVolume> {
        record.volumes.iter().filter(|it| fates.contains(&it.fate())).collect()
    };
    let is_over = record.volumes.iter().any(|it| it.outcome.is_some());
    let left = of(&["leave", "left", "unknown"]);
    let sections = [
        ("left", left, Section::Named),
        ("destroyed", of(&["destroy", "destroyed"]), Section::Summed),
        ("kept", of(&["keep", "kept"]), Section::Named),
    ];
    for (name, volumes, how) in sections {
        if volumes.is_empty() {
            continue;
        }
        let title = format!("{}: {}", title(name, is_over), amount(&volumes));
        let title = match name {
            "destroyed" => paint.alarm(&title),
            "kept" => paint.kept(&title),
            _ => paint.refused(&title),
        };
        writeln!(out, "\n{title}")?;
        match how {
            Section::Summed => summed(out, &volumes, width)?,
            Section::Named => named(out, &volumes, width)?,
        }
    }
    snapshots(out, record, is_over, width)?;
    if record.inline_not_judged > 0 {
        let pods = counted(record.inline_not_judged, "pod");
        let told =
            format!("\nNot judged: volumes that {pods} describe themselves, without a claim");
        writeln!(out, "{told}")?;
    }
    let stopped = record.stopped.iter().map(|it| match &it.before {
        Some(before) => format!("{} ({before})", name(&it.object)),
        None => name(&it.object),
    });
    let stopped: Vec<_> = stopped.collect();
    if !stopped.is_empty() {
        let title = if is_over { "Stopped" } else { "Will be stopped" };
        writeln!(out, "\n{title}: {}", counted(stopped.len(), "object"))?;
        listed(out, &stopped, width)?;
    }
    if !record.keepers.is_empty() {
        writeln!(out, "\nBring claims or pods back, and are to be stopped first:")?;
        for it in &record.keepers {
            indented(out, &it.what, width, 2)?;
            writeln!(out, "    {}", readable(&it.command))?;
        }
    }
    if !record.obstacles.is_empty() {
        writeln!(out, "\n{}", paint.refused("Blocked:"))?;
        let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for it in &record.obstacles {
            let object = it.object.as_ref().map(name);
            by_reason.entry(&it.reason).or_default().extend(object);
        }
        for (reason, objects) in by_reason {
            reasoned(out, &objects, reason, width)?;
        }
    }
    if let Some(next) = screen.next {
        let label = paint.label("Next:");
        for (index, line) in
            command_lines(&readable(next), width.saturating_sub(7)).iter().enumerate()
        {
            let label = if index == 0 { &format!("\n{label}  ") } else { "       " };
            writeln!(out, "{label}{line}")?;
        }
    }
    Ok(())
}

/// How the volumes of a section are printed.
enum Section {
    Summed,
    Named,
}

fn title(name: &str, is_over: bool) -> &'static str {
    match (name, is_over) {
        ("destroyed", false) => "Will be destroyed",
        ("destroyed", true) => "Destroyed",
        ("kept", false) => "Will be kept",
        ("kept", true) => "Kept",
        (_, false) => "Will be left, though nothing says that it is to be kept",
        (_, true) => "Left, or unknown",
    }
}

fn amount(volumes: &[&TornDownVolume]) -> String {
    let with = volumes.iter().filter(|it| it.volume.is_some()).count();
    let bytes = volumes.iter().filter_map(|it| it.bytes).fold(0, Bytes::saturating_add);
    let claims = volumes.len() - with;
    let mut parts = Vec::new();
    if with > 0 {
        parts.push(format!("{}, {}", counted(with, "volume"), format_bytes(bytes)));
    }
    if claims > 0 {
        parts.push(format!("{} without a volume", counted(claims, "claim")));
    }
    parts.join("; ")
}

fn first_line(record: &TeardownRecord, screen: TeardownScreen) -> String {
    let uid = record.metadata.cluster.uid.as_deref().unwrap_or("unknown");
    let volumes = record.volumes.iter().filter(|it| it.volume.is_some());
    let bytes = volumes.filter_map(|it| it.bytes).fold(0, Bytes::saturating_add);
    let youngest = record.metadata.youngest.as_ref().map(|it| {
        let at = crate::model::parse_time(&it.created_at).ok().flatten();
        let age = at.zip(screen.now).map(|(at, now)| (now - at).num_seconds());
        let age = age.map_or_else(|| it.created_at.clone(), |it| format!("{} ago", format_age(it)));
        format!(", youngest object {} created {age}", name(&it.object))
    });
    format!(
        "{}, UID {uid}, {}, {} in scope{}",
        readable(screen.place),
        counted(record.metadata.nodes, "node"),
        format_bytes(bytes),
        youngest.unwrap_or_default()
    )
}

/// Prints volumes added up by class and driver, with who destroys them.
fn summed(out: &mut dyn Write, volumes: &[&TornDownVolume], width: usize) -> io::Result<()> {
    let mut groups: BTreeMap<(&str, &str), (usize, Bytes)> = BTreeMap::new();
    for it in volumes {
        let class = it.storage_class.as_deref().unwrap_or("no class");
        let driver = it.driver.as_deref().unwrap_or("unknown driver");
        let group = groups.entry((class, driver)).or_default();
        group.0 += 1;
        group.1 = group.1.saturating_add(it.bytes.unwrap_or(0));
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, (_, bytes))| std::cmp::Reverse(*bytes));
    for ((class, driver), (count, bytes)) in groups {
        let told = format!("{}, class {class}, by {driver}", counted(count, "volume"));
        let mut size = format_bytes(bytes);
        for line in wrapped(&readable(&told), width.saturating_sub(12)) {
            writeln!(out, "{size:>10}  {line}")?;
            size.clear();
        }
    }
    Ok(())
}

/// Prints volumes by their reasons, with the provider's commands.
fn named(out: &mut dyn Write, volumes: &[&TornDownVolume], width: usize) -> io::Result<()> {
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for it in volumes {
        by_reason.entry(&it.reason).or_default().push(it.name());
    }
    for (reason, names) in by_reason {
        reasoned(out, &names, reason, width)?;
    }
    for command in volumes
        .iter()
        .filter(|it| it.outcome.as_deref() == Some("left"))
        .filter_map(|it| it.command.as_ref())
    {
        writeln!(out, "    {}", readable(command))?;
    }
    Ok(())
}

fn snapshots(
    out: &mut dyn Write,
    record: &TeardownRecord,
    is_over: bool,
    width: usize,
) -> io::Result<()> {
    let mut groups: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for it in &record.snapshots {
        let fate = it.outcome.as_deref().unwrap_or(&it.plan);
        groups.entry((fate, &it.reason)).or_default().push(name(&it.object));
    }
    if groups.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nSnapshots: {}", record.snapshots.len())?;
    for ((fate, reason), names) in groups {
        let verb = match (fate, is_over) {
            ("destroy", _) => "to be destroyed",
            ("keep", _) => "kept",
            ("leave", _) => "left",
            (outcome, _) => outcome,
        };
        reasoned(out, &names, &format!("{verb}: {reason}"), width)?;
    }
    Ok(())
}

/// Prints a reason, and the objects that have it.
fn reasoned(out: &mut dyn Write, objects: &[String], reason: &str, width: usize) -> io::Result<()> {
    match objects {
        [] => indented(out, reason, width, 2),
        some if some.len() <= FEW => {
            indented(out, &format!("{}: {reason}", some.join(", ")), width, 2)
        }
        some => {
            indented(out, &format!("{}: {reason}", counted(some.len(), "object")), width, 2)?;
            listed(out, some, width)
        }
    }
}

/// Prints some names, and how many more there are.
fn listed(out: &mut dyn Write, names: &[String], width: usize) -> io::Result<()> {
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more (-o json lists all)"),
    };
    let first = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    indented(out, &format!("{first}{more}"), width, 4)
}

fn indented(out: &mut dyn Write, text: &str, width: usize, indent: usize) -> io::Result<()> {
    let text = readable(text);
    for (index, line) in wrapped(&text, width - indent - 2).iter().enumerate() {
        let indent = if index == 0 { indent } else { indent + 2 };
        writeln!(out, "{:indent$}{line}", "")?;
    }
    Ok(())
}

fn name(object: &ObjectReference) -> String {
    short_name(object)
}

//! How full volumes are: the public shape, and its table.

use std::io;

use serde::{Deserialize, Serialize};
use unicode_width::UnicodeWidthStr as _;

use super::{
    lines::{LONGEST_NAME, bounded, broken, readable},
    publish::reference,
    table::{TableStyle, TextTable},
    wire::{Gap, ObjectReference, ReportMetadata},
};
use crate::{
    facts::{FileSystem, Fullness, UsageSummary},
    model::{Bytes, Claim, Time, Volume, escape_control, format_age, format_bytes, format_time},
};

/// How full the volumes of claims are (`df`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageReport {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `UsageReport`.
    pub kind: String,
    /// What it is about.
    pub metadata: ReportMetadata,
    /// Numbers of claims.
    pub summary: UsageSummary,
    /// The claims, the fullest first; those of which nothing is known come last.
    pub claims: Vec<ClaimUsage>,
    /// What was not read.
    pub gaps: Vec<Gap>,
}

/// How full the volume of a claim is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimUsage {
    /// The claim.
    pub object: ObjectReference,
    /// `measured`, `shared` (the figures are those of a file system that has more than this volume) or `unknown`.
    pub state: String,
    /// Why it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Size of the volume, as a quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Size of the volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<Bytes>,
    /// Its `StorageClass`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<String>,
    /// The `PersistentVolume`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// Its CSI driver or in-tree plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Who uses it: a workload, a number of pods, or `nothing`; absent if that was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_by: Option<String>,
    /// The file system, unless it is unknown.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystemUsage>,
}

/// What a kubelet measured of a file system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileSystemUsage {
    /// Its size.
    pub capacity_bytes: Bytes,
    /// What may still be written.
    pub available_bytes: Bytes,
    /// What is used. Together with what is available that is less than the size where blocks are reserved.
    pub used_bytes: Bytes,
    /// What is used, in per cent of what is used and available, rounded up, as `df` prints it.
    pub used_percent: u64,
    /// Number of inodes, where that is fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes: Option<u64>,
    /// Number of inodes that are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes_used: Option<u64>,
    /// Inodes that are used, in per cent, rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes_used_percent: Option<u64>,
    /// Time of the measurement, where the source tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_at: Option<String>,
    /// Seconds from the measurement to the view of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_seconds: Option<i64>,
    /// The node, or the address at which its kubelet was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Time of the first of several samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Most that was used since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_used_bytes: Option<Bytes>,
    /// Seconds after which it is full, by the slower of the rates of the last week and of the last day; absent without a
    /// week of samples, where it does not fill by both, and of figures that are older than an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_in_seconds: Option<i64>,
}

/// Age of a measurement from which on it is told.
const FRESH: i64 = 3600;
/// Time ahead within which it is told that a volume will be full.
const SOON: i64 = 14 * 86_400;

/// Puts the fullness of a claim into its public shape.
pub(crate) fn claim(
    claim: &Claim,
    volume: Option<&Volume>,
    used_by: Option<String>,
    fullness: &Fullness,
    now: Option<Time>,
) -> ClaimUsage {
    let size = volume.and_then(|it| it.capacity).or(claim.capacity).or(claim.requested);
    let (state, reason, system) = match fullness {
        Fullness::Measured(system) => ("measured", None, Some(system)),
        Fullness::Shared(system) => ("shared", None, Some(system)),
        Fullness::Unknown(why) => ("unknown", Some(why.to_string()), None),
    };
    ClaimUsage {
        object: reference(&claim.object()),
        state: state.to_owned(),
        reason,
        size: size.map(format_bytes),
        size_bytes: size,
        storage_class: claim.class.as_ref().filter(|it| !it.is_empty()).map(ToString::to_string),
        volume: volume.map(|it| it.name().to_owned()),
        driver: volume
            .and_then(|it| it.backend.as_ref())
            .map(|it| it.driver.to_string())
            .or_else(|| volume.and_then(|it| it.drivers().next().map(str::to_owned))),
        used_by,
        file_system: system.map(|it| file_system(it, now)),
    }
}

fn file_system(system: &FileSystem, now: Option<Time>) -> FileSystemUsage {
    let (inodes_used, inodes) = system.inodes.unzip();
    let whole = |seconds: f64| format!("{seconds:.0}").parse().ok();
    let age = system.at.zip(now).map(|(at, now)| (now - at).num_seconds().max(0));
    FileSystemUsage {
        capacity_bytes: system.capacity,
        available_bytes: system.available,
        used_bytes: system.used,
        used_percent: system.used_percent(),
        inodes,
        inodes_used,
        inodes_used_percent: system.inodes_percent(),
        measured_at: system.at.as_ref().map(format_time),
        age_seconds: age,
        node: system.node.as_ref().map(ToString::to_string),
        since: system.history.since.as_ref().map(format_time),
        peak_used_bytes: system.history.peak.as_ref().map(|it| it.used),
        full_in_seconds: system
            .history
            .full_in(system.available)
            .filter(|_| age.is_some_and(|it| it <= FRESH) && system.available > 0)
            .and_then(whole),
    }
}

impl ClaimUsage {
    /// Returns what orders claims: the fullest first, by blocks or inodes; then shares; then what is unknown.
    pub(crate) fn rank(&self) -> impl Ord + use<> {
        let state = ["measured", "shared"].iter().position(|it| *it == self.state).unwrap_or(2);
        let (fullest, object) = (self.fullest(), &self.object);
        (state, std::cmp::Reverse(fullest), object.namespace.clone(), object.name.clone())
    }

    /// Returns what is used, in per cent of blocks or inodes.
    pub(super) fn fullest(&self) -> Option<u64> {
        let system = self.file_system.as_ref();
        system.map(|it| it.used_percent.max(it.inodes_used_percent.unwrap_or(0)))
    }

    /// Returns what there is to say of the figures, in a few words.
    fn note(&self) -> String {
        let Some(system) = &self.file_system else {
            return self.reason.clone().unwrap_or_default();
        };
        let mut words = Vec::new();
        if self.state == "shared" {
            let free = percent(system.available_bytes, system.capacity_bytes);
            words.push(format!("shares {}, {free}% free", format_bytes(system.capacity_bytes)));
        }
        match system.age_seconds {
            Some(age) if age > FRESH => words.push(format!("read {} ago", format_age(age))),
            None if system.measured_at.is_none() => {
                words.push("read at an unknown time".to_owned());
            }
            _ => {}
        }
        if let Some(seconds) =
            system.full_in_seconds.filter(|it| *it <= SOON && self.state == "measured")
        {
            words.push(format!("full in about {}", format_age(seconds)));
        }
        words.join(", ")
    }

    /// Returns the cells of [`COLUMNS`].
    fn cells(&self) -> [String; 8] {
        let dash = || "-".to_owned();
        let own = self.file_system.as_ref().filter(|_| self.state == "measured");
        let percent = |it: Option<u64>| it.map_or_else(dash, |it| format!("{it}%"));
        [
            self.object.namespace.clone().unwrap_or_default(),
            self.object.name.clone(),
            self.size.clone().unwrap_or_else(dash),
            own.map_or_else(dash, |it| format_bytes(it.available_bytes)),
            percent(own.map(|it| it.used_percent)),
            percent(own.and_then(|it| it.inodes_used_percent)),
            self.storage_class.clone().unwrap_or_else(dash),
            self.used_by.clone().unwrap_or_else(|| "?".to_owned()),
        ]
    }

    /// Returns the cells of [`WIDE`].
    fn wide_cells(&self) -> [String; 4] {
        let system = self.file_system.as_ref();
        [
            self.volume.clone(),
            self.driver.clone(),
            system.and_then(|it| it.node.clone()),
            system.and_then(|it| it.measured_at.clone()),
        ]
        .map(|it| it.unwrap_or_else(|| "-".to_owned()))
    }

    /// Prints the claim in two lines, where its names leave no room for columns.
    fn print_stacked(&self, out: &mut dyn io::Write, width: usize) -> io::Result<()> {
        let [namespace, name, size, free, used, inodes, class, users] = &self.cells();
        let note = self.note();
        let shown = |text: &str| bounded(&escape_control(text), LONGEST_NAME);
        let named =
            format!("{}/{}, {}, {}", shown(namespace), shown(name), shown(class), shown(users));
        let mut numbers = size.clone();
        for (what, number) in [("free", free), ("used", used), ("of the inodes", inodes)] {
            if number != "-" {
                numbers = format!("{numbers}, {number} {what}");
            }
        }
        if !note.is_empty() {
            numbers = format!("{numbers}; {}", escape_control(&note));
        }
        for line in broken(&named, width) {
            writeln!(out, "{line}")?;
        }
        for line in broken(&numbers, width.saturating_sub(INDENT)) {
            writeln!(out, "{:INDENT$}{line}", "")?;
        }
        Ok(())
    }
}

/// Returns a part in per cent, rounded down: nearly nothing is nothing.
fn percent(part: Bytes, whole: Bytes) -> u128 {
    u128::from(part) * 100 / u128::from(whole.max(1))
}

const COLUMNS: [&str; 8] =
    ["NAMESPACE", "CLAIM", "SIZE", "FREE", "USED", "IUSED", "CLASS", "USED BY"];
const WIDE: [&str; 4] = ["VOLUME", "DRIVER", "NODE", "READ AT"];

/// Prints claims: at a terminal of this width in lines that it has room for, else one line for each.
///
/// # Errors
/// When writing fails.
pub(crate) fn print(
    out: &mut dyn io::Write,
    claims: &[ClaimUsage],
    is_wide: bool,
    width: Option<u16>,
    headers: bool,
) -> io::Result<()> {
    if claims.is_empty() {
        return Ok(());
    }
    if let Some(width) = width {
        return print_screen(out, claims, usize::from(width), headers);
    }
    let wide: &[&str] = if is_wide { &WIDE } else { &[] };
    let names = [&COLUMNS[..], wide, &["NOTE"]].concat();
    let style = TableStyle { headers, width: None, escape: readable };
    let mut table = TextTable::new(out, &names, style);
    for claim in claims {
        let mut cells = claim.cells().to_vec();
        if is_wide {
            cells.extend(claim.wide_cells());
        }
        cells.push(claim.note());
        table.row(cells)?;
    }
    table.finish()
}

/// Least width of a note beside the other columns.
const NOTE_WIDTH: usize = 16;
/// Indent of what stands beneath a line.
const INDENT: usize = 4;

fn print_screen(
    out: &mut dyn io::Write,
    claims: &[ClaimUsage],
    width: usize,
    headers: bool,
) -> io::Result<()> {
    let shown = |cell: String| bounded(&escape_control(&cell), LONGEST_NAME);
    let row = |it: &ClaimUsage| (it.cells().map(shown), shown(it.note()));
    let head = (COLUMNS.map(str::to_owned), "NOTE".to_owned());
    let rows: Vec<_> = headers.then_some(head).into_iter().chain(claims.iter().map(row)).collect();
    let widest = |column: usize| rows.iter().map(|it| it.0[column].width()).max();
    let widths: Vec<_> = (0..COLUMNS.len()).map(|it| widest(it).unwrap_or_default()).collect();
    let start: usize = widths.iter().map(|it| it + 1).sum();
    if start > width {
        return claims.iter().try_for_each(|it| it.print_stacked(out, width));
    }
    for (cells, note) in &rows {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width + 1 - cell.width()));
        }
        let room = width.saturating_sub(start);
        let (indent, room) =
            if room < NOTE_WIDTH { (INDENT, width - INDENT) } else { (start, room) };
        let mut notes = broken(note, room).into_iter().peekable();
        if indent == start || note == "NOTE" {
            line.push_str(&notes.next().filter(|_| indent == start).unwrap_or_default());
        }
        writeln!(out, "{}", line.trim_end())?;
        for piece in notes.filter(|it| !it.is_empty()) {
            writeln!(out, "{:indent$}{piece}", "")?;
        }
    }
    Ok(())
}

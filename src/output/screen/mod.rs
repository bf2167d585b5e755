//! The table of findings at a terminal: causes first, what follows from them folded beneath, findings that say the same
//! together.
//!
//! To a pipe, `report` prints one line per finding instead, and every finding.

mod entries;
mod finding_text;

use std::{
    collections::HashMap,
    io::{self, Write},
};

use entries::{Entry, Listed, entries};
pub(super) use finding_text::QUOTED_ERROR;
use finding_text::{FindingText, Named, TOGETHER};

use super::{
    lines::{
        LONGEST_NAME, Paint, bounded, broken, cell, column_width, command_lines, shortened,
        shortened_beside_commands, wrapped,
    },
    repeated::{RepeatedFlags, XARGS},
    table::{age_cell, short_name},
    wire::{Finding, ObjectReference},
};
use crate::{
    facts,
    model::{ObjectRef, Severity, counted, escape_control},
    rules::{self, EXPLAINED},
};

/// The rule about a record of a volume that was deleted.
const KEPT_BACKEND: &str = "journal-kept-backend";
/// Number of objects of one entry that are listed; of more, this many and their number.
const LISTED: usize = 10;
/// Number of objects that wait for a finding and are named; of more, their number.
const NAMED: usize = 3;
/// Number of columns of an error: three lines of a narrow screen.
const LONGEST_ERROR: usize = 200;
/// Number of lines of a next step, or of a refusal.
const ADVICE: usize = 5;
/// Number of columns of a severity, and least number of those of an age and a size.
const COLUMNS: [usize; 3] = [10, 7, 8];
/// Number of commands with which to begin.
const FIRST: usize = 3;

/// Style of the screen.
#[derive(Debug, Clone, Copy)]
pub struct ScreenStyle {
    /// Whether the line of headers is printed.
    pub headers: bool,
    /// Number of columns of the terminal.
    pub width: u16,
    /// Whether severities and verdicts are coloured.
    pub colour: bool,
    /// Whether the worst finding is printed last.
    pub reverse: bool,
}

/// The command that reports the same once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SameReport {
    /// The namespaces that the report is about; all if empty.
    pub namespaces: Vec<String>,
    /// The other flags of the command, as they can be typed.
    pub flags: String,
}

impl SameReport {
    /// Returns the command that lists the objects of one finding, of which all are in this place.
    fn names(&self, id: &str, place: Option<&str>) -> String {
        let namespaces = place.map_or_else(|| self.namespaces.join(","), str::to_owned);
        let within = match &*namespaces {
            "" => String::new(),
            some => format!(" -n {}", facts::quoted(some)),
        };
        format!("kubectl storage audit{within}{} --rule {id} -o name", self.flags)
    }
}

/// Beginning and end of the commands that are offered.
#[derive(Debug, Clone, Copy)]
pub struct OfferedCommands<'a> {
    /// The command that reports the same once more, if that is short.
    pub again: Option<&'a SameReport>,
    /// The flags that each command repeats.
    pub repeated: &'a RepeatedFlags,
}

/// Prints findings for people at a terminal, and returns the commands with which to begin.
///
/// # Errors
/// When writing fails.
pub fn print(
    out: &mut dyn Write,
    findings: &mut dyn Iterator<Item = Finding>,
    style: ScreenStyle,
    offered: OfferedCommands,
) -> io::Result<Vec<String>> {
    let mut known: HashMap<FindingText, usize> = HashMap::new();
    let listed: Vec<_> = findings
        .map(|finding| {
            let object = name(&finding.object);
            let next = known.len();
            let text = *known.entry(FindingText::of(&finding, &object)).or_insert(next);
            listed(finding, object, text)
        })
        .collect();
    let mut texts: Vec<_> = known.into_iter().map(|(text, index)| (index, text)).collect();
    texts.sort_unstable_by_key(|(index, _)| *index);
    let mut entries = entries(&listed);
    let [severity, age, size] = COLUMNS;
    let columns = [
        severity,
        column_width(age, listed.iter().map(|it| &*it.age)),
        column_width(size, listed.iter().map(|it| &*it.size)),
    ];
    if style.headers && !entries.is_empty() {
        let headers = ["SEVERITY", "AGE", "SIZE"].iter().zip(columns);
        let headers: String = headers.map(|(it, width)| cell(it, width)).collect();
        writeln!(out, "{headers}OBJECT")?;
    }
    let paint = Paint { colour: style.colour };
    let mut page = Page { out, style, paint, columns, offered, listed: &listed };
    let text = |entry: &Entry| {
        let first = entry.objects.first()?;
        texts.get(listed[*first].text).map(|(_, text)| text)
    };
    let mut worst: Vec<&Entry> = entries.iter().collect();
    worst.sort_by_key(|entry| entry.severity);
    let mut first: Vec<String> = Vec::new();
    for entry in worst {
        let start = text(entry).and_then(|it| page.start(entry, it));
        first.extend(start.filter(|it| first.len() < FIRST && !first.contains(it)));
    }
    if style.reverse {
        entries.reverse();
    }
    for entry in &entries {
        let Some(text) = text(entry) else { continue };
        page.objects(entry)?;
        page.text(entry, text)?;
    }
    Ok(first)
}

/// Returns the name that people use for an object, on one line.
fn name(object: &ObjectReference) -> String {
    bounded(&escape_control(&short_name(object)), LONGEST_NAME)
}

fn listed(finding: Finding, object: String, text: usize) -> Listed {
    let size = finding.volume.as_ref().and_then(|volume| volume.capacity.clone());
    // The volume of a record does not exist any more.
    let explain = explain(&finding.object).filter(|_| finding.id != KEPT_BACKEND);
    Listed {
        explain,
        severity: Severity::parse(&finding.severity).unwrap_or(Severity::Info),
        object,
        kind: finding.object.kind,
        age: age_cell(finding.age.as_ref(), "?"),
        size: size.unwrap_or_default(),
        causes: finding.caused_by.iter().map(|it| (it.id.clone(), name(&it.object))).collect(),
        id: finding.id,
        text,
    }
}

/// Returns the command that explains an object, if it can be explained.
fn explain(object: &ObjectReference) -> Option<String> {
    let key = object.key().filter(|it| EXPLAINED.contains(&it.kind))?;
    let named = facts::on_command_line(&ObjectRef { key, uid: None });
    Some(format!("kubectl storage explain {}", escape_control(&named)))
}

/// Returns the objects of an entry.
fn named<'l>(listed: &'l [Listed], entry: &Entry) -> Vec<Named<'l>> {
    let objects = entry.objects.iter().map(|it| &listed[*it]);
    objects.map(|it| (&*it.object, &*it.kind)).collect()
}

struct Page<'a> {
    out: &'a mut dyn Write,
    style: ScreenStyle,
    paint: Paint,
    columns: [usize; 3],
    offered: OfferedCommands<'a>,
    listed: &'a [Listed],
}

impl Page<'_> {
    /// Returns the commands that are offered for an entry, and the number of its objects that they cover.
    fn commands(&self, entry: &Entry, text: &FindingText) -> (Vec<String>, usize) {
        let objects = named(self.listed, entry);
        if objects.len() > TOGETHER
            && let Some(again) = self.offered.again
            && let Some((command, place)) = text.command_before_names(&objects)
            && let Some(first) = entry.objects.first()
        {
            // All that a report of these findings would list.
            let id = &self.listed[*first].id;
            if self.listed.iter().filter(|it| it.id == *id).count() == objects.len() {
                let names = self.offered.repeated.command(&again.names(id, place));
                let command = format!("{names} | {XARGS}{command}");
                return (vec![command], objects.len());
            }
        }
        (text.commands(&objects), objects.len().min(TOGETHER))
    }

    /// Returns the command with which to begin: what is offered, else what explains the first object.
    fn start(&self, entry: &Entry, text: &FindingText) -> Option<String> {
        let first = &self.listed[*entry.objects.first()?];
        let explained = || first.explain.clone();
        let known = || format!("kubectl storage explain {}", first.id);
        let (commands, _) = self.commands(entry, text);
        // What is offered repeats them already.
        let explained = || Some(self.offered.repeated.command(&explained().unwrap_or_else(known)));
        commands.into_iter().next().or_else(explained)
    }

    fn width(&self) -> usize {
        usize::from(self.style.width).max(40) - 4
    }

    /// Writes a line per object.
    fn objects(&mut self, entry: &Entry) -> io::Result<()> {
        // One more would take no more room than to say so.
        let shown = match entry.objects.len() {
            count if count <= LISTED + 1 => count,
            _ => LISTED,
        };
        for index in entry.objects.iter().take(shown) {
            let Listed { object, size, .. } = &self.listed[*index];
            let age = self.age(entry, *index);
            let [of_severity, of_age, of_size] = self.columns;
            let severity = self.paint.severity(entry.severity, of_severity);
            let (age, size) = (cell(&age, of_age), cell(size, of_size));
            writeln!(self.out, "{severity}{age}{size}{object}")?;
        }
        let indent = self.columns.iter().sum::<usize>();
        match entry.objects.len() - shown {
            0 => Ok(()),
            more => writeln!(self.out, "{:indent$}and {more} more like these: see -o wide", ""),
        }
    }

    /// Returns the age of a finding, or of one that follows from it about the same object.
    fn age(&self, entry: &Entry, index: usize) -> String {
        let it = &self.listed[index];
        let followers = if entry.objects.len() == 1 { &entry.followers[..] } else { &[] };
        let same = followers.iter().map(|it| &self.listed[*it]);
        let mut ages = std::iter::once(it).chain(same.filter(|same| same.object == it.object));
        ages.find(|it| !it.age.is_empty()).map_or_else(String::new, |it| it.age.clone())
    }

    fn text(&mut self, entry: &Entry, text: &FindingText) -> io::Result<()> {
        let width = self.width();
        let objects = named(self.listed, entry);
        let spoken = |it: &str| text.spoken(it, &objects);
        let id = entry.objects.first().map_or("", |first| &*self.listed[*first].id);
        let what = shortened(&spoken(&text.summary), width * 3);
        for (index, line) in broken(&format!("{id}: {what}"), width).iter().enumerate() {
            match line.strip_prefix(id).filter(|_| index == 0) {
                Some(rest) => writeln!(self.out, "    {}{rest}", self.paint.strong(id))?,
                None => writeln!(self.out, "    {line}")?,
            }
        }
        if let Some(error) = &text.error {
            self.labelled("Error:", &bounded(&spoken(error), LONGEST_ERROR))?;
        }
        for cause in &entry.unfolded_causes {
            self.labelled("Cause:", cause)?;
        }
        for line in self.followers(entry).iter().flat_map(|it| wrapped(it, width)) {
            writeln!(self.out, "    {line}")?;
        }
        if !text.next.is_empty() {
            let colon = if text.command.is_some() { ":" } else { "" };
            let next = shortened_beside_commands(&spoken(&text.next), (width - 9) * ADVICE);
            self.labelled(text.label(), &format!("{next}{colon}"))?;
        }
        let (commands, of) = self.commands(entry, text);
        let label = if text.next.is_empty() { "Next:  " } else { "" };
        let lines = commands.iter().flat_map(|it| command_lines(it, width - label.len()));
        for (index, line) in lines.enumerate() {
            let label = if index == 0 { self.paint.label(label) } else { " ".repeat(label.len()) };
            writeln!(self.out, "    {label}{line}")?;
        }
        match objects.len() - of {
            more @ 1.. if !commands.is_empty() => {
                writeln!(self.out, "    {:1$}and {more} more: see -o wide", "", label.len())
            }
            _ => Ok(()),
        }
    }

    /// Writes a label and its text.
    fn labelled(&mut self, label: &str, text: &str) -> io::Result<()> {
        let indent = label.len().max(6) + 1;
        let width = self.width().saturating_sub(indent).max(20);
        for (index, line) in broken(text, width).iter().enumerate() {
            match index {
                0 => {
                    let gap = indent - label.len();
                    writeln!(self.out, "    {}{:gap$}{line}", self.paint.label(label), "")?;
                }
                _ => writeln!(self.out, "    {:indent$}{line}", "")?,
            }
        }
        Ok(())
    }

    /// Returns what follows from an entry: by name if it is little, else by kind.
    fn followers(&self, entry: &Entry) -> Vec<String> {
        let own = |object: &str| entry.objects.iter().any(|it| self.listed[*it].object == object);
        let mut others: Vec<&Listed> = Vec::new();
        let mut same: Vec<&str> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let few_objects = entry.objects.len() <= LISTED;
        for index in &entry.followers {
            let it = &self.listed[*index];
            if few_objects && own(&it.object) {
                if !same.contains(&&*it.id) {
                    same.push(&it.id);
                }
            } else if seen.insert(&it.object) {
                others.push(it);
            }
        }
        let mut parts: Vec<String> = Vec::new();
        if others.len() <= NAMED {
            parts.extend(others.iter().map(|it| it.object.clone()));
        } else {
            let mut kinds: Vec<(&str, usize)> = Vec::new();
            for it in &others {
                match kinds.iter_mut().find(|(kind, _)| *kind == it.kind) {
                    Some((_, count)) => *count += 1,
                    None => kinds.push((&it.kind, 1)),
                }
            }
            parts.extend(kinds.into_iter().map(|(kind, count)| of_kind(kind, count)));
        }
        let mut lines = Vec::new();
        if !same.is_empty() {
            lines.push(format!("also {} (same object)", same.join(", ")));
        }
        if let Some(last) = parts.pop() {
            let before =
                if parts.is_empty() { String::new() } else { format!("{} and ", parts.join(", ")) };
            let waits = entry.followers.iter().all(|it| rules::waits(&self.listed[*it].id));
            let verb = match (waits, others.len() == 1) {
                (true, true) => "that waits for it",
                (true, false) => "that wait for it",
                (false, true) => "that follows from it",
                (false, false) => "that follow from it",
            };
            lines.push(format!("and {before}{last} {verb}"));
        }
        lines
    }
}

/// Returns a number of objects of a kind, in a word that people use.
fn of_kind(kind: &str, count: usize) -> String {
    let word = match kind {
        "PersistentVolume" => "volume",
        "PersistentVolumeClaim" => "claim",
        "Pod" => "pod",
        other => other,
    };
    counted(count, word)
}

#[cfg(test)]
mod tests;

//! The table of findings at a terminal: what explains others first, what follows from it folded
//! beneath, findings that say the same together.
//!
//! To a pipe, `report` prints one line per finding instead, and every finding.

mod finding_text;

use std::{
    collections::HashMap,
    io::{self, Write},
};

use finding_text::FindingText;
pub(super) use finding_text::QUOTED_ERROR;

use super::{
    lines::{
        LONGEST_NAME, Paint, bounded, broken, command_lines, shortened, split_command, wrapped,
    },
    table::{age_cell, short_name},
    wire::{Finding, ObjectReference},
};
use crate::{
    model::{Severity, escape_control},
    rules::{CapacityRisk, find},
};

/// Objects of one entry that are listed; of more, so many and their number.
const LISTED: usize = 10;
/// Objects that wait for a finding and are named; of more, their number.
const NAMED: usize = 3;
/// Columns of an error: three lines of a narrow screen.
const LONGEST_ERROR: usize = 200;
/// Lines of a next step, or of a refusal.
const ADVICE: usize = 5;
/// Before the object on its line.
const INDENT: &str = "                         ";

/// How it is printed.
#[derive(Debug, Clone, Copy)]
pub struct ScreenStyle {
    /// Print the line of headers.
    pub headers: bool,
    /// Columns of the terminal.
    pub width: u16,
    /// Colour severities and verdicts.
    pub colour: bool,
}

/// Prints findings for somebody who reads them at a terminal.
///
/// # Errors
/// When writing fails.
pub fn print(
    out: &mut dyn Write,
    findings: &mut dyn Iterator<Item = Finding>,
    style: ScreenStyle,
) -> io::Result<()> {
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
    let entries = entries(&listed);
    if style.headers && !entries.is_empty() {
        writeln!(out, "{:<10}{:<7}{:<8}OBJECT", "SEVERITY", "AGE", "SIZE")?;
    }
    let mut page = Page { out, style, paint: Paint { colour: style.colour }, listed: &listed };
    for entry in &entries {
        let text = entry.objects.first().and_then(|first| texts.get(listed[*first].text));
        let Some((_, text)) = text else { continue };
        page.objects(entry)?;
        page.text(entry, text)?;
    }
    Ok(())
}

/// How people name an object, on one line.
fn name(object: &ObjectReference) -> String {
    bounded(&escape_control(&short_name(object)), LONGEST_NAME)
}

fn listed(finding: Finding, object: String, text: usize) -> Listed {
    let size = finding.volume.as_ref().and_then(|volume| volume.capacity.clone());
    Listed {
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

struct Page<'a> {
    out: &'a mut dyn Write,
    style: ScreenStyle,
    paint: Paint,
    listed: &'a [Listed],
}

impl Page<'_> {
    fn width(&self) -> usize {
        usize::from(self.style.width).max(40) - 4
    }

    /// A line per object.
    fn objects(&mut self, entry: &Entry) -> io::Result<()> {
        // One more would take no more room than to say so.
        let shown = match entry.objects.len() {
            count if count <= LISTED + 1 => count,
            _ => LISTED,
        };
        for index in entry.objects.iter().take(shown) {
            let Listed { object, size, .. } = &self.listed[*index];
            let age = self.age(entry, *index);
            let severity = self.paint.severity(entry.severity, 10);
            writeln!(self.out, "{severity}{age:<7}{size:<8}{object}")?;
        }
        match entry.objects.len() - shown {
            0 => Ok(()),
            more => writeln!(self.out, "{INDENT}and {more} more like these: see -o wide"),
        }
    }

    /// The age of a finding, or of one that follows from it about the same object.
    fn age(&self, entry: &Entry, index: usize) -> String {
        let it = &self.listed[index];
        let followers = if entry.objects.len() == 1 { &entry.followers[..] } else { &[] };
        let same = followers.iter().map(|it| &self.listed[*it]);
        let mut ages = std::iter::once(it).chain(same.filter(|same| same.object == it.object));
        ages.find(|it| !it.age.is_empty()).map_or_else(String::new, |it| it.age.clone())
    }

    fn text(&mut self, entry: &Entry, text: &FindingText) -> io::Result<()> {
        let width = self.width();
        let first = entry.objects.first().map(|first| &self.listed[*first]);
        let alone = first.filter(|_| entry.objects.len() == 1);
        let alone = alone.map(|it| (&*it.object, &*it.kind));
        let spoken = |it: &str| text.spoken(it, alone);
        let id = first.map_or("", |it| &*it.id);
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
            let advice = spoken(&text.next);
            let next = match split_command(&advice) {
                // It would take the room of many findings.
                (before, Some(_)) => {
                    let object = text.named_on_command_line(alone);
                    let before = before.trim_end_matches(':');
                    format!("{before} (`kubectl storage explain {object}` shows the command)")
                }
                (whole, None) => whole.to_owned(),
            };
            let next = shortened(&next, (width - 9) * ADVICE);
            self.labelled(text.label(), &format!("{next}{colon}"))?;
        }
        let Some(command) = &text.command else { return Ok(()) };
        let command = spoken(command);
        let label = if text.next.is_empty() { "Next:  " } else { "" };
        for (index, line) in command_lines(&command, width - label.len()).iter().enumerate() {
            let label = if index == 0 { self.paint.label(label) } else { " ".repeat(label.len()) };
            writeln!(self.out, "    {label}{line}")?;
        }
        Ok(())
    }

    /// A label and what it is about.
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

    /// What follows from an entry: by name if it is little, else by kind.
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
            parts.extend(kinds.into_iter().map(|(kind, count)| counted(kind, count)));
        }
        let mut lines = Vec::new();
        if !same.is_empty() {
            lines.push(format!("also {} (same object)", same.join(", ")));
        }
        if let Some(last) = parts.pop() {
            let before =
                if parts.is_empty() { String::new() } else { format!("{} and ", parts.join(", ")) };
            let waits = entry.followers.iter().all(|it| crate::rules::waits(&self.listed[*it].id));
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

/// So many objects of a kind, in a word that people use.
fn counted(kind: &str, count: usize) -> String {
    let word = match kind {
        "PersistentVolume" => "volume",
        "PersistentVolumeClaim" => "claim",
        "Pod" => "pod",
        other => other,
    };
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// A finding, as much of it as decides where it stands.
#[derive(Debug, Clone)]
pub struct Listed {
    pub severity: Severity,
    pub id: String,
    /// The object as people name it: with the id, the identity of a finding.
    pub object: String,
    /// The kind of the object.
    pub kind: String,
    pub age: String,
    pub size: String,
    /// The findings that explain it: id and object.
    pub causes: Vec<(String, String)>,
    /// Which text it has.
    pub text: usize,
}

/// One entry of the screen. Every finding is in exactly one: as an object or as a follower.
#[derive(Debug, Default)]
pub struct Entry {
    /// The worst severity of its findings.
    pub severity: Option<Severity>,
    /// Findings that say the same, each about its object.
    pub objects: Vec<usize>,
    /// Findings that these explain, directly or by way of others.
    pub followers: Vec<usize>,
    /// Causes beneath which it is not folded: out of scope, or less dangerous than the entry.
    pub unfolded_causes: Vec<String>,
}

/// Sorts findings into entries, in the order of the first finding of each.
pub fn entries(listed: &[Listed]) -> Vec<Entry> {
    let places: HashMap<(&str, &str), usize> =
        listed.iter().enumerate().map(|(index, it)| ((&*it.id, &*it.object), index)).collect();
    let above: Vec<Option<usize>> = listed
        .iter()
        .map(|it| {
            let mut causes = it.causes.iter().filter(|(id, _)| may_fold(&it.id, id));
            causes.find_map(|(id, object)| places.get(&(&**id, &**object)).copied())
        })
        .collect();
    let roots: Vec<usize> = (0..listed.len()).map(|index| root(&above, index)).collect();

    // The worst of what follows counts, too: nothing is ranked lower because it is explained.
    let mut worst: Vec<Severity> = listed.iter().map(|it| it.severity).collect();
    for (index, root) in roots.iter().enumerate() {
        worst[*root] = worst[*root].min(listed[index].severity);
    }

    let mut entries: Vec<Entry> = Vec::new();
    let mut by_text: HashMap<(usize, Severity, Vec<String>), usize> = HashMap::new();
    let mut by_root: HashMap<usize, usize> = HashMap::new();
    for (index, root) in roots.iter().enumerate() {
        let entry = *by_root.entry(*root).or_insert_with(|| {
            let it = &listed[*root];
            let causes = unfolded(it);
            let key = (it.text, worst[*root], causes.clone());
            *by_text.entry(key).or_insert_with(|| {
                entries.push(Entry {
                    severity: Some(worst[*root]),
                    unfolded_causes: causes,
                    ..Entry::default()
                });
                entries.len() - 1
            })
        });
        let entry = &mut entries[entry];
        if index == *root { entry.objects.push(index) } else { entry.followers.push(index) }
    }
    entries
}

/// The finding at the end of a chain of causes. Rules do not explain each other in a circle; a
/// report that claims so ends somewhere.
fn root(above: &[Option<usize>], start: usize) -> usize {
    let mut at = start;
    for _ in 0..above.len().min(16) {
        match above[at] {
            Some(cause) => at = cause,
            None => break,
        }
    }
    at
}

/// Whether a finding may stand beneath its cause without being shown itself: not if it has a danger
/// for data that the cause has not.
fn may_fold(effect: &str, cause: &str) -> bool {
    let risk = |id: &str| find(id).map_or(CapacityRisk::None, |rule| rule.capacity_risk);
    risk(effect) == CapacityRisk::None || risk(effect) == risk(cause)
}

fn unfolded(it: &Listed) -> Vec<String> {
    let shown = |(id, object): &(String, String)| match *object == it.object {
        true => id.clone(),
        false => format!("{id} ({object})"),
    };
    it.causes.iter().map(shown).collect()
}

#[cfg(test)]
mod tests;

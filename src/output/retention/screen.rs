//! Text about sets and their claims at a terminal: a few lines for each set, claims that say the same together.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;

use super::{
    Effect, RetentionOther, RetentionSet,
    rows::{ClaimGroup, groups, owner_word},
};
use crate::{
    model::{Severity, escape_control, format_bytes},
    output::{
        lines::{LONGEST_NAME, Paint, bounded, broken, command_lines},
        screen::ScreenStyle,
        table::{age_cell, short_name},
        wire::Finding,
    },
};

/// The columns before the names of claims, with their widths.
const COLUMNS: [(&str, usize); 6] =
    [("STATE", 12), ("AGE", 6), ("SIZE", 8), ("OWNER", 7), ("IF DELETED", 12), ("IF SCALED", 11)];
/// Number of names of claims of one group that are printed; of more, their number.
const NAMED: usize = 8;
/// Indent of the lines about a group.
const INDENT: usize = 6;

/// Prints sets, and the claims that certainly belong to none.
///
/// # Errors
/// When writing fails.
pub(crate) fn print(
    out: &mut dyn Write,
    sets: &mut dyn Iterator<Item = RetentionSet>,
    others: &[RetentionOther],
    style: ScreenStyle,
) -> io::Result<()> {
    let mut page = RetentionPage {
        out,
        width: usize::from(style.width).max(60),
        headers: style.headers,
        paint: Paint { colour: style.colour },
        begun: false,
    };
    for set in sets {
        page.set(&set)?;
    }
    page.others(others)
}

struct RetentionPage<'a> {
    out: &'a mut dyn Write,
    width: usize,
    headers: bool,
    paint: Paint,
    begun: bool,
}

impl RetentionPage<'_> {
    /// Writes an empty line, but not before the first paragraph.
    fn begin(&mut self) -> io::Result<()> {
        if self.begun {
            writeln!(self.out)?;
        }
        self.begun = true;
        Ok(())
    }

    fn set(&mut self, set: &RetentionSet) -> io::Result<()> {
        self.begin()?;
        let name = bounded(&escape_control(&short_name(&set.object)), LONGEST_NAME);
        let replicas = match set.replicas {
            1 => "1 replica".to_owned(),
            count => format!("{count} replicas"),
        };
        let range = match set.replicas {
            0 => String::new(),
            _ => format!(", ordinals {}", set.ordinals),
        };
        let state = match &*set.state {
            "running" => "",
            "paused" => ", paused",
            _ => ", Terminating",
        };
        let title = format!("{name}  {replicas}{range}{state}");
        for (index, line) in broken(&title, self.width).iter().enumerate() {
            match line.strip_prefix(&name).filter(|_| index == 0) {
                Some(rest) => writeln!(self.out, "{}{rest}", self.paint.strong(&name))?,
                None => writeln!(self.out, "{line}")?,
            }
        }
        self.text(2, &about(set))?;
        for finding in &set.findings {
            self.finding(finding, true)?;
        }
        if set.claims.is_empty() {
            return self.text(2, "no claims");
        }
        if self.headers {
            let mut line = " ".repeat(2);
            for (header, width) in COLUMNS {
                line.push_str(&padded(header, width));
            }
            writeln!(self.out, "{line}CLAIMS")?;
        }
        for group in groups(set) {
            self.group(&group)?;
        }
        Ok(())
    }

    fn group(&mut self, group: &ClaimGroup) -> io::Result<()> {
        let claim = group.first();
        let place = match &*claim.place {
            "in-range" => "in range",
            "terminating" => "Terminating",
            other => other,
        };
        let cells = [
            place.to_owned(),
            age_cell(claim.age.as_ref(), "?"),
            format_bytes(group.bytes()),
            owner_word(claim),
            effect_word(&claim.if_set_deleted).to_owned(),
            effect_word(&claim.if_scaled_to_zero).to_owned(),
        ];
        let mark = match &*claim.agreement {
            "matches" => "  ".to_owned(),
            "pending" => "~ ".to_owned(),
            _ => format!("{} ", self.paint.alarm("!")),
        };
        let mut line = mark;
        let mut start = 2;
        for (cell, (_, width)) in cells.iter().zip(COLUMNS) {
            let shown = padded(cell, width);
            start += shown.width();
            match cell.as_str() {
                "destroyed" | "destroyed?" | "scrubbed" | "leaked" => {
                    let gap = &shown[cell.len()..];
                    line.extend([&self.paint.alarm(cell), gap]);
                }
                _ => line.push_str(&shown),
            }
        }
        let names = group.names();
        let more = names.len().saturating_sub(NAMED + 1);
        let shown = if more == 0 { names.len() } else { NAMED };
        let mut listed: Vec<String> =
            names.iter().take(shown).map(|it| escape_control(it).into_owned()).collect();
        if shown < names.len() {
            listed.push(format!("and {} more", names.len() - shown));
        }
        let room = self.width.saturating_sub(start);
        if listed.iter().any(|it| it.width() + 1 > room) {
            writeln!(self.out, "{}", line.trim_end())?;
            self.text(INDENT, &listed.join(", "))?;
        } else {
            for (index, names) in broken(&listed.join(", "), room).iter().enumerate() {
                match index {
                    0 => writeln!(self.out, "{line}{names}")?,
                    _ => writeln!(self.out, "{:start$}{names}", "")?,
                }
            }
        }
        let told: Vec<_> = claim.findings.iter().filter(|it| is_told(it)).collect();
        let command = |it: &Finding| it.remedy.as_ref().and_then(|it| it.command.clone());
        for finding in &told {
            let same = |it: &Finding| it.id == finding.id && command(it) == command(finding);
            let all = group.claims.iter().all(|it| it.findings.iter().any(same));
            self.finding(finding, all)?;
        }
        if told.is_empty() && claim.agreement != "matches" {
            self.text(INDENT, &claim.because)?;
        }
        Ok(())
    }

    /// Writes a finding and its next step: the command, if it is the same for all claims of the group.
    fn finding(&mut self, finding: &Finding, same: bool) -> io::Result<()> {
        let severity = Severity::parse(&finding.severity);
        let word = self.paint.severity(severity, 0);
        let text = format!("{} {}: {}", finding.severity, finding.id, finding.summary);
        for (index, line) in self.lines(INDENT, &text).iter().enumerate() {
            match line.strip_prefix(&*finding.severity).filter(|_| index == 0) {
                Some(rest) => writeln!(self.out, "{:INDENT$}{word}{rest}", "")?,
                None => writeln!(self.out, "{:INDENT$}{line}", "")?,
            }
        }
        let command = finding.remedy.as_ref().and_then(|it| it.command.as_deref());
        let command = command.filter(|_| finding.verdict.state == "fixable");
        let next = match (command, same) {
            (Some(command), true) => {
                for (index, line) in
                    command_lines(command, self.width - INDENT - 6).iter().enumerate()
                {
                    let label = if index == 0 { self.paint.label("Next: ") } else { " ".repeat(6) };
                    writeln!(self.out, "{:INDENT$}{label}{line}", "")?;
                }
                return Ok(());
            }
            (Some(_), false) => {
                "`kubectl storage explain` of each of them shows the command".to_owned()
            }
            (None, _) => finding.verdict.reason.clone(),
        };
        if next.is_empty() {
            return Ok(());
        }
        for (index, line) in self.lines(INDENT + 6, &next).iter().enumerate() {
            let label = if index == 0 { self.paint.label("Next: ") } else { " ".repeat(6) };
            writeln!(self.out, "{:INDENT$}{label}{line}", "")?;
        }
        Ok(())
    }

    /// Writes the claims that certainly belong to no set, those that say the same together.
    fn others(&mut self, others: &[RetentionOther]) -> io::Result<()> {
        if others.is_empty() {
            return Ok(());
        }
        self.begin()?;
        writeln!(self.out, "{}", self.paint.strong("Claims that no StatefulSet certainly has"))?;
        let alike = |a: &&RetentionOther, it: &RetentionOther| {
            a.reason == it.reason
                && a.summary == it.summary
                && a.object.namespace == it.object.namespace
        };
        let mut told: Vec<&RetentionOther> = Vec::new();
        for other in others {
            if told.iter().any(|it| alike(it, other)) {
                continue;
            }
            told.push(other);
            let group: Vec<_> = others.iter().filter(|it| alike(&other, it)).collect();
            let mut listed: Vec<_> = group
                .iter()
                .take(NAMED)
                .map(|it| bounded(&escape_control(&short_name(&it.object)), LONGEST_NAME))
                .collect();
            if group.len() > NAMED {
                listed.push(format!("and {} more", group.len() - NAMED));
            }
            self.text(2, &listed.join(", "))?;
            self.text(INDENT, &format!("{}: {}", other.reason, other.summary))?;
        }
        Ok(())
    }

    fn lines(&self, indent: usize, text: &str) -> Vec<String> {
        broken(&escape_control(text), self.width.saturating_sub(indent).max(20))
    }

    fn text(&mut self, indent: usize, text: &str) -> io::Result<()> {
        for line in self.lines(indent, text) {
            writeln!(self.out, "{:indent$}{line}", "")?;
        }
        Ok(())
    }
}

/// Returns the policy of a set, and what else changes the set.
fn about(set: &RetentionSet) -> String {
    let mut parts = vec![match &set.policy {
        Some(policy) => {
            format!("whenDeleted {}, whenScaled {}", policy.when_deleted, policy.when_scaled)
        }
        None => "no retention policy: every claim is kept".to_owned(),
    }];
    if !set.observed {
        parts.push("its controller has not observed its last change".to_owned());
    }
    if !set.scaled_by.is_empty() {
        parts.push(format!("scaled by {}", set.scaled_by.join(", ")));
    }
    if let Some(keeper) = &set.kept_by {
        parts.push(format!("managed by {keeper}"));
    }
    parts.join("; ")
}

/// Whether a finding says more than the line of its claim: that a claim was left by a scale-down, its state does.
fn is_told(finding: &Finding) -> bool {
    !matches!(Severity::parse(&finding.severity), Some(Severity::Low | Severity::Info))
}

/// Returns an effect in a word that has room in its column.
pub(super) fn effect_word(effect: &Effect) -> &str {
    match (effect.word(), effect.data.as_deref()) {
        ("destroyed-later", _) => "destroyed",
        ("unknown", Some("destroyed" | "destroyed-later" | "scrubbed")) => "destroyed?",
        (word, _) => word,
    }
}

/// Returns a cell and at least one space.
fn padded(cell: &str, width: usize) -> String {
    let gap = width.saturating_sub(cell.width()).max(1);
    format!("{cell}{:gap$}", "")
}

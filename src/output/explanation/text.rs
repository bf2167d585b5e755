//! The text of an explanation: one screen at 80 columns.

use std::io::{self, Write};

use super::{
    Explanation, LastError,
    lines::{BOTTOM, LabelColumn, LabelledLines},
};
use crate::{
    model::{Severity, shorten},
    output::{
        lines::Paint,
        report::short_name,
        screen::QUOTED_ERROR,
        wire::{CausedBy, Finding, Gap},
    },
};

/// The column of labels under a finding.
const UNDER: LabelColumn = LabelColumn { indent: 2, width: 13 };
/// Largest number of errors that are shown.
const ERRORS: usize = 3;
/// Largest number of groups of findings about other objects that are shown.
const RELATED: usize = 8;
/// Largest number of users that are shown.
const USERS: usize = 8;
/// Largest number of characters of a summary of another object that are shown.
const SUMMARY: usize = 160;

impl Explanation {
    /// Prints the explanation for people, no wider than `width` where words allow it, in colour if that is wanted.
    ///
    /// # Errors
    /// When writing fails.
    pub fn print(&self, out: &mut dyn Write, width: usize, colour: bool) -> io::Result<()> {
        let mut lines = LabelledLines::new(out, width.max(40), Paint { colour });
        let lines = &mut lines;
        lines.head(&short_name(&self.object), &self.status)?;
        self.fields(lines)?;
        self.findings(lines)?;
        lines.gap()?;
        if self.findings.is_empty() {
            self.details(lines, BOTTOM)?;
        }
        self.related(lines)?;
        lines.list(BOTTOM, "Note:", self.screen.notes.iter().cloned())?;
        self.users(lines)?;
        super::print_outcomes(lines, &self.outcomes)?;
        self.unread(lines)
    }

    fn fields(&self, lines: &mut LabelledLines) -> io::Result<()> {
        let fields = &self.screen.fields;
        let widest = fields.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
        let column = LabelColumn { indent: 2, width: widest + 2 };
        let mut before = "";
        for (label, value) in fields {
            lines.labelled(column, if *label == before { "" } else { label }, value)?;
            before = label;
        }
        Ok(())
    }

    fn findings(&self, lines: &mut LabelledLines) -> io::Result<()> {
        let mut told: Vec<String> = Vec::new();
        for (index, finding) in self.findings.iter().enumerate() {
            lines.gap()?;
            lines.finding(&finding.severity, &finding.id, &finding.verdict.state)?;
            // An error that stands beneath is not quoted.
            let summary = match finding.summary.split_once(QUOTED_ERROR) {
                Some((before, _)) if index == 0 && self.errors.iter().any(|it| it.is_error) => {
                    before
                }
                _ => &finding.summary,
            };
            lines.text(2, &sentence(summary))?;
            // The most direct one comes first; its own causes stand with it.
            let cause = finding.caused_by.iter().take(1).map(|it| self.cause(it));
            lines.list(UNDER, "Cause:", cause)?;
            if index == 0 {
                self.details(lines, UNDER)?;
            }
            next(lines, UNDER, finding, &mut told)?;
        }
        if self.findings.is_empty() && self.screen.judged {
            lines.gap()?;
            let complete = self.gaps.is_empty();
            let none = "No findings about it";
            lines.text(
                0,
                &match complete {
                    true => format!("{none}."),
                    false => format!("{none}, but not everything could be read."),
                },
            )?;
        }
        Ok(())
    }

    /// Writes the last errors, the controllers that have to act, and the open questions.
    fn details(&self, lines: &mut LabelledLines, column: LabelColumn) -> io::Result<()> {
        let (errors, progress): (Vec<_>, Vec<_>) = self.errors.iter().partition(|it| it.is_error);
        let more = errors.len().saturating_sub(ERRORS);
        let texts = errors.iter().take(ERRORS).map(|it| self.error(it));
        let more = (more > 0).then(|| format!("and {more} more (-o json lists all)"));
        lines.list(column, "Error:", texts.chain(more))?;
        if errors.is_empty() {
            let texts = progress.iter().take(1);
            lines.list(column, "Event:", texts.map(|it| self.error(it)))?;
        }
        lines.list(column, "Controller:", self.controllers.iter().cloned())?;
        if !self.open.is_empty() {
            lines.labelled(column, "Unknown:", &self.open.join("; "))?;
        }
        Ok(())
    }

    /// Returns an error in its own words, with count and times; with its object, if that is another one.
    fn error(&self, error: &LastError) -> String {
        let whose = match error.object == self.object {
            true => String::new(),
            false => format!("{}: ", short_name(&error.object)),
        };
        let reason = match (error.is_error, &*error.reason) {
            (true, _) | (_, "") => String::new(),
            (false, reason) => format!("{reason}: "),
        };
        let message = shorten(&error.message, 400);
        format!("{whose}{reason}{message}{}", times(error))
    }

    /// Returns a finding that explains another: its id, and its object and summary if it is about another object.
    fn cause(&self, cause: &CausedBy) -> String {
        if cause.object == self.object {
            return cause.id.clone();
        }
        let object = short_name(&cause.object);
        match self.related.iter().find(|it| is(it, cause)) {
            Some(found) => {
                let summary = shorten(&found.summary, SUMMARY);
                format!("{object} {}: {summary}", cause.id)
            }
            None => format!("{object} {}", cause.id),
        }
    }

    fn related(&self, lines: &mut LabelledLines) -> io::Result<()> {
        let mut groups: Vec<(&Finding, usize)> = Vec::new();
        let causes = || self.findings.iter().flat_map(|it| &it.caused_by);
        let others = self.related.iter().filter(|it| !causes().any(|cause| is(it, cause)));
        for finding in others.clone() {
            match groups.iter_mut().find(|(first, _)| alike(first, finding)) {
                Some((_, count)) => *count += 1,
                None => groups.push((finding, 1)),
            }
        }
        let shown: usize = groups.iter().take(RELATED).map(|(_, count)| count).sum();
        let line = |(finding, count): &(&Finding, usize)| {
            let others = match count {
                1 => String::new(),
                many => format!(" and {} more", many - 1),
            };
            let object = short_name(&finding.object);
            let summary = shorten(&finding.summary, SUMMARY);
            format!("{} {object}{others} {}: {summary}", finding.severity, finding.id)
        };
        let causes = self.related.len() - others.count();
        let left = self.related_total.saturating_sub(shown + causes);
        let left = (left > 0).then(|| format!("and {left} more findings (see `audit`)"));
        lines.list(BOTTOM, "Also:", groups.iter().take(RELATED).map(line).chain(left))?;
        // What is urgent has its command on the screen of each object that it concerns.
        let urgent = groups.iter().find(|(it, count)| *count == 1 && is_urgent(it));
        match urgent.filter(|_| self.findings.is_empty()) {
            Some((finding, _)) => next(lines, BOTTOM, finding, &mut Vec::new()),
            None => Ok(()),
        }
    }

    fn users(&self, lines: &mut LabelledLines) -> io::Result<()> {
        if self.looked_at.is_empty() && self.used_by.is_empty() {
            return Ok(());
        }
        if self.used_by.is_empty() {
            let none = match self.gaps.is_empty() {
                true => "none found (custom resources not checked)",
                false => "none found in what was read (custom resources not checked)",
            };
            return lines.labelled(BOTTOM, "Used by:", none);
        }
        let user = |user: &super::User| format!("{}: {}", short_name(&user.object), user.how);
        let left = self.used_by.len().saturating_sub(USERS);
        let left = (left > 0).then(|| format!("and {left} more (-o json lists all)"));
        lines.list(BOTTOM, "Used by:", self.used_by.iter().take(USERS).map(user).chain(left))
    }

    /// Writes the resources that were not read: one line for each reason.
    fn unread(&self, lines: &mut LabelledLines) -> io::Result<()> {
        let mut by_reason: Vec<(&str, Vec<&Gap>)> = Vec::new();
        for gap in &self.gaps {
            match by_reason.iter_mut().find(|(known, _)| *known == gap.reason) {
                Some((_, known)) => known.push(gap),
                None => by_reason.push((&gap.reason, vec![gap])),
            }
        }
        lines.list(BOTTOM, "Not read:", by_reason.into_iter().map(unread_line))
    }
}

fn unread_line((reason, gaps): (&str, Vec<&Gap>)) -> String {
    let mut what: Vec<String> = Vec::new();
    let whole: Vec<_> = gaps.iter().filter(|it| it.namespace.is_none()).collect();
    for gap in &gaps {
        let resource = spoken(&gap.resource);
        let named = match &gap.namespace {
            Some(_) if whole.iter().any(|it| it.resource == gap.resource) => continue,
            Some(namespace) => format!("{resource} in {namespace}"),
            None => resource.to_owned(),
        };
        if !what.contains(&named) {
            what.push(named);
        }
    }
    format!("{}: {reason}", what.join(", "))
}

/// Returns the name of a resource for people, where its API name is not about what was asked.
fn spoken(resource: &str) -> &str {
    match resource {
        "partialobjectmetadata" => "owners of claims",
        "subjectaccessreviews" => "permissions of controllers",
        other => other,
    }
}

/// Writes what to do about a finding, unless that was said before.
fn next(
    lines: &mut LabelledLines,
    column: LabelColumn,
    finding: &Finding,
    told: &mut Vec<String>,
) -> io::Result<()> {
    let reason = &finding.verdict.reason;
    let command = finding.remedy.as_ref().and_then(|it| it.command.as_deref());
    let (label, text) = match (&*finding.verdict.state, command) {
        ("fixable", Some(command)) => {
            if told.iter().any(|it| it == command) {
                return Ok(());
            }
            told.push(command.to_owned());
            let effect = finding.remedy.as_ref().map_or("", |it| &it.effect);
            // The command only stops what happens: what removes the cause comes first.
            let helps = finding.evidence.iter().find(|it| it.field == "what helps");
            let Some(helps) = helps else { return lines.command(column, "Next:", command, effect) };
            lines.advice(column, "Next:", &format!("{}; or else", helps.value))?;
            return lines.command(column, "", command, effect);
        }
        ("blocked", _) => ("Blocked:", reason),
        ("unseen", _) => ("Unknown:", reason),
        _ => ("Next:", reason),
    };
    if text.is_empty() || told.contains(text) {
        return Ok(());
    }
    told.push(text.clone());
    lines.advice(column, label, text)
}

/// Whether a remedy is offered for a critical finding.
fn is_urgent(finding: &Finding) -> bool {
    finding.severity == Severity::Critical.name() && finding.verdict.state == "fixable"
}

/// Whether a finding is the given cause of another.
fn is(finding: &Finding, cause: &CausedBy) -> bool {
    finding.id == cause.id && finding.object == cause.object
}

/// Whether two findings are reported in one line.
fn alike(one: &Finding, other: &Finding) -> bool {
    one.id == other.id && one.severity == other.severity && one.object.kind == other.object.kind
}

/// Returns the number and times of an error: `(37 times, first …, last …)`.
fn times(error: &LastError) -> String {
    let count = error.count.filter(|count| *count > 1).map(|count| format!("{count} times"));
    let first = error.first.as_ref().filter(|_| error.first != error.last);
    let parts = match (count, first, &error.last) {
        (Some(count), Some(first), Some(last)) => {
            vec![count, format!("first {first}"), format!("last {last}")]
        }
        (Some(count), None, Some(last)) => vec![count, format!("last {last}")],
        (Some(count), _, None) => vec![count],
        (None, _, Some(last)) => vec![last.clone()],
        (None, _, None) => Vec::new(),
    };
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// Returns a summary as a sentence: with a capital, unless its first word is a name, and a full stop.
fn sentence(summary: &str) -> String {
    let first = summary.split_whitespace().next().unwrap_or_default();
    let is_word = first.trim_end_matches([',', ';']).chars().all(|c| c.is_ascii_lowercase());
    let mut letters = summary.chars();
    let capital = letters.next().filter(|_| is_word);
    let text = match capital {
        Some(letter) => format!("{}{}", letter.to_ascii_uppercase(), letters.as_str()),
        None => summary.to_owned(),
    };
    if text.ends_with(['.', '!', '?', '…', ')']) { text } else { format!("{text}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_become_sentences() {
        for (summary, shown) in [
            ("deletion is stuck", "Deletion is stuck."),
            ("kube-controller-manager retries", "kube-controller-manager retries."),
            ("Released, but not reclaimed", "Released, but not reclaimed."),
            ("Bound (custom resources not checked)", "Bound (custom resources not checked)"),
            ("", "."),
        ] {
            assert_eq!(sentence(summary), shown);
        }
    }
}

//! Format `-o markdown`: a table for an issue or the summary of a pipeline, short enough for both.
//!
//! Text of the cluster stands in code spans, in which nothing is a link, a mention, HTML or emphasis.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use super::ReportFrame;
use crate::{
    model::{PROGRAM, counted, escape_control, first_of, shorten},
    output::{
        lines::Paint,
        summary::summary,
        table::{age_cell, short_name},
        wire::{Finding, Gap, ReportedCluster},
    },
};

/// Greatest size of a table: GitHub takes comments of 65,536 characters.
const MOST: usize = 60_000;
/// Room for the text beneath the table.
const REST: usize = 8_000;
/// The longest text in a cell: one error of a driver is no report.
const LONGEST: usize = 400;
/// Largest number of kinds that were not read, and of clusters, which are named.
const NAMED: usize = 10;

/// Writes a report: what it adds up to, its worst findings, and what it leaves out.
pub fn write(
    out: &mut dyn Write,
    report: ReportFrame,
    findings: &mut dyn Iterator<Item = Finding>,
) -> io::Result<()> {
    let ReportFrame { head, tail, checks, listed, .. } = report;
    let mut text = String::from("## Storage audit\n\n");
    let cluster = &head.metadata.cluster;
    let place = cluster.server.as_deref().or(cluster.uid.as_deref());
    let clusters = &head.metadata.clusters;
    let (of, as_of) = match clusters.is_empty() {
        true => (place.map(|it| format!("Cluster {}.", code(it))), "As of"),
        false => (Some(several(clusters)), "The oldest as of"),
    };
    let at = head.metadata.taken_at.as_deref().map(|it| format!("{as_of} {}.", cell(it)));
    let about: Vec<_> = of.into_iter().chain(at).collect();
    if !about.is_empty() {
        let _ = write!(text, "{}\n\n", about.join(" "));
    }
    for line in summary(&head.summary, checks, Paint { colour: false }).lines() {
        let _ = writeln!(text, "{line}  ");
    }
    let mut length = text.chars().count();
    let mut shown = 0;
    for finding in findings {
        let headed = match (shown, &finding.cluster) {
            (0, None) => TABLE,
            (0, Some(_)) => TABLE_OF_CLUSTERS,
            _ => "",
        };
        let row = format!("{headed}{}", row(&finding));
        length += row.chars().count();
        if length > MOST - REST {
            break;
        }
        text.push_str(&row);
        shown += 1;
    }
    if listed > shown {
        let more = counted(listed - shown, "more finding");
        let list = code(&format!("{PROGRAM} audit -o json"));
        let _ = write!(text, "\n{more} left out, none of them worse; {list} lists all.\n");
    }
    let scope = head.metadata.scope.as_ref();
    if let Some(hidden) = scope.and_then(|it| it.hidden.as_ref()) {
        let _ = write!(text, "\n{}.\n", cell(&hidden.told()));
    }
    text.push_str(&unread(&tail.gaps));
    out.write_all(text.as_bytes())
}

const TABLE: &str = "\n| Severity | Finding | Object | Age | Size | What | Next |\n\
                     | --- | --- | --- | --- | --- | --- | --- |\n";
const TABLE_OF_CLUSTERS: &str = "\n| Cluster | Severity | Finding | Object | Age | Size | What | Next |\n\
                                 | --- | --- | --- | --- | --- | --- | --- | --- |\n";

/// Returns the names of several clusters, with the number of those that are not named.
fn several(clusters: &[ReportedCluster]) -> String {
    let names: Vec<_> = clusters.iter().map(|it| code(&it.name)).collect();
    format!("{}: {}.", counted(clusters.len(), "cluster"), first_of(&names, NAMED))
}

fn row(finding: &Finding) -> String {
    let volume = finding.volume.as_ref();
    let capacity = volume.and_then(|it| it.capacity.as_deref()).unwrap_or_default();
    let command = finding.remedy.as_ref().and_then(|it| it.command.as_deref());
    let next = command.map_or_else(|| cell(&finding.verdict.state), code);
    let cells = [
        cell(&finding.severity),
        code(&finding.id),
        code(&short_name(&finding.object)),
        age_cell(finding.age.as_ref(), "unknown"),
        cell(capacity),
        cell(&finding.summary),
        next,
    ];
    let cluster = finding.cluster.as_deref().map(code);
    let cells: Vec<_> = cluster.into_iter().chain(cells).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Returns the list of what was not read, with the number of those that are not named.
fn unread(gaps: &[Gap]) -> String {
    if gaps.is_empty() {
        return String::new();
    }
    let line = |gap: &Gap| {
        let (place, reason) = (shorten(&gap.place(), 80), shorten(&gap.reason, 160));
        format!("- {}: {}\n", cell(&place), cell(&reason))
    };
    let lines: String = gaps.iter().take(NAMED).map(line).collect();
    let more = match gaps.len().saturating_sub(NAMED) {
        0 => String::new(),
        count => format!("- {count} more\n"),
    };
    format!("\nNot read, or only in part:\n\n{lines}{more}")
}

/// Returns text as it is where nothing in it means anything, else as code.
fn cell(text: &str) -> String {
    if is_plain(text) { shorten(text, LONGEST) } else { code(text) }
}

/// Whether neither Markdown nor GitHub takes anything in a text for more than text: no markup, mention, reference,
/// link, or hash of a commit.
fn is_plain(text: &str) -> bool {
    let plain = |c: char| {
        c.is_alphanumeric()
            || matches!(c, ' ' | ',' | '.' | ';' | ':' | '/' | '-' | '\'' | '%' | '(' | ')')
    };
    // `:tada:` is a picture, 12:00 is none.
    let is_colon_of_text = |(at, _): (usize, &str)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + 1..].chars().next());
        let is_digit = |it: Option<char>| it.is_some_and(|it| it.is_ascii_digit());
        matches!(after, None | Some(' ')) || (is_digit(before) && is_digit(after))
    };
    let lower = text.to_lowercase();
    let hash = |word: &str| word.len() >= 7 && word.bytes().all(|it| it.is_ascii_hexdigit());
    text.chars().all(plain)
        && !text.starts_with([' ', '-'])
        && !["//", "www.", "gh-"].iter().any(|it| lower.contains(it))
        && text.match_indices(':').all(is_colon_of_text)
        && !text.split(|c: char| !c.is_alphanumeric()).any(hash)
}

/// Returns text as code, which ends where the text ends, and not in another cell.
fn code(text: &str) -> String {
    let text = shorten(&escape_control(text), LONGEST);
    if text.is_empty() {
        return text;
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let pad = if text.contains('`') { " " } else { "" };
    // Before a bar, a backslash of the text would take away its escape.
    let text = text.replace("\\|", "\\ |").replace('|', "\\|");
    format!("{fence}{pad}{text}{pad}{fence}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_means_something_is_code() {
        for plain in ["Released with policy Delete", "3d", "10Gi", "größe", "a: b; c (d)"] {
            assert_eq!(cell(plain), plain);
        }
        for (text, shown) in [
            ("@admin", "`@admin`"),
            ("see #123", "`see #123`"),
            ("GH-12", "`GH-12`"),
            ("http://a.b", "`http://a.b`"),
            ("www.example.com", "`www.example.com`"),
            ("<img src=x>", "`<img src=x>`"),
            ("a|b", "`a\\|b`"),
            ("a\\|b", "`a\\ \\|b`"),
            ("a`b", "`` a`b ``"),
            ("``", "``` `` ```"),
            ("\u{202e}txt", "`\\u{202e}txt`"),
            ("a\nb", "`a\\nb`"),
            ("commit deadbeef", "`commit deadbeef`"),
            ("- a", "`- a`"),
            ("gone :tada:", "`gone :tada:`"),
        ] {
            assert_eq!(cell(text), shown, "{text:?}");
        }
        assert_eq!(code(""), "");
    }

    proptest! {
        #[test]
        fn any_text_stays_in_its_cell(text in ".{0,40}|[`|\\\\@#<>\\[\\]()*_ \n-]{0,12}") {
            let shown = cell(&text);
            prop_assert!(!shown.contains(['\n', '\r']));
            // Every bar has its escape, and no backslash before that.
            let bars = shown.match_indices('|');
            for (at, _) in bars {
                let before = &shown[..at];
                prop_assert!(before.ends_with('\\') && !before.ends_with("\\\\"), "{}", shown);
            }
            if shown.starts_with('`') {
                let fence: String = shown.chars().take_while(|c| *c == '`').collect();
                let inner = shown.strip_prefix(&*fence).and_then(|it| it.strip_suffix(&*fence));
                let inner = inner.expect("it ends as it begins");
                prop_assert!(inner.split(|c| c != '`').all(|it| it.len() != fence.len()), "{}", shown);
            } else {
                prop_assert!(is_plain(&text) || shown.is_empty(), "{}", shown);
            }
        }
    }
}

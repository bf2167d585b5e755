//! Format `-o junit`: a failing case for each finding, a passing one for each check without findings, a skipped one for
//! each check that something limited. What Jenkins reads (`junit-10.xsd`), others do too.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, Write},
};

use super::{ReportFrame, cluster};
use crate::{
    model::{PROGRAM, escape_control},
    output::wire::{Finding, Gap, ObjectReference, ReportScope},
    rules::REGISTRY,
};

/// Writes a report as the results of one suite.
pub fn write(
    out: &mut dyn Write,
    report: ReportFrame,
    findings: &mut dyn Iterator<Item = Finding>,
) -> io::Result<()> {
    let ReportFrame { head, tail, listed, .. } = report;
    let whole = ReportScope::default();
    let scope = head.metadata.scope.as_ref().unwrap_or(&whole);
    let (mut passed, mut skipped) = (Vec::new(), Vec::new());
    for rule in REGISTRY.iter().filter(|it| scope.asks_for(it.id)) {
        let limits: Vec<_> =
            tail.gaps.iter().filter(|gap| gap.ids.iter().any(|it| it == rule.id)).collect();
        if !limits.is_empty() {
            skipped.push((rule.id, "not checked everywhere", reasons(&limits)));
        } else if !head.summary.by_id.contains_key(rule.id) {
            passed.push(rule.id);
        }
    }
    if let Some(hidden) = &scope.hidden {
        skipped.push(("audit", "not listed", hidden.told()));
    }
    if listed + passed.len() + skipped.len() == 0 {
        // Some readers take an empty suite for one that did not run.
        skipped.push(("audit", "no checks", "no check was asked for".to_owned()));
    }
    let tests = listed + passed.len() + skipped.len();
    let numbers = format!("tests=\"{tests}\" failures=\"{listed}\" errors=\"0\"");
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, "<testsuites name=\"{PROGRAM} audit\" {numbers}>")?;
    let taken_at = head.metadata.taken_at.as_deref();
    let timestamp = taken_at.map_or_else(String::new, |it| format!(" timestamp=\"{}\"", xml(it)));
    let name = xml(cluster(head));
    let version = xml(&head.metadata.tool.version);
    writeln!(
        out,
        "<testsuite name=\"{name}\" {numbers} skipped=\"{}\"{timestamp} version=\"{version}\">",
        skipped.len()
    )?;
    for finding in findings {
        failed(out, &finding)?;
    }
    for (id, name, reason) in skipped {
        let reason = xml(&reason);
        writeln!(
            out,
            r#"<testcase classname="{id}" name="{name}"><skipped message="{reason}"/></testcase>"#
        )?;
    }
    for id in passed {
        writeln!(out, r#"<testcase classname="{id}" name="no findings"/>"#)?;
    }
    writeln!(out, "</testsuite>\n</testsuites>")
}

/// Writes the case of a finding, with its evidence and its next step.
fn failed(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    let (id, severity) = (xml(&finding.id), xml(&finding.severity));
    let (name, summary) = (name(&finding.object), xml(&finding.summary));
    writeln!(out, r#"<testcase classname="{id}" name="{name}">"#)?;
    let mut told = String::new();
    for it in &finding.evidence {
        let _ = writeln!(told, "{} {}: {}", xml(&it.object), xml(&it.field), xml(&it.value));
    }
    let verdict = &finding.verdict;
    let told_verdict = format!("{} {}", xml(&verdict.state), xml(&verdict.reason));
    let _ = writeln!(told, "{}", told_verdict.trim_end());
    if let Some(command) = finding.remedy.as_ref().and_then(|it| it.command.as_ref()) {
        let _ = writeln!(told, "{}", xml(command));
    }
    write!(out, "<failure type=\"{severity}\" message=\"{summary}\">{told}</failure>")?;
    writeln!(out, "</testcase>")
}

/// Returns the name of an object: `kind/namespace/name`.
fn name(object: &ObjectReference) -> String {
    let namespace = object.namespace.iter().map(|it| format!("{it}/"));
    let place: String = namespace.collect();
    xml(&format!("{}/{place}{}", object.kind, object.name)).into_owned()
}

/// Returns the reasons that limit a check.
fn reasons(gaps: &[&Gap]) -> String {
    gaps.iter().map(|it| it.told()).collect::<Vec<_>>().join("; ")
}

/// Returns text for an element or an attribute. What XML 1.0 cannot hold is shown as an escape.
fn xml(text: &str) -> Cow<'_, str> {
    let text = escape_control(text);
    let marks = ['&', '<', '>', '"', '\'', '\u{fffe}', '\u{ffff}'];
    if !text.contains(marks) {
        return text;
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => safe.extend(c.escape_unicode()),
            other => safe.push(other),
        }
    }
    safe.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The characters of XML 1.0 (production 2).
    fn is_xml(c: char) -> bool {
        matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
    }

    proptest! {
        #[test]
        fn any_text_fits_into_an_attribute(text in prop::collection::vec(any::<char>(), 0..20)) {
            let text: String = text.into_iter().chain("<&\u{0}\u{ffff}\"'".chars()).collect();
            let safe = xml(&text);
            prop_assert!(safe.chars().all(is_xml), "{:?}", safe);
            prop_assert!(!safe.contains(['<', '"', '\'', '>', '\n']), "{:?}", safe);
            let read = safe
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&apos;", "'")
                .replace("&amp;", "&");
            let shown = escape_control(&text).replace('\u{fffe}', "\\u{fffe}");
            prop_assert_eq!(read, shown.replace('\u{ffff}', "\\u{ffff}"));
        }
    }
}

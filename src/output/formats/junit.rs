//! Format `-o junit`: a failing case for each finding, a passing one for each check without findings, a skipped one for
//! each check that something limited. What Jenkins reads (`junit-10.xsd`), others do too.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, Write},
};

use super::{ReportFrame, cluster};
use crate::{
    model::{PROGRAM, escape_control},
    output::wire::{Finding, Gap, ObjectReference},
    rules::{BETWEEN_CLUSTERS, INVENTORY, ReportContents, Rule, of_report},
};

/// Writes a report as the results of one suite, or of one for each cluster.
pub fn write(
    out: &mut dyn Write,
    report: ReportFrame,
    findings: &mut dyn Iterator<Item = Finding>,
) -> io::Result<()> {
    let ReportFrame { head, listed, .. } = report;
    let metadata = &head.metadata;
    let has_inventory = head.summary.inventory.is_some();
    let hidden = metadata.scope.as_ref().and_then(|it| it.hidden.as_ref());
    let hidden = hidden.map(|it| ("audit", "not listed", it.told()));
    if metadata.clusters.is_empty() {
        let mut suite = TestSuite {
            name: cluster(head),
            taken_at: metadata.taken_at.as_deref(),
            failed: listed,
            ..TestSuite::of(of_report(head.summary.contents()), None, report, &head.summary.by_id)
        };
        suite.skipped.extend(hidden);
        let suites = [(suite, findings)];
        return write_suites(out, &metadata.tool.version, suites);
    }
    let mut by_cluster: BTreeMap<Option<String>, Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        by_cluster.entry(finding.cluster.clone()).or_default().push(finding);
    }
    let mut suites = Vec::new();
    let of_each = ReportContents { clusters: true, inventory: false, ..head.summary.contents() };
    for it in &metadata.clusters {
        let name = Some(it.name.clone());
        let found = by_cluster.remove(&name).unwrap_or_default();
        let suite = TestSuite {
            name: &it.name,
            taken_at: it.taken_at.as_deref(),
            failed: found.len(),
            ..TestSuite::of(of_report(of_each), Some(&it.name), report, &it.by_id)
        };
        suites.push((suite, found.into_iter()));
    }
    if has_inventory {
        let found = by_cluster.remove(&None).unwrap_or_default();
        let suite = TestSuite {
            name: "disks of providers",
            failed: found.len(),
            ..TestSuite::of(INVENTORY.iter().copied(), None, report, &head.summary.by_id)
        };
        suites.push((suite, found.into_iter()));
    }
    // What is hidden is counted for all of them together.
    if let Some((first, _)) = suites.first_mut() {
        first.skipped.extend(hidden);
    }
    write_suites(out, &metadata.tool.version, suites)
}

/// The cases of one cluster, without those of its findings.
#[derive(Default)]
struct TestSuite<'a> {
    name: &'a str,
    taken_at: Option<&'a str>,
    /// The number of findings.
    failed: usize,
    /// The class, the name and the reason of each.
    skipped: Vec<(&'a str, &'a str, String)>,
    passed: Vec<&'a str>,
}

impl<'a> TestSuite<'a> {
    /// Sorts the checks that were asked for into those that a gap limits and those without findings. What compares
    /// clusters is limited by the gaps of any.
    fn of(
        checks: impl Iterator<Item = &'a Rule>,
        cluster: Option<&str>,
        ReportFrame { head, tail, .. }: ReportFrame,
        found: &BTreeMap<String, usize>,
    ) -> Self {
        let mut suite = Self::default();
        let is_asked_for =
            |it: &&Rule| head.metadata.scope.as_ref().is_none_or(|scope| scope.asks_for(it.id));
        for rule in checks.filter(is_asked_for) {
            let is_its = |gap: &Gap| {
                gap.cluster.as_deref() == cluster
                    || BETWEEN_CLUSTERS.iter().any(|it| it.id == rule.id)
            };
            let is_limiting = |gap: &&Gap| is_its(gap) && gap.ids.iter().any(|it| it == rule.id);
            let limits: Vec<_> = tail.gaps.iter().filter(is_limiting).map(Gap::told).collect();
            if !limits.is_empty() {
                suite.skipped.push((rule.id, "not checked everywhere", limits.join("; ")));
            } else if !found.contains_key(rule.id) {
                suite.passed.push(rule.id);
            }
        }
        suite
    }

    /// Returns the number of all cases. Some readers take an empty suite for one that did not run.
    fn all(&mut self) -> usize {
        if self.failed + self.passed.len() + self.skipped.len() == 0 {
            self.skipped.push(("audit", "no checks", "no check was asked for".to_owned()));
        }
        self.failed + self.passed.len() + self.skipped.len()
    }
}

/// Writes suites, each with its findings.
fn write_suites<'a>(
    out: &mut dyn Write,
    version: &str,
    suites: impl IntoIterator<Item = (TestSuite<'a>, impl Iterator<Item = Finding>)>,
) -> io::Result<()> {
    let mut suites: Vec<_> = suites.into_iter().collect();
    let numbers =
        |all: usize, failed: usize| format!("tests=\"{all}\" failures=\"{failed}\" errors=\"0\"");
    let all: usize = suites.iter_mut().map(|(it, _)| it.all()).sum();
    let failures: usize = suites.iter().map(|(it, _)| it.failed).sum();
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, "<testsuites name=\"{PROGRAM} audit\" {}>", numbers(all, failures))?;
    for (mut suite, findings) in suites {
        let all = suite.all();
        let TestSuite { name, taken_at, failed, skipped, passed } = suite;
        let timestamp = taken_at.map(|it| format!(" timestamp=\"{}\"", xml(it)));
        writeln!(
            out,
            "<testsuite name=\"{}\" {} skipped=\"{}\"{} version=\"{}\">",
            xml(name),
            numbers(all, failed),
            skipped.len(),
            timestamp.unwrap_or_default(),
            xml(version)
        )?;
        for finding in findings {
            failure(out, &finding)?;
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
        writeln!(out, "</testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

/// Writes the case of a finding, with its evidence and its next step.
fn failure(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
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

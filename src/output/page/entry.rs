//! Entry of a finding on the page: what the script reads, and how it looks without the script.

use std::io::{self, Write};

use serde::Serialize;

use super::frame::Escaped;
use crate::{
    model::{Bytes, parse_quantity},
    output::{
        lines::readable,
        sections::{Grouped as _, Grouping},
        table::{age_cell, short_name},
        wire::{Finding, ObjectReference},
    },
};

/// Entry of a finding, in the words that people read. What is empty is absent.
#[derive(Debug, Default, Serialize)]
pub(super) struct PageEntry {
    id: String,
    severity: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    cluster: String,
    object: String,
    summary: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    class: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    driver: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    claim: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    phase: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    policy: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    size: String,
    bytes: Bytes,
    #[serde(skip_serializing_if = "String::is_empty")]
    age: String,
    seconds: i64,
    state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    command: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    effect: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    risk: String,
    /// Pieces of evidence: the object, if it is another one, the field and the value.
    evidence: Vec<[String; 3]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<String>,
    /// Causes of the finding: rule and object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<[String; 2]>,
}

impl PageEntry {
    /// Returns the entry of a finding.
    pub(super) fn of(finding: Finding) -> Self {
        let group = |by: Grouping| finding.group(by).map(|it| text(&it)).unwrap_or_default();
        let named = |object: &ObjectReference| {
            let elsewhere = object.cluster.iter().map(|it| format!("{it}: "));
            text(&elsewhere.chain([short_name(object)]).collect::<String>())
        };
        let entry = Self {
            cluster: group(Grouping::Cluster),
            namespace: group(Grouping::Namespace),
            class: group(Grouping::Class),
            driver: group(Grouping::Driver),
            object: named(&finding.object),
            age: text(&age_cell(finding.age.as_ref(), "unknown")),
            seconds: finding.age.as_ref().and_then(|it| it.seconds).unwrap_or(-1),
            related: finding.related.iter().map(named).collect(),
            causes: finding.caused_by.iter().map(|it| [text(&it.id), named(&it.object)]).collect(),
            ..Self::default()
        };
        let volume = finding.volume;
        let size = volume.as_ref().and_then(|it| it.capacity.clone()).unwrap_or_default();
        let remedy = finding.remedy;
        Self {
            id: text(&finding.id),
            severity: text(&finding.severity),
            summary: text(&finding.summary),
            bytes: parse_quantity(&size).unwrap_or(0),
            size: text(&size),
            claim: volume.as_ref().and_then(|it| it.claim.as_deref()).map(text).unwrap_or_default(),
            phase: volume.as_ref().map(|it| text(&it.phase)).unwrap_or_default(),
            policy: volume.as_ref().map(|it| text(&it.reclaim_policy)).unwrap_or_default(),
            state: text(&finding.verdict.state),
            reason: text(&finding.verdict.reason),
            command: remedy
                .as_ref()
                .and_then(|it| it.command.as_deref())
                .map(text)
                .unwrap_or_default(),
            effect: remedy.as_ref().map(|it| text(&it.effect)).unwrap_or_default(),
            risk: remedy.as_ref().map(|it| text(&it.risk)).unwrap_or_default(),
            evidence: finding
                .evidence
                .iter()
                .map(|it| [text(&it.object), text(&it.field), text(&it.value)])
                .map(|[object, field, value]| match object == entry.object {
                    true => [String::new(), field, value],
                    false => [object, field, value],
                })
                .collect(),
            ..entry
        }
    }

    /// Writes the entry as it looks without the script: `page.js` makes the same row, and more of what it opens to.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { id, severity, cluster, object, summary, size, age, .. } = self;
        writeln!(out, "<li><details><summary>")?;
        writeln!(out, r#"<span class="severity {0}">{0}</span>"#, Escaped(severity))?;
        write!(out, r#"<span class="object">{}"#, Escaped(object))?;
        for (name, text) in [("claim", &self.claim), ("cluster", cluster)] {
            if !text.is_empty() {
                write!(out, "<small> {name} {}</small>", Escaped(text))?;
            }
        }
        writeln!(out, "</span>")?;
        writeln!(out, r#"<span class="what">{}</span>"#, Escaped(summary))?;
        writeln!(out, r#"<span class="id">{}</span>"#, Escaped(id))?;
        writeln!(out, r#"<span class="size">{}</span>"#, Escaped(size))?;
        writeln!(out, r#"<span class="age">{}</span></summary>"#, Escaped(age))?;
        writeln!(out, r#"<div class="opened">"#)?;
        if !self.command.is_empty() {
            writeln!(out, "<pre>{}</pre>", Escaped(&self.command))?;
        }
        for (name, text) in [
            ("Verdict", &self.state),
            ("Why", &self.reason),
            ("If it is done", &self.effect),
            ("Risk", &self.risk),
        ] {
            if !text.is_empty() {
                writeln!(out, "<p>{name}: {}</p>", Escaped(text))?;
            }
        }
        writeln!(out, "<dl>")?;
        for [object, field, value] in &self.evidence {
            let (object, field, value) = (Escaped(object), Escaped(field), Escaped(value));
            writeln!(out, "<div><dt>{field}</dt><dd>{value} <small>{object}</small></dd></div>")?;
        }
        writeln!(out, "</dl></div></details></li>")
    }
}

fn text(text: &str) -> String {
    readable(text).into_owned()
}

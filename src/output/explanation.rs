//! The public shape of what `explain` says about one object, and its text for people.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::{
    publish::reference,
    report::{short_name, wrap},
    wire::{API_VERSION, Evidence, Finding, Gap, ObjectReference, ReportMetadata},
};
use crate::{
    cluster::Unseen,
    model::{self, escape_control},
    rules,
};

/// What `explain pvc/NAME` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `Explanation`.
    pub kind: String,
    /// When, of what, by which version and with which thresholds.
    pub metadata: ReportMetadata,
    /// The object.
    pub object: ObjectReference,
    /// The fields that tell its state.
    pub state: Vec<Evidence>,
    /// Why it is in this state.
    pub because: Vec<String>,
    /// What is wrong with it, as `audit` reports it.
    pub findings: Vec<Finding>,
    /// Who uses it.
    pub used_by: Vec<User>,
    /// Which kinds of users were looked at. Custom resources may use it too.
    pub looked_at: Vec<String>,
    /// What would happen if.
    pub outcomes: Vec<Outcome>,
    /// What was not seen, and therefore could not be told.
    pub gaps: Vec<Gap>,
}

/// Somebody who uses an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct User {
    /// Who.
    pub object: ObjectReference,
    /// How.
    pub how: String,
    /// Whether Kubernetes itself waits for it when the object is deleted.
    pub holds: bool,
}

/// What would happen if something were done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// What is done.
    #[serde(rename = "if")]
    pub when: String,
    /// What it happens to, where that is not the object itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectReference>,
    /// What happens, in one word.
    pub then: String,
    /// Why.
    pub because: String,
}

impl Explanation {
    /// Puts an explanation and the findings about its object into their public shape.
    pub fn new(
        explanation: rules::Explanation,
        metadata: ReportMetadata,
        findings: Vec<Finding>,
    ) -> Self {
        let user = |user: rules::User| User {
            object: reference(&user.object),
            how: user.how,
            holds: user.holds,
        };
        let outcome = |outcome: rules::ObjectEffect| Outcome {
            when: outcome.when,
            object: outcome.object.as_ref().map(reference),
            then: outcome.then.to_owned(),
            because: outcome.because,
        };
        let gap = |unseen: Unseen| Gap {
            resource: unseen.kind.plural().to_owned(),
            namespace: unseen.namespace.as_ref().map(ToString::to_string),
            reason: unseen.reason,
            ids: Vec::new(),
        };
        let evidence = |it: model::Evidence| Evidence {
            object: it.object,
            field: it.field.to_owned(),
            value: it.value,
        };
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "Explanation".to_owned(),
            metadata,
            object: reference(&explanation.object),
            state: explanation.state.into_iter().map(evidence).collect(),
            because: explanation.because,
            findings,
            used_by: explanation.users.into_iter().map(user).collect(),
            looked_at: explanation.looked_at.iter().map(|kind| kind.plural().to_owned()).collect(),
            outcomes: explanation.outcomes.into_iter().map(outcome).collect(),
            gaps: explanation.unseen.into_iter().map(gap).collect(),
        }
    }

    /// Prints it for people, no wider than `width`.
    ///
    /// # Errors
    /// When writing fails.
    pub fn print(&self, out: &mut dyn Write, width: usize) -> io::Result<()> {
        writeln!(out, "{}", escape_control(&short_name(&self.object)))?;
        let label = self.state.iter().map(|it| it.field.len()).max().unwrap_or(0);
        // A value that fits nowhere is better wrapped under its label than broken in a narrow column.
        let column = width.saturating_sub(label + 4).max(30);
        for it in &self.state {
            let value = escape_control(&it.value);
            let lines = wrap(&value, column);
            let first = lines.first().map_or("", |line| &**line);
            writeln!(out, "{}", format!("  {:label$}  {first}", it.field).trim_end())?;
            for line in lines.iter().skip(1) {
                writeln!(out, "  {:label$}  {line}", "")?;
            }
        }
        let mut page = ExplanationText { out, width };
        page.section("Why", self.because.iter().map(String::as_str))?;
        let finding = |it: &Finding| format!("{} {}: {}", it.severity, it.id, it.summary);
        let findings: Vec<_> = self.findings.iter().map(finding).collect();
        page.section("Wrong with it", findings.iter().map(String::as_str))?;
        self.users(&mut page)?;
        self.outcomes(&mut page)?;
        let gap = |gap: &Gap| match &gap.namespace {
            Some(namespace) => format!("{} in {namespace}: {}", gap.resource, gap.reason),
            None => format!("{}: {}", gap.resource, gap.reason),
        };
        let gaps: Vec<_> = self.gaps.iter().map(gap).collect();
        page.section("Not seen", gaps.iter().map(String::as_str))
    }

    fn users(&self, page: &mut ExplanationText) -> io::Result<()> {
        if self.looked_at.is_empty() && self.used_by.is_empty() {
            return Ok(());
        }
        let user = |user: &User| format!("{}: {}", short_name(&user.object), user.how);
        let mut users: Vec<_> = self.used_by.iter().map(user).collect();
        if users.is_empty() {
            users.push("nobody that was looked at".to_owned());
        }
        page.section("Used by", users.iter().map(String::as_str))?;
        page.line(&format!(
            "looked at: {}; custom resources may use it too",
            self.looked_at.join(", ")
        ))
    }

    fn outcomes(&self, page: &mut ExplanationText) -> io::Result<()> {
        let mut heading = None;
        for outcome in &self.outcomes {
            if heading != Some(&outcome.when) {
                heading = Some(&outcome.when);
                writeln!(page.out, "\n{}:", escape_control(&format!("If {}", outcome.when)))?;
            }
            let whose = outcome.object.as_ref().map(|it| format!("{} ", short_name(it)));
            let whose = whose.unwrap_or_default();
            page.line(&format!("{whose}{}: {}", outcome.then, outcome.because))?;
        }
        Ok(())
    }
}

struct ExplanationText<'a> {
    out: &'a mut dyn Write,
    width: usize,
}

impl ExplanationText<'_> {
    fn section<'b>(&mut self, title: &str, lines: impl Iterator<Item = &'b str>) -> io::Result<()> {
        for (index, line) in lines.enumerate() {
            if index == 0 {
                writeln!(self.out, "\n{title}:")?;
            }
            self.line(line)?;
        }
        Ok(())
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        let text = escape_control(text);
        for (index, line) in wrap(&text, self.width.max(40) - 4).iter().enumerate() {
            writeln!(self.out, "{}{line}", if index == 0 { "  " } else { "    " })?;
        }
        Ok(())
    }
}

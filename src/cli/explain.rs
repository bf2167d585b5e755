//! `kubectl storage explain ID`.

use std::io::{self, Write};

use clap::Args;

use super::{Exit, Failure, terminal};
use crate::{
    model::Kind,
    output::report::wrap,
    rules::{self, REGISTRY, Rule},
};

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The id of a finding, such as pv-released-past-threshold; without one, lists them all
    #[arg(add = clap_complete::ArgValueCandidates::new(super::complete::rule_ids))]
    id: Option<String>,
}

impl ExplainArgs {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let Some(id) = self.id else {
            terminal::print(list).map_err(Failure::error)?;
            return Ok(Exit::Done);
        };
        let Some(rule) = rules::find(&id) else {
            return Err(super::args::unknown_rule(&id));
        };
        terminal::print(|out| explain(out, rule)).map_err(Failure::error)?;
        Ok(Exit::Done)
    }
}

fn list(out: &mut dyn Write) -> io::Result<()> {
    let width = REGISTRY.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    for rule in REGISTRY.iter() {
        writeln!(out, "{:width$}   {:8}   {}", rule.id, rule.severity.name(), rule.title)?;
    }
    Ok(())
}

/// How people call what is looked at.
const fn looked_at(kind: Kind) -> &'static str {
    match kind {
        Kind::PartialObjectMetadata => "whatever owners a claim names",
        _ => kind.plural(),
    }
}

fn explain(out: &mut dyn Write, rule: &Rule) -> io::Result<()> {
    writeln!(out, "{} ({})", rule.id, rule.severity.name())?;
    let looks_at: Vec<_> = rule.looks_at().into_iter().map(looked_at).collect();
    for (heading, text) in [
        ("What it means", rule.title),
        ("Why it is dangerous", rule.danger),
        ("What the tool does and refuses", rule.remedy),
        ("Looks at", &looks_at.join(", ")),
        ("Source", rule.source),
    ] {
        writeln!(out, "\n{heading}:")?;
        for line in wrap(text, 76) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

//! The ids of findings, what one of them means, and the drivers of a cluster.

use std::io::{self, Write};

use crate::cli::{Exit, Failure, args::unknown_rule, terminal};
use crate::{
    model::{Kind, escape_control},
    output::report::wrap,
    rules::{self, DriverLine, REGISTRY, Rule},
};

/// Explains what a finding means.
pub(super) fn explain(id: &str) -> Result<Exit, Failure> {
    let Some(rule) = rules::find(id) else {
        if let Some(kind) = super::named::kind(id) {
            return Err(Failure::usage(format!("{id} is a kind, and no object is named"))
                .hint(Some(format!("explain {}/NAME", super::named::short(kind)))));
        }
        return Err(unknown_rule(id));
    };
    terminal::print(|out| print(out, rule)).map_err(Failure::error)?;
    Ok(Exit::Done)
}

/// Lists the ids of all findings.
pub(super) fn list(out: &mut dyn Write) -> io::Result<()> {
    let width = REGISTRY.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    for rule in REGISTRY.iter() {
        writeln!(out, "{:width$}   {:8}   {}", rule.id, rule.severity.name(), rule.title)?;
    }
    Ok(())
}

/// Lists drivers, each in a line.
pub(super) fn list_drivers(out: &mut dyn Write, rows: &[DriverLine]) -> io::Result<()> {
    if rows.is_empty() {
        return writeln!(out, "no driver and no provisioner was found");
    }
    for row in rows {
        let volumes = match row.volumes {
            1 => "1 volume".to_owned(),
            many => format!("{many} volumes"),
        };
        let name = escape_control(&row.name);
        writeln!(out, "{name}: {}, {volumes}, provisioner {}", row.title, row.provisioner)?;
    }
    writeln!(out, "\n`kubectl storage explain driver/NAME` shows more.")
}

/// The name of a kind that a rule checks.
const fn checked(kind: Kind) -> &'static str {
    match kind {
        Kind::PartialObjectMetadata => "the owners of claims, of any kind",
        _ => kind.plural(),
    }
}

fn print(out: &mut dyn Write, rule: &Rule) -> io::Result<()> {
    writeln!(out, "{} ({})", rule.id, rule.severity.name())?;
    let checks: Vec<_> = rule.looks_at().into_iter().map(checked).collect();
    for (heading, text) in [
        ("What it means", rule.title),
        ("Why it is dangerous", rule.danger),
        ("What the tool does and refuses", rule.remedy),
        ("Reads", &checks.join(", ")),
        ("Source", rule.source),
    ] {
        writeln!(out, "\n{heading}:")?;
        for line in wrap(text, 76) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

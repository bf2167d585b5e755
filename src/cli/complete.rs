//! Answers kubectl's requests for completion, when called as `kubectl_complete-…`.

use std::{ffi::OsString, path::Path, process::ExitCode};

use clap_complete::CompletionCandidate;

use super::terminal;
use crate::{
    model::{Kind, Severity, Threshold},
    rules::REGISTRY,
};

/// kubectl's directive "no file names".
const NO_FILES: &str = ":4";

/// Answers if the program was called by kubectl to complete a command line.
pub fn answer(arguments: &[OsString]) -> Option<ExitCode> {
    let called = Path::new(arguments.first()?).file_stem()?.to_str()?;
    let plugin = called.strip_prefix("kubectl_complete-")?;
    // What was typed so far; kubectl passes an empty word when the cursor stands after a space.
    let mut words = vec![OsString::from(format!("kubectl-{plugin}"))];
    words.extend(arguments.iter().skip(1).cloned());
    let index = words.len() - 1;
    let mut command = super::command(&format!("kubectl-{plugin}"));
    let candidates =
        clap_complete::engine::complete(&mut command, words, index, None).unwrap_or_default();
    let printed = terminal::print(|out| {
        for candidate in &candidates {
            let value = candidate.get_value().to_string_lossy();
            match candidate.get_help() {
                Some(help) => writeln!(out, "{value}\t{help}")?,
                None => writeln!(out, "{value}")?,
            }
        }
        writeln!(out, "{NO_FILES}")
    });
    Some(if printed.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Ids of findings, with their titles.
pub fn rule_ids() -> Vec<CompletionCandidate> {
    REGISTRY
        .iter()
        .map(|rule| CompletionCandidate::new(rule.id).help(Some(rule.title.into())))
        .collect()
}

/// Names of thresholds, each with the equals sign.
pub fn thresholds() -> Vec<CompletionCandidate> {
    let of = |it: Threshold| {
        CompletionCandidate::new(format!("{}=", it.name())).help(Some(it.about().into()))
    };
    Threshold::ALL.into_iter().map(of).collect()
}

/// Names of severities.
pub fn severities() -> Vec<CompletionCandidate> {
    Severity::ALL.into_iter().map(|it| CompletionCandidate::new(it.name())).collect()
}

/// Names of resources that a dump can hold, and `all`.
pub fn resources() -> Vec<CompletionCandidate> {
    let plural = Kind::ALL.into_iter().filter(|kind| kind.is_listed()).map(Kind::plural);
    plural.chain(["all"]).map(CompletionCandidate::new).collect()
}

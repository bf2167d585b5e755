//! Completion: scripts of shells that ask the program, `completion install` for kubectl itself, and the answers to
//! both.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use clap_complete::{
    ArgValueCandidates, CompletionCandidate,
    env::{Bash, EnvCompleter, Fish, Powershell, Zsh},
};

use super::{
    Exit, Failure,
    name::{PLUGIN, plugin_file},
    terminal,
};
use crate::{
    model::{FreeShare, Kind, Severity, Threshold},
    platform::{self, ADDED_NAME},
    rules,
};

/// The name under which scripts complete the program, and find it in `$PATH`, unless it was called as another plugin.
const PROGRAM: &str = "kubectl-storage";
/// Environment variable with which a script says which shell asks.
const ASKS: &str = "KUBECTL_STORAGE_COMPLETE";
/// The shells that have a script.
const SHELLS: [&dyn EnvCompleter; 4] = [&Bash, &Zsh, &Fish, &Powershell];

/// Arguments of `completion`.
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// Print the script for this shell; `install` lets kubectl itself complete the plugin
    what: CompletionTarget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompletionTarget {
    Bash,
    Zsh,
    Fish,
    Powershell,
    /// Create a link named `kubectl_complete-…` beside the program
    Install,
}

impl CompletionArgs {
    pub(super) fn run(&self, called: &str) -> Result<Exit, Failure> {
        let shell = match self.what {
            CompletionTarget::Bash => "bash",
            CompletionTarget::Zsh => "zsh",
            CompletionTarget::Fish => "fish",
            CompletionTarget::Powershell => "powershell",
            CompletionTarget::Install => return install(called),
        };
        let script = script(shell, plugin_file(called).unwrap_or(PROGRAM));
        terminal::print(|out| out.write_all(&script)).map_err(Failure::error)?;
        Ok(Exit::Done)
    }
}

/// Returns the script with which a shell asks the program, which it finds under this name, for completions; nothing
/// for other shells.
pub fn script(shell: &str, program: &str) -> Vec<u8> {
    let mut script = Vec::new();
    if let Some(shell) = SHELLS.into_iter().find(|it| it.is(shell)) {
        // Nothing fails to write into memory.
        let _ = shell.write_registration(ASKS, program, program, program, &mut script);
    }
    let text = String::from_utf8_lossy(&script);
    format!("{}\n", text.trim()).into_bytes()
}

/// Installs a link `kubectl_complete-NAME`, which kubectl runs to complete `kubectl NAME`; krew cannot install it.
fn install(called: &str) -> Result<Exit, Failure> {
    let program = platform::called_program(called).map_err(Failure::error)?;
    let name = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some(plugin) = name.strip_prefix(PLUGIN) else {
        return Err(Failure::usage(format!("{name:?} is not the name of a kubectl plugin"))
            .hint(Some("install it as kubectl-storage in a folder of $PATH")));
    };
    let link = program.with_file_name(format!("kubectl_complete-{plugin}"));
    if !platform::add_name(&program, &link).map_err(|error| failed(&link, error))? {
        return Err(Failure::error(anyhow::anyhow!(
            "{} exists and is not a {ADDED_NAME}: remove it first",
            link.display()
        )));
    }
    terminal::print(|out| writeln!(out, "{} now completes for kubectl", link.display()))
        .map_err(Failure::error)?;
    Ok(Exit::Done)
}

fn failed(link: &Path, error: std::io::Error) -> Failure {
    Failure::error(anyhow::Error::new(error).context(format!("failed to write {}", link.display())))
}

/// kubectl's directive "no file names": those that fit are among the candidates.
const NO_FILES: u8 = 4;
/// kubectl's directive "no space behind what is completed".
const NO_SPACE: u8 = 2;

/// Answers kubectl, or a script of a shell, if one of them asks how a command line could go on. Such a request never
/// runs the command line that it is about.
pub fn answer(arguments: &[OsString]) -> Option<ExitCode> {
    let printed = match answer_kubectl(arguments) {
        Some(printed) => printed,
        None => answer_shell(&std::env::var(ASKS).ok()?, arguments)?,
    };
    Some(if printed.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the command line with the flags that help leaves out because all commands take them.
fn whole(called: &str) -> clap::Command {
    super::command(called).mut_args(|it| it.hide(false))
}

/// Answers the script of a shell, which passes the typed words behind `--`. Anything else is a command line: the
/// variable may have been left in the environment.
fn answer_shell(shell: &str, arguments: &[OsString]) -> Option<std::io::Result<()>> {
    let (separator, words) = arguments.get(1..)?.split_first()?;
    if separator != OsStr::new("--") {
        return None;
    }
    let unknown = || std::io::Error::other("no such shell");
    let Some((shell, called)) = SHELLS.into_iter().find(|it| it.is(shell)).zip(words.first())
    else {
        return Some(Err(unknown()));
    };
    let words: Vec<_> = words.to_vec();
    let mut command = whole(&called.to_string_lossy());
    let folder = std::env::current_dir().ok();
    let mut answer = Vec::new();
    let completed = shell.write_complete(&mut command, words, folder.as_deref(), &mut answer);
    Some(completed.and_then(|()| terminal::print(|out| out.write_all(&answer))))
}

/// Answers kubectl, which calls the program as `kubectl_complete-…`.
fn answer_kubectl(arguments: &[OsString]) -> Option<std::io::Result<()>> {
    let called = Path::new(arguments.first()?).file_stem()?.to_str()?;
    let plugin = called.strip_prefix("kubectl_complete-")?;
    // What was typed so far; kubectl passes an empty word when the cursor stands after a space.
    let mut words = vec![OsString::from(format!("kubectl-{plugin}"))];
    words.extend(arguments.iter().skip(1).cloned());
    let index = words.len() - 1;
    let mut command = whole(&format!("kubectl-{plugin}"));
    let folder = std::env::current_dir().ok();
    let candidates = clap_complete::engine::complete(&mut command, words, index, folder.as_deref());
    let candidates = candidates.unwrap_or_default();
    let goes_on = |it: &CompletionCandidate| it.get_value().to_string_lossy().ends_with(['/', '=']);
    let space = if candidates.iter().any(goes_on) { NO_SPACE } else { 0 };
    Some(terminal::print(|out| {
        for candidate in &candidates {
            let value = candidate.get_value().to_string_lossy();
            match candidate.get_help() {
                Some(help) => writeln!(out, "{value}\t{help}")?,
                None => writeln!(out, "{value}")?,
            }
        }
        writeln!(out, ":{}", NO_FILES | space)
    }))
}

/// Returns the ids of findings, with their titles.
pub fn rule_ids() -> Vec<CompletionCandidate> {
    rules::all()
        .map(|rule| CompletionCandidate::new(rule.id).help(Some(rule.title.into())))
        .collect()
}

/// Returns the names of thresholds, each with the equals sign.
pub fn thresholds() -> Vec<CompletionCandidate> {
    let of = |it: Threshold| {
        CompletionCandidate::new(format!("{}=", it.name())).help(Some(it.about().into()))
    };
    Threshold::ALL.into_iter().map(of).collect()
}

/// Returns the names of thresholds of findings, each with the equals sign.
pub fn finding_thresholds() -> Vec<CompletionCandidate> {
    let share = CompletionCandidate::new(format!("{}=", FreeShare::NAME));
    let mut all = thresholds();
    all.push(share.help(Some(FreeShare::ABOUT.into())));
    all
}

/// Returns the names of severities.
pub fn severities() -> Vec<CompletionCandidate> {
    Severity::ALL.into_iter().map(|it| CompletionCandidate::new(it.name())).collect()
}

/// Formats of documents with one form for people.
pub const DOCUMENTS: &[&str] = &["table", "json", "yaml"];
/// Formats of plans and receipts.
pub const PLANS: &[&str] = &["table", "json", "yaml", "name"];
/// Formats of StatefulSets and their claims.
pub const ROWS: &[&str] = &["table", "wide", "json", "yaml", "name"];
/// Formats of reports about findings; those of files also with a file.
pub const AUDITS: &[&str] = &[
    "table",
    "wide",
    "json",
    "json=",
    "yaml",
    "yaml=",
    "name",
    "csv",
    "csv=",
    "markdown",
    "markdown=",
    "junit",
    "junit=",
    "sarif",
    "sarif=",
    "openmetrics",
    "openmetrics=",
    "html",
    "html=",
    "jsonpath=",
    "jsonpath-as-json=",
    "jsonpath-file=",
    "custom-columns=",
    "custom-columns-file=",
];

/// Returns the candidates for `-o`.
pub fn formats(names: &'static [&'static str]) -> ArgValueCandidates {
    ArgValueCandidates::new(move || names.iter().copied().map(CompletionCandidate::new).collect())
}

/// Returns the names of resources that a dump can hold, and `all`.
pub fn resources() -> Vec<CompletionCandidate> {
    let plural = Kind::ALL.into_iter().filter(|kind| kind.is_listed()).map(Kind::resource);
    plural.chain(["all"]).map(CompletionCandidate::new).collect()
}

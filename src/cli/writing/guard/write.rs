//! Shows the writes of `guard install` and `guard uninstall`, asks, and sends them.

use std::sync::Arc;

use clap::Args;

use super::super::perform::{cluster_journal, unopened};
use super::super::{DryRunFlag, Interrupt, confirm, field_manager};
use super::{GuardFormat, GuardOutput, GuardedCluster};
use crate::apply::{GuardWriter, OpenJournal, Outcome};
use crate::cli::{Exit, Failure, args::JournalPlaceArgs, terminal};
use crate::client;
use crate::guard::Step;
use crate::journal::{self, Log};
use crate::output::guard::{GuardChanges, difference_lines, ended};

/// Flags of the commands that write the guard.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing")]
pub(super) struct GuardWriteArgs {
    /// Skip the confirmation prompt
    #[arg(short, long)]
    yes: bool,
    /// Show what is written and change nothing; `server` also sends each request with dryRun=All
    #[arg(long, value_name = "HOW", default_value = "none", default_missing_value = "client",
          num_args = 0..=1, require_equals = true)]
    dry_run: DryRunFlag,
    /// Record the changes in managedFields under this name
    #[arg(long, value_name = "NAME", default_value = "kubectl-storage", value_parser = field_manager)]
    field_manager: String,
    #[command(flatten)]
    journal: JournalPlaceArgs,
    #[command(flatten)]
    output: GuardOutput,
}

impl GuardWriteArgs {
    /// Parses the format. `command` is what does not print others.
    pub(super) fn format(&self, command: &str) -> Result<GuardFormat, Failure> {
        self.output.format(command)
    }
}

/// Whether writes were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carried {
    /// All were carried out.
    All,
    /// None was to be sent.
    None,
    /// They ended so.
    Ended(Exit),
}

fn refused(reason: impl Into<String>, hint: &str) -> Failure {
    let error = anyhow::anyhow!(reason.into());
    Failure { exit: Exit::Refused, error, hint: Some(hint.to_owned()) }
}

/// Shows the writes, asks, and sends them one after the other. What became of them is written into
/// `shape`, whose changes are these steps.
pub(super) async fn carry_out(
    cluster: &GuardedCluster,
    steps: &[Step],
    shape: &mut GuardChanges,
    args: &GuardWriteArgs,
    format: GuardFormat,
    interrupt: &Interrupt,
) -> Result<Carried, Failure> {
    if args.dry_run == DryRunFlag::Client {
        if format.is_text() {
            terminal::print(|out| difference_lines(out, steps)).map_err(Failure::error)?;
        }
        shape.metadata.dry_run = Some("client".to_owned());
        return Ok(Carried::None);
    }
    let mut screen = Vec::new();
    difference_lines(&mut screen, steps).map_err(Failure::error)?;
    terminal::note(String::from_utf8_lossy(&screen).trim_end());
    let writer = GuardWriter::new(&cluster.connection, &args.field_manager);
    writer.dry_run(steps).await.map_err(|error| {
        refused(
            format!("a dry run was not accepted: {error}"),
            "nothing was changed; `kubectl storage rbac guard --check` lists missing permissions",
        )
    })?;
    if args.dry_run == DryRunFlag::Server {
        terminal::note("the API server would accept every request; nothing was changed");
        shape.metadata.dry_run = Some("server".to_owned());
        return Ok(Carried::None);
    }
    // Opened before the question is asked: without it, nothing is written.
    let journal = open_journal(cluster, args).await?;
    if !args.yes {
        if !confirm::somebody_there() {
            return Err(refused(
                "cannot ask for confirmation: stdin or stderr is not a terminal",
                "--yes skips the confirmation prompt, --dry-run=client only shows the changes",
            ));
        }
        if !confirm::agrees("Make these changes?").await? {
            return Err(refused("not confirmed", "nothing was changed"));
        }
    }
    shape.metadata.journal = Some(journal.shown());
    interrupt.begin();
    let ended = send(&writer, cluster, steps, shape, &journal, format, interrupt).await;
    interrupt.finish();
    ended
}

async fn send(
    writer: &GuardWriter,
    cluster: &GuardedCluster,
    steps: &[Step],
    shape: &mut GuardChanges,
    journal: &OpenJournal,
    format: GuardFormat,
    interrupt: &Interrupt,
) -> Result<Carried, Failure> {
    let run = GuardWriter::run_id();
    let command = shape.metadata.command.clone();
    for (done, (step, change)) in steps.iter().zip(&mut shape.changes).enumerate() {
        if interrupt.asked() {
            terminal::note(&interrupted(done, steps.len(), &command));
            return Ok(Carried::Ended(Exit::Interrupted));
        }
        let end = writer.write(step, &command, &run, journal, cluster.now).await;
        change.outcome = Some(end.outcome.name().to_owned());
        change.detail = end.detail;
        change.entry = end.entry;
        if format.is_text() {
            let line = ended(step, change);
            terminal::print(|out| writeln!(out, "{line}")).map_err(Failure::error)?;
        }
        if end.outcome != Outcome::Done {
            terminal::note(&interrupted(done, steps.len(), &command));
            let exit = match (done, end.outcome) {
                (0, Outcome::Stale | Outcome::Refused | Outcome::Failed) => Exit::Error,
                _ => Exit::Unfinished,
            };
            return Ok(Carried::Ended(exit));
        }
    }
    Ok(Carried::All)
}

fn interrupted(done: usize, all: usize, command: &str) -> String {
    format!("{done} of {all} changes were made; run `kubectl storage {command}` again for the rest")
}

async fn open_journal(
    cluster: &GuardedCluster,
    args: &GuardWriteArgs,
) -> Result<OpenJournal, Failure> {
    let connection = &cluster.connection;
    if let Some(namespace) = args.journal.namespace() {
        return cluster_journal(connection, &args.field_manager, &namespace, None).await;
    }
    let uid = client::cluster_uid(&cluster.reader).await.map_err(super::read_failure)?;
    let folder = journal::folder(uid.as_deref(), &connection.server, &connection.authority);
    let folder = folder.ok_or_else(|| {
        refused("no folder for the journal is known", "set XDG_STATE_HOME to a writable folder")
    })?;
    let log = Log::open(&folder).map_err(|error| unopened(error.into()))?;
    Ok(OpenJournal::in_file(Arc::new(log)))
}

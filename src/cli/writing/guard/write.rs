//! `guard install` and `guard uninstall`: the writes, confirmed, recorded and proven.

use std::sync::Arc;

use clap::Args;

use super::{
    GuardFormat, GuardOutput, GuardedCluster, NamespaceLabels, RuleArgs,
    status::{self, Proof},
    taken, tell,
};
use crate::{
    apply::{GuardWriter, OpenJournal, Outcome},
    cli::{
        Exit, Failure, Interrupt,
        args::{ConnectionArgs, JournalPlaceArgs},
        terminal,
        writing::{
            DryRunFlag, confirm, field_manager,
            perform::{cluster_journal, unopened},
        },
    },
    client,
    guard::{GUARD_LABEL, GuardOptions, Step, installation, removal},
    journal::{self, Log},
    model::escape_control,
    output::guard::{
        self, GuardChanges, GuardNamespaces, difference_lines, ended, proof_lines,
        unknown_label_lines,
    },
};

/// Arguments of `guard install`.
#[derive(Debug, Args)]
pub(super) struct InstallArgs {
    #[command(flatten)]
    rules: RuleArgs,
    /// Begin with the defaults instead of the options that are installed
    #[arg(long)]
    reset: bool,
    #[command(flatten)]
    write: GuardWriteArgs,
}

impl InstallArgs {
    pub(super) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let format = self.write.format("guard install")?;
        let cluster = GuardedCluster::read(connection).await?;
        let installed = cluster.installed.options().filter(|_| !self.reset);
        // Messages keep the name under which they were installed: its users type that.
        let options = installed.unwrap_or_else(|| GuardOptions::default().in_own_name());
        let options = self.rules.over(options)?;
        let steps = installation(&cluster.installed, &options).map_err(|it| taken(&it))?;
        let mut shape =
            GuardChanges::new("guard install", cluster.now, Some(&options), guard::changes(&steps));
        if steps.is_empty() {
            tell("the guard is installed, nothing is to be changed");
            let proof = prove(&cluster, &options).await;
            shape.proof = Some(proof.shape());
            format.print(&shape)?;
            return Ok(exit(&proof));
        }
        let carried =
            carry_out(&cluster, &steps, &mut shape, &self.write, format, interrupt).await?;
        match carried {
            Carried::None => {
                format.print(&shape)?;
                status::list_not_stopped();
                Ok(Exit::Done)
            }
            Carried::Ended(exit) => {
                format.print(&shape)?;
                Ok(exit)
            }
            Carried::All => {
                // What was written is read again, and proven.
                let cluster = GuardedCluster::read(connection).await?;
                let left = installation(&cluster.installed, &options).map_err(|it| taken(&it))?;
                if !left.is_empty() {
                    format.print(&shape)?;
                    tell("the guard was changed meanwhile; `guard diff` shows how");
                    return Ok(Exit::Unfinished);
                }
                let proof = prove(&cluster, &options).await;
                shape.proof = Some(proof.shape());
                format.print(&shape)?;
                status::list_not_stopped();
                Ok(exit(&proof))
            }
        }
    }
}

/// Proves that the guard is in force, and tells the result on stderr.
async fn prove(cluster: &GuardedCluster, options: &GuardOptions) -> Proof {
    let labels = match cluster.namespaces().await {
        Ok(labels) => labels,
        Err(error) => {
            tell(&format!("note: namespaces were not read: {error}"));
            NamespaceLabels::default()
        }
    };
    let proof = status::wait(cluster, options, &labels).await;
    for line in proof_lines(&proof.shape()) {
        tell(&line);
    }
    if labels.deny.is_empty() {
        tell(&format!("in no namespace the guard refuses yet: label one with {GUARD_LABEL}=deny"));
    }
    for line in unknown_label_lines(&GuardNamespaces::from(&labels).unknown) {
        tell(&line);
    }
    proof
}

fn exit(proof: &Proof) -> Exit {
    if proof.fails() { Exit::Unfinished } else { Exit::Done }
}

/// Arguments of `guard uninstall`.
#[derive(Debug, Args)]
pub(super) struct UninstallArgs {
    #[command(flatten)]
    write: GuardWriteArgs,
}

impl UninstallArgs {
    pub(super) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let format = self.write.format("guard uninstall")?;
        let cluster = GuardedCluster::read(connection).await?;
        for key in cluster.installed.foreign() {
            let key = key.to_string();
            terminal::note(&format!("note: {} was not made by this tool", escape_control(&key)));
        }
        for binding in cluster.installed.foreign_bindings() {
            terminal::note(&format!(
                "note: binding {} was not made by this tool, and remains without a policy",
                escape_control(binding)
            ));
        }
        let steps = removal(&cluster.installed);
        let mut shape =
            GuardChanges::new("guard uninstall", cluster.now, None, guard::changes(&steps));
        if steps.is_empty() {
            format.print(&shape)?;
            terminal::note("the guard is not installed, nothing is to be changed");
            return Ok(Exit::Done);
        }
        let carried =
            carry_out(&cluster, &steps, &mut shape, &self.write, format, interrupt).await?;
        format.print(&shape)?;
        match carried {
            Carried::None => Ok(Exit::Done),
            Carried::Ended(exit) => Ok(exit),
            Carried::All => {
                let cluster = GuardedCluster::read(connection).await?;
                if cluster.installed.is_any() {
                    terminal::note("another client has created objects of the guard meanwhile");
                    return Ok(Exit::Unfinished);
                }
                terminal::note("the guard is removed; labels of namespaces remain as they are");
                Ok(Exit::Done)
            }
        }
    }
}

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
    /// Parses the format; `command` is the one that refuses others.
    pub(super) fn format(&self, command: &str) -> Result<GuardFormat, Failure> {
        self.output.format(command)
    }
}

/// Result of carrying out writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carried {
    /// All writes were carried out.
    All,
    /// No write was to be sent.
    None,
    /// The writes ended early, with this exit code.
    Ended(Exit),
}

fn refused(reason: impl Into<String>, hint: &str) -> Failure {
    let error = anyhow::anyhow!(reason.into());
    Failure { exit: Exit::Refused, error, hint: Some(hint.to_owned()) }
}

/// Shows the writes, asks, and sends them one after the other. Their outcomes are written into `shape`, whose changes
/// are these steps.
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
    terminal::note_contents(String::from_utf8_lossy(&screen).trim_end());
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

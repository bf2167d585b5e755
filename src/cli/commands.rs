//! The commands, with their help, and which code runs each.

use clap::{CommandFactory as _, Parser, Subcommand};

use super::{
    Exit, Failure,
    args::{ConnectionArgs, display_name},
    audit::AuditArgs,
    completion::CompletionArgs,
    dump::DumpArgs,
    explain::ExplainArgs,
    rbac::RbacArgs,
    version::VersionArgs,
    writing::{
        Interrupt, apply::ApplyArgs, fix_finalizers::FixFinalizersArgs, gc::GcArgs,
        journal::JournalArgs, orphan::OrphanArgs, retain::RetainArgs, undo::UndoArgs,
    },
};

/// Find and repair what goes wrong with Kubernetes storage
#[derive(Debug, Parser)]
#[command(disable_help_subcommand = true, max_term_width = 100)]
pub struct Cli {
    /// How to reach the cluster.
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Report what is wrong with volumes and claims; changes nothing
    Audit(Box<AuditArgs>),
    /// Reclaim volumes that nobody needs any more: their disks are deleted by their own drivers
    Gc(Box<GcArgs>),
    /// Repair volumes, claims and attachments that hang on finalizers, e.g. after a rollback
    FixFinalizers(Box<FixFinalizersArgs>),
    /// Stop whatever would destroy a volume: set its reclaim policy to Retain, now
    Retain(Box<RetainArgs>),
    /// Carry out a plan that was saved with --plan-out
    Apply(Box<ApplyArgs>),
    /// Have a driver delete a backend volume that no volume names any more
    DestroyOrphan(Box<OrphanArgs>),
    /// Reverse what an entry of the journal changed, where Kubernetes allows it
    Undo(Box<UndoArgs>),
    /// List what was done, and what became of it
    Journal(JournalArgs),
    /// Save what an audit needs to a file, for offline work
    Dump(DumpArgs),
    /// Explain a finding, or why an object is in its state and what would happen if
    Explain(ExplainArgs),
    /// Print the smallest cluster role for a command, or check what is lacking
    Rbac(RbacArgs),
    /// Print the version
    Version(VersionArgs),
    /// Print a completion script, or make kubectl complete the plugin
    Completion(CompletionArgs),
}

/// Builds the command line under the name that it was called by.
pub fn command(called: &str) -> clap::Command {
    let name = display_name(called);
    let usage = OrphanArgs::usage(&name);
    Cli::command().name("kubectl-storage").bin_name(name).mut_subcommands(|command| {
        match command.get_name() {
            "destroy-orphan" => command.override_usage(&usage),
            _ => command,
        }
    })
}

impl Cli {
    /// Runs the command that was typed.
    pub(super) async fn run(self, called: &str, interrupt: &Interrupt) -> Result<Exit, Failure> {
        match self.command {
            Command::Audit(args) => args.run(&self.connection).await,
            Command::Gc(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::FixFinalizers(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Retain(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Apply(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::DestroyOrphan(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Undo(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Journal(args) => Box::pin(args.run(&self.connection)).await,
            Command::Dump(args) => args.run(&self.connection).await,
            Command::Explain(args) => args.run(&self.connection).await,
            Command::Rbac(args) => args.run(&self.connection).await,
            Command::Version(args) => args.run(),
            Command::Completion(args) => args.run(called),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}

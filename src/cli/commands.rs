//! The commands, with their help, and which code runs each.

use clap::{CommandFactory as _, Parser, Subcommand};

use super::{
    Exit, Failure, Interrupt,
    args::{ConnectionArgs, display_name},
    audit::AuditArgs,
    completion::CompletionArgs,
    dump::DumpArgs,
    examples,
    explain::ExplainArgs,
    rbac::RbacArgs,
    retention::RetentionArgs,
    terminal,
    version::VersionArgs,
    watch::WatchArgs,
    writing::{
        apply::ApplyArgs, delete::DeleteArgs, disown::DisownArgs,
        fix_finalizers::FixFinalizersArgs, gc::GcArgs, guard::GuardArgs, journal::JournalArgs,
        orphan::OrphanArgs, rebind::RebindArgs, retain::RetainArgs, undo::UndoArgs,
    },
};

/// Find and repair what goes wrong with Kubernetes storage
#[derive(Debug, Parser)]
#[command(disable_help_subcommand = true, max_term_width = 100)]
pub struct Cli {
    /// Also say what was read, and in full what was not
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
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
    /// Report what is wrong with volumes, claims, StatefulSets and VolumeAttachments; read-only
    Audit(Box<AuditArgs>),
    /// Report what is wrong continuously, by a policy file; for a process in the cluster
    Watch(Box<WatchArgs>),
    /// Reclaim Released volumes: their controllers delete the backend volumes
    Gc(Box<GcArgs>),
    /// Repair volumes, claims and VolumeAttachments whose deletion finalizers block
    FixFinalizers(Box<FixFinalizersArgs>),
    /// Set the reclaim policy to Retain, to stop deletion of the backend volume
    Retain(Box<RetainArgs>),
    /// Delete claims that nothing uses, after the decision about their data
    Delete(Box<DeleteArgs>),
    /// Give a Released volume back to a claim, with its data
    Rebind(Box<RebindArgs>),
    /// Show what retention policies do to the claims of StatefulSets
    Retention(Box<RetentionArgs>),
    /// Remove owner references of claims whose owner does not exist, so that they are not deleted
    Disown(Box<DisownArgs>),
    /// Have the API server refuse deletes that lose data: admission policies, no webhook
    Guard(Box<GuardArgs>),
    /// Carry out a plan that was saved with --plan-out
    Apply(Box<ApplyArgs>),
    /// Have a driver delete a backend volume that no PersistentVolume references
    DestroyOrphan(Box<OrphanArgs>),
    /// Revert what an entry of the journal changed, where Kubernetes allows it
    Undo(Box<UndoArgs>),
    /// List the changes made from this machine, and their outcomes
    Journal(JournalArgs),
    /// Save everything that an audit reads to a file, for offline work
    Dump(DumpArgs),
    /// Explain a finding, or the state of an object and the effects of its deletion
    Explain(ExplainArgs),
    /// Print the smallest ClusterRole for a command, or check your permissions
    Rbac(RbacArgs),
    /// Print the version
    Version(VersionArgs),
    /// Print a completion script, or let kubectl complete the plugin
    Completion(CompletionArgs),
}

/// Builds the command line under the name that it was called by.
pub fn command(called: &str) -> clap::Command {
    let name = display_name(called);
    let usage = OrphanArgs::usage(&name);
    let program = Cli::command().name("kubectl-storage").after_help(examples::of_program(&name));
    let named = name.clone();
    program.bin_name(named).mut_subcommands(|command| {
        let examples = examples::of_command(command.get_name(), &name);
        let command = command.after_help(examples);
        match command.get_name() {
            "destroy-orphan" => command.override_usage(&usage),
            _ => command,
        }
    })
}

impl Cli {
    /// Runs the command that was typed.
    pub(super) async fn run(self, called: &str, interrupt: &Interrupt) -> Result<Exit, Failure> {
        if self.verbose > 0 {
            terminal::speak_in_full();
        }
        match self.command {
            Command::Audit(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Watch(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Gc(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::FixFinalizers(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Retain(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Delete(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Rebind(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Retention(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Disown(args) => Box::pin(args.run(&self.connection, interrupt)).await,
            Command::Guard(args) => Box::pin(args.run(&self.connection, interrupt)).await,
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

    /// The words that the shell hands to the program.
    fn words(typed: &str) -> Vec<&str> {
        let ours = typed.split(" | ").next().unwrap_or_default();
        let ours = ours.split(" > ").next().unwrap_or_default();
        ours.split_whitespace().filter(|word| *word != "\\").collect()
    }

    #[test]
    fn every_command_has_examples_and_all_are_valid() {
        let program = command("kubectl-storage");
        let commands: Vec<_> =
            program.get_subcommands().map(|it| it.get_name().to_owned()).collect();
        for command in &commands {
            assert!(examples::examples(command).len() >= 2, "{command}");
        }
        let all = commands.iter().flat_map(|it| examples::examples(it));
        for (what, typed) in all.chain(examples::FIRST_STEPS) {
            let typed = std::iter::once("kubectl-storage").chain(words(typed));
            if let Err(error) = program.clone().try_get_matches_from(typed) {
                panic!("{what}: {error}");
            }
        }
    }
}

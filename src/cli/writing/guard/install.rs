//! `guard install`.

use clap::Args;

use super::super::Interrupt;
use super::write::{Carried, GuardWriteArgs, carry_out};
use super::{GuardedCluster, NamespaceLabels, RuleArgs, proof, status, taken};
use crate::cli::{Exit, Failure, args::ConnectionArgs, terminal};
use crate::guard::{GUARD_LABEL, GuardOptions, installation};

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
        let cluster = GuardedCluster::read(connection).await?;
        let installed = cluster.installed.options().filter(|_| !self.reset);
        let options = self.rules.over(installed.unwrap_or_default())?;
        let steps = installation(&cluster.installed, &options).map_err(|it| taken(&it))?;
        if steps.is_empty() {
            terminal::note("the guard is installed, nothing is to be changed");
            return prove(&cluster, &options).await;
        }
        match carry_out(&cluster, &steps, "guard install", &self.write, interrupt).await? {
            Carried::None => {
                status::list_not_stopped();
                Ok(Exit::Done)
            }
            Carried::Ended(exit) => Ok(exit),
            Carried::All => {
                // What was written is read again, and proven.
                let cluster = GuardedCluster::read(connection).await?;
                let left = installation(&cluster.installed, &options).map_err(|it| taken(&it))?;
                if !left.is_empty() {
                    terminal::note("the guard was changed meanwhile; `guard diff` shows how");
                    return Ok(Exit::Unfinished);
                }
                let exit = prove(&cluster, &options).await?;
                status::list_not_stopped();
                Ok(exit)
            }
        }
    }
}

/// Proves that the guard is in force, and tells on stderr.
async fn prove(cluster: &GuardedCluster, options: &GuardOptions) -> Result<Exit, Failure> {
    let labels = match cluster.namespaces().await {
        Ok(labels) => labels,
        Err(error) => {
            terminal::note(&format!("note: namespaces were not read: {error}"));
            NamespaceLabels::default()
        }
    };
    let proof = proof::wait(cluster, options, &labels).await;
    for line in status::proof_lines(&proof) {
        terminal::note(&line);
    }
    if labels.deny.is_empty() {
        terminal::note(&format!(
            "in no namespace the guard refuses yet: label one with {GUARD_LABEL}=deny"
        ));
    }
    for line in status::typo_lines(&labels) {
        terminal::note(&line);
    }
    Ok(if proof.fails() { Exit::Unfinished } else { Exit::Done })
}

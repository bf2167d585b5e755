//! `guard install`.

use clap::Args;

use super::super::Interrupt;
use super::write::{Carried, GuardWriteArgs, carry_out};
use super::{GuardedCluster, NamespaceLabels, RuleArgs, proof, proof::Proof, status, taken, tell};
use crate::cli::{Exit, Failure, args::ConnectionArgs};
use crate::guard::{GUARD_LABEL, GuardOptions, installation};
use crate::output::guard::{
    GuardChanges, GuardNamespaces, changes, proof_lines, unknown_label_lines,
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
        let options = self.rules.over(installed.unwrap_or_default())?;
        let steps = installation(&cluster.installed, &options).map_err(|it| taken(&it))?;
        let mut shape =
            GuardChanges::new("guard install", cluster.now, Some(&options), changes(&steps));
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

/// Proves that the guard is in force, and tells on stderr.
async fn prove(cluster: &GuardedCluster, options: &GuardOptions) -> Proof {
    let labels = match cluster.namespaces().await {
        Ok(labels) => labels,
        Err(error) => {
            tell(&format!("note: namespaces were not read: {error}"));
            NamespaceLabels::default()
        }
    };
    let proof = proof::wait(cluster, options, &labels).await;
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

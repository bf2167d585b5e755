//! `guard uninstall`.

use clap::Args;

use super::super::Interrupt;
use super::GuardedCluster;
use super::write::{Carried, GuardWriteArgs, carry_out};
use crate::cli::{Exit, Failure, args::ConnectionArgs, terminal};
use crate::guard::removal;
use crate::model::escape_control;
use crate::output::guard::{GuardChanges, changes};

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
        let mut shape = GuardChanges::new("guard uninstall", cluster.now, None, changes(&steps));
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

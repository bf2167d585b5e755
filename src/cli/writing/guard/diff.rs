//! `guard diff`: what somebody changed.

use clap::Args;

use super::{GuardedCluster, RuleArgs, taken, write::show};
use crate::cli::{Exit, Failure, args::ConnectionArgs, terminal};
use crate::guard::installation;

/// Arguments of `guard diff`.
#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    #[command(flatten)]
    rules: RuleArgs,
}

impl DiffArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let cluster = GuardedCluster::read(connection).await?;
        let installed = &cluster.installed;
        let options = self.rules.over(installed.options().unwrap_or_default())?;
        let steps = installation(installed, &options).map_err(|foreign| taken(&foreign))?;
        if steps.is_empty() {
            terminal::note("the guard is as it was installed");
            return Ok(Exit::Done);
        }
        terminal::print(|out| show(out, &steps)).map_err(Failure::error)?;
        terminal::note(match installed.is_any() {
            true => "the guard differs; `kubectl storage guard install` repairs it",
            false => "the guard is not installed",
        });
        Ok(Exit::Error)
    }
}

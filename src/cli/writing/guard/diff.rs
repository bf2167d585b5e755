//! `guard diff`: what somebody changed.

use clap::Args;

use super::{GuardOutput, GuardedCluster, RuleArgs, taken};
use crate::cli::{Exit, Failure, args::ConnectionArgs, terminal};
use crate::guard::installation;
use crate::output::guard::{GuardChanges, changes, difference_lines};

/// Arguments of `guard diff`.
#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    output: GuardOutput,
}

impl DiffArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let format = self.output.format("guard diff")?;
        let cluster = GuardedCluster::read(connection).await?;
        let installed = &cluster.installed;
        let options = self.rules.over(installed.options().unwrap_or_default())?;
        let steps = installation(installed, &options).map_err(|foreign| taken(&foreign))?;
        let found = changes(&steps);
        format.print(&GuardChanges::new("guard diff", cluster.now, Some(&options), found))?;
        if steps.is_empty() {
            terminal::note("the guard is as it was installed");
            return Ok(Exit::Done);
        }
        if format.is_text() {
            terminal::print(|out| difference_lines(out, &steps)).map_err(Failure::error)?;
        }
        terminal::note(match installed.is_any() {
            true => {
                "the guard differs; `kubectl storage guard install` with the same flags writes what is \
                 shown"
            }
            false => "the guard is not installed",
        });
        Ok(Exit::Error)
    }
}

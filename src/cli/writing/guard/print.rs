//! `guard print`: the guard as YAML.

use clap::Args;

use super::RuleArgs;
use crate::cli::{Exit, Failure, terminal};
use crate::guard::{GuardOptions, objects};
use crate::output::list;

/// Arguments of `guard print`.
#[derive(Debug, Args)]
pub(super) struct PrintArgs {
    #[command(flatten)]
    rules: RuleArgs,
}

impl PrintArgs {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let options = self.rules.over(GuardOptions::default())?;
        terminal::print(|out| {
            for object in objects(&options) {
                writeln!(out, "---")?;
                list::yaml(out, &object.manifest)?;
            }
            Ok::<_, std::io::Error>(())
        })
        .map_err(Failure::error)?;
        Ok(Exit::Done)
    }
}

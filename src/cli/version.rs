//! `kubectl storage version`.

use clap::Args;
use serde::Serialize;

use super::{Exit, Failure, terminal};
use crate::{
    model::{PROGRAM, program},
    output::list,
};

/// Arguments of `version`.
#[derive(Debug, Args)]
pub struct VersionArgs {
    /// Print in this format: json or yaml
    #[arg(short, long, value_parser = ["json", "yaml"])]
    output: Option<String>,
}

/// Version of the program, as it is tagged.
pub(super) const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VersionReport {
    version: &'static str,
    api_version: &'static str,
    platform: String,
}

impl VersionArgs {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let version = VersionReport {
            version: VERSION,
            api_version: crate::output::wire::API_VERSION,
            platform: format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        };
        terminal::print(|out| match self.output.as_deref() {
            Some("json") => list::json(out, &version),
            Some(_) => list::yaml(out, &version),
            None => writeln!(
                out,
                "{} {} ({}){}",
                program(),
                version.version,
                version.platform,
                // Documentation and issues have the one name, also where the program is installed under another.
                if program() == PROGRAM { "" } else { ", which is kubectl storage" }
            ),
        })
        .map_err(Failure::error)?;
        Ok(Exit::Done)
    }
}

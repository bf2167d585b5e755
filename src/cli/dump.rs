//! `kubectl storage dump FILE`.

use std::path::PathBuf;

use clap::Args;

use super::{
    Exit, Failure,
    args::{ConnectionArgs, GapArgs, RecordArgs},
    collect::{collect, tell},
    reading::DumpSourceArgs,
    terminal,
};
use crate::model::Settings;

/// Arguments of `dump`.
#[derive(Debug, Args)]
pub struct DumpArgs {
    /// Write to this file, gzipped if its name ends in .gz; - for stdout
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    dump: DumpSourceArgs,
    #[command(flatten)]
    record: RecordArgs,
    #[command(flatten)]
    gaps: GapArgs,
}

impl DumpArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let (from, _) = self.dump.from(connection, None)?;
        let mut settings = Settings::default();
        self.record.take_into(&mut settings);
        let collected = collect(from, &settings, Some(&self.file)).await?;
        if let Some(count) = collected.saved {
            let file = self.file.display();
            terminal::note(&format!(
                "saved {count} objects and answers to {file}; no Secrets, no ConfigMap except the records of kept backend volumes and of announcements, and of environment variables and command lines only what names or configures a provisioner"
            ));
        }
        tell(&collected, "audit");
        let seen = collected.blind.is_empty();
        Ok(self.gaps.settle(if seen { Exit::Done } else { Exit::Incomplete }))
    }
}

//! `kubectl storage dump FILE`.

mod kept;

use std::path::PathBuf;

use clap::Args;
use kept::KeptDumps;

use super::{
    Exit, Failure,
    args::{ConnectionArgs, GapArgs, RecordArgs},
    collect::{collect, tell},
    reading::DumpSourceArgs,
    terminal,
};
use crate::model::{Settings, counted};

/// Arguments of `dump`.
#[derive(Debug, Args)]
pub struct DumpArgs {
    /// Write to this file, gzipped if its name ends in .gz; - for stdout
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// Write into the folder FILE, under a name of cluster and time, and remove all but the last N dumps of this cluster
    #[arg(long, value_name = "N", conflicts_with = "dumps", value_parser = clap::value_parser!(u16).range(1..))]
    keep: Option<u16>,
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
        let kept = match self.keep {
            Some(last) => Some((KeptDumps::open(&self.file, connection).await?, last)),
            None => None,
        };
        let file = kept.as_ref().map_or(self.file, |(kept, _)| kept.file());
        let collected = collect(from, &settings, Some(&file)).await?;
        if let Some(count) = collected.saved {
            let file = file.display();
            terminal::note(&format!(
                "saved {count} objects and answers to {file}; no Secrets, no ConfigMap except the records of kept backend volumes and of announcements, and of environment variables and command lines only what names or configures a provisioner, or names the cluster on its disks"
            ));
        }
        if let Some((kept, last)) = kept {
            let older = kept.remove_older(usize::from(last))?;
            if older > 0 {
                terminal::note(&format!(
                    "removed {} of this cluster",
                    counted(older, "older dump")
                ));
            }
        }
        tell(&collected, "audit");
        let seen = collected.blind.is_empty();
        Ok(self.gaps.settle(if seen { Exit::Done } else { Exit::Incomplete }))
    }
}

//! `kubectl storage dump FILE`.

mod kept;

use std::path::PathBuf;

use clap::Args;
use kept::KeptDumps;

use super::{
    Exit, Failure,
    args::{ConnectionArgs, GapArgs, RecordArgs},
    clusters::{ClusterInput, ClustersArgs, tell_gaps},
    collect::{Saving, collect_measured, tell, tell_unread},
    parallel::read_each,
    reading::DumpSourceArgs,
    terminal,
    usage::UsageArgs,
};
use crate::model::{Settings, counted, escape_control};

/// Arguments of `dump`.
#[derive(Debug, Args)]
pub struct DumpArgs {
    /// Write to this file, gzipped if its name ends in .gz; - for stdout; of several clusters, to NAME.json.gz in this
    /// folder
    #[arg(value_name = "FILE|DIR", value_hint = clap::ValueHint::AnyPath)]
    file: PathBuf,
    /// Write into the folder FILE, under a name of cluster and time, and remove all but the last N dumps of this cluster
    #[arg(long, value_name = "N", conflicts_with_all = ["dumps", "contexts"], value_parser = clap::value_parser!(u16).range(1..))]
    keep: Option<u16>,
    #[command(flatten)]
    dump: DumpSourceArgs,
    #[command(flatten)]
    clusters: ClustersArgs,
    #[command(flatten)]
    usage: UsageArgs,
    #[command(flatten)]
    record: RecordArgs,
    #[command(flatten)]
    gaps: GapArgs,
}

impl DumpArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let mut settings = Settings { reads_inventories: true, ..Settings::default() };
        self.record.take_into(&mut settings);
        if let Some(inputs) = self.clusters.inputs(&self.dump, connection)? {
            return self.several(&inputs, connection, &settings).await;
        }
        let kept = match self.keep {
            Some(last) => Some((KeptDumps::open(&self.file, connection).await?, last)),
            None => None,
        };
        let file = kept.as_ref().map_or(self.file, |(kept, _)| kept.file());
        let usage = self.usage.read(&self.dump)?;
        let (from, _) = self.dump.from(connection, None)?;
        // Of dumps, it says nothing.
        let name = connection.context_in_use().filter(|_| self.dump.files().is_empty());
        let saving = Some(Saving { path: &file, name });
        let collected = collect_measured(from, &settings, saving, usage).await?;
        if let Some(count) = collected.saved {
            terminal::note(&format!("saved {count} {OBJECTS} {}; {LEFT_OUT}", file.display()));
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
        tell_unread(&collected.unmeasured(), "audit");
        let seen = collected.gaps().is_empty();
        Ok(self.gaps.settle(if seen { Exit::Done } else { Exit::Incomplete }))
    }

    /// Writes each cluster to a file of its own.
    async fn several(
        &self,
        inputs: &[ClusterInput],
        connection: &ConnectionArgs,
        settings: &Settings,
    ) -> Result<Exit, Failure> {
        let folder = &self.file;
        std::fs::create_dir_all(folder).map_err(|error| {
            let context = format!("failed to create {}", folder.display());
            Failure::error(anyhow::Error::new(error).context(context))
        })?;
        let usage = self.usage.of_clusters(inputs, &self.dump)?;
        let save = async |input: &ClusterInput| {
            let path = folder.join(file_name(input, inputs).await?);
            let (from, _) = input.source(connection, None)?;
            let saving = Saving { path: &path, name: Some(input.name().to_string()) };
            let usage = usage.get(input.name()).cloned();
            let collected = collect_measured(from, settings, Some(saving), usage).await?;
            Ok((path, collected.saved.unwrap_or_default(), collected.gaps()))
        };
        let (mut seen, mut saved) = (true, 0);
        for (input, outcome) in read_each(inputs, save).await? {
            let name = escape_control(input.name());
            match outcome {
                Ok((path, count, gaps)) => {
                    saved += 1;
                    seen &= gaps.is_empty();
                    terminal::note(&format!("{name}: saved {count} {OBJECTS} {}", path.display()));
                    tell_gaps(input.name(), &gaps);
                }
                Err(failure) => {
                    seen = false;
                    let why = format!("{:#}", failure.error);
                    terminal::note(&format!("not saved: {name}: {}", escape_control(&why)));
                }
            }
        }
        terminal::note(&format!("{}: {LEFT_OUT}", counted(saved, "dump")));
        Ok(self.gaps.settle(if seen { Exit::Done } else { Exit::Incomplete }))
    }
}

const OBJECTS: &str = "objects and answers to";
const LEFT_OUT: &str = "no Secrets, no ConfigMap except the records of kept backend volumes and of announcements, and of environment variables and command lines only what names or configures a provisioner, or names the cluster on its disks";

/// Returns the name of the file of a cluster: its own; of contexts whose names look the same in a file system, with the
/// beginning of its uid.
async fn file_name(input: &ClusterInput, inputs: &[ClusterInput]) -> Result<String, Failure> {
    let name = input.file_name();
    let is_its = |it: &&ClusterInput| it.file_name().eq_ignore_ascii_case(&name);
    let is_shared = inputs.iter().filter(is_its).count() > 1;
    let uid = if is_shared { input.uid().await? } else { None };
    let piece = uid.and_then(|it| it.split('-').next().map(|piece| format!("-{piece}")));
    Ok(format!("{name}{}.json.gz", piece.unwrap_or_default()))
}

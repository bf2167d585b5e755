//! Flags about what is read and how it is judged, which `audit` and `explain` share.

use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCandidates;

use super::{
    Failure,
    args::{ConnectionArgs, MinimumAge, RecordArgs, ThresholdSetting, threshold_candidates},
    collect::{ClusterSource, Collected},
    completion,
};
use crate::{
    dump::Input,
    facts::quoted,
    model::{Kind, Settings, Text, Threshold, Time, parse_time},
    output::wire::Source,
};

/// A saved dump, and what it does not say of itself.
#[derive(Debug, Args)]
pub struct DumpSourceArgs {
    /// Read a saved dump of whole lists (without -l or --field-selector) instead of a cluster: a file, a folder or - for stdin; can be repeated
    #[arg(short, long = "filename", value_name = "DUMP", value_hint = clap::ValueHint::AnyPath)]
    filename: Vec<PathBuf>,
    /// Set the time at which the dump was taken, if the dump lacks it
    #[arg(long, value_name = "TIME", requires = "filename")]
    taken_at: Option<String>,
    /// Assert that the dump holds all objects of these kinds, or `all`
    #[arg(long, value_name = "KIND", value_delimiter = ',', requires = "filename",
          add = ArgValueCandidates::new(completion::resources))]
    complete: Vec<String>,
}

impl DumpSourceArgs {
    /// Returns the dumps that were named.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.filename
    }

    /// Whether no flag says anything about the dump: then it reads the same when it is only named.
    pub(super) fn is_plain(&self) -> bool {
        self.taken_at.is_none() && self.complete.is_empty()
    }

    /// Returns the flags that say something about the dump, as they can be typed.
    pub(super) fn said(&self) -> String {
        let taken_at = self.taken_at.iter().map(|it| format!(" --taken-at {}", quoted(it)));
        let complete = self.complete.iter().map(|it| format!(" --complete {}", quoted(it)));
        taken_at.chain(complete).collect()
    }

    /// Returns the source to read: the dump that was named, else the cluster.
    pub(super) fn from<'a>(
        &self,
        connection: &'a ConnectionArgs,
        namespace: Option<&'a str>,
    ) -> Result<(ClusterSource<'a>, Source), Failure> {
        if self.filename.is_empty() {
            return Ok((ClusterSource::Live { connection, namespace }, Source::Live));
        }
        let dumps = dumps(connection, &self.filename, self.taken_at.as_deref(), &self.complete)?;
        Ok((dumps, Source::Dump))
    }
}

/// What judgements are made with.
#[derive(Debug, Args)]
pub struct JudgementArgs {
    /// Report volumes that have been Released for at least this long [default: 7d]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    older_than: Option<MinimumAge>,
    /// Change a threshold, such as stuck=2h; can be repeated
    #[arg(long, value_name = "NAME=DURATION", add = threshold_candidates())]
    threshold: Vec<ThresholdSetting>,
    /// Assert that a driver is permanently removed; ignored if a Lease, pod, workload or action of it contradicts; can be repeated
    #[arg(long, value_name = "DRIVER")]
    driver_absent: Vec<String>,
    #[command(flatten)]
    record: RecordArgs,
}

impl JudgementArgs {
    /// Whether no flag changes how findings are judged.
    pub(super) fn is_plain(&self) -> bool {
        let Self { older_than, threshold, driver_absent, record: _ } = self;
        older_than.is_none() && threshold.is_empty() && driver_absent.is_empty()
    }

    /// Puts the flags into the settings.
    pub(super) fn take_into(&self, settings: &mut Settings) {
        if let Some(MinimumAge(age)) = self.older_than {
            settings.thresholds.set(Threshold::OlderThan, age);
        }
        ThresholdSetting::take_all(&self.threshold, settings);
        self.record.take_into(settings);
        settings.absent_drivers = self.driver_absent.iter().map(|it| Text::from(&**it)).collect();
    }
}

/// Notes each asserted driver that no object references: a typing error would be ignored in silence.
pub(super) fn note_unknown_drivers(collected: &mut Collected, settings: &Settings) {
    let known = collected.intake.cluster.drivers();
    for driver in settings.absent_drivers.iter().filter(|driver| !known.contains(*driver)) {
        collected.notes.push(format!("--driver-absent {driver}: no object references that driver"));
    }
}

/// Returns the source of dumps; the connection is that of printed commands.
pub(super) fn dumps<'a>(
    connection: &'a ConnectionArgs,
    files: &[PathBuf],
    taken_at: Option<&str>,
    complete: &[String],
) -> Result<ClusterSource<'a>, Failure> {
    let taken_at = taken_at.map(time).transpose()?;
    let complete = complete.iter().map(|name| kind(name)).collect::<Result<Vec<_>, _>>()?;
    Ok(ClusterSource::Dumps {
        connection,
        inputs: files.iter().map(Input::parse).collect(),
        complete: complete.into_iter().flatten().collect(),
        taken_at,
    })
}

fn time(text: &str) -> Result<Time, Failure> {
    parse_time(text).ok().flatten().ok_or_else(|| {
        Failure::usage(format!("{text:?} is not a time such as 2026-01-31T12:00:00Z"))
    })
}

fn kind(name: &str) -> Result<Vec<Kind>, Failure> {
    if name == "all" {
        return Ok(Kind::ALL.to_vec());
    }
    Kind::parse_resource(name)
        .map(|kind| vec![kind])
        .ok_or_else(|| Failure::usage(format!("{name:?} is not a kind that an audit reads")))
}

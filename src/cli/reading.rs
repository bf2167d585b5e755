//! Flags about what is read and how it is judged, which `audit` and `explain` share.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use clap::Args;
use clap_complete::ArgValueCandidates;

use super::{
    Failure,
    args::{ConnectionArgs, FindingThreshold, MinimumAge, RecordArgs},
    collect::{ClusterSource, Collected},
    completion,
};
use crate::{
    dump::Input,
    facts::quoted,
    listings::NamedFile,
    model::{Kind, Settings, Text, Threshold, Time, escape_control, parse_time},
    output::wire::Source,
};

/// A saved dump, and what it does not say of itself.
#[derive(Debug, Args)]
pub struct DumpSourceArgs {
    /// Read a saved dump of whole lists (without -l or --field-selector), not a cluster: a file, a folder or -; NAME=DUMP for one of several
    #[arg(short, long = "filename", value_name = "DUMP", value_hint = clap::ValueHint::AnyPath, group = "dumps")]
    filename: Vec<PathBuf>,
    /// Set when the dump was taken, if it lacks that; NAME:TIME of several
    #[arg(long, value_name = "TIME", requires = "dumps")]
    taken_at: Vec<String>,
    /// Assert that it holds all of these kinds, or `all`; or NAME:KINDS
    #[arg(long, value_name = "KINDS", requires = "dumps",
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
        self.taken_at.is_empty() && self.complete.is_empty()
    }

    /// Returns when the dump was taken, if that is said of the only one.
    ///
    /// # Errors
    /// When it is no time.
    pub(super) fn time_said(&self) -> Result<Option<Time>, Failure> {
        match &self.taken_at[..] {
            [said] => time(said).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the flags that say something about the dump, as they can be typed.
    pub(super) fn said(&self) -> String {
        let taken_at = self.taken_at.iter().map(|it| format!(" --taken-at {}", quoted(it)));
        let complete = self.complete.iter().map(|it| format!(" --complete {}", quoted(it)));
        taken_at.chain(complete).collect()
    }

    /// These files, of which nothing else was said.
    pub(super) fn plain(filename: Vec<PathBuf>) -> Self {
        Self { filename, taken_at: Vec::new(), complete: Vec::new() }
    }

    /// Holds that what was said of single clusters was said of these.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub(super) fn belongs_to(&self, names: &BTreeSet<Text>) -> Result<(), Failure> {
        let kinds = self.complete.iter().map(|it| ("--complete", it));
        let times = self.taken_at.iter().map(|it| ("--taken-at", it));
        for (flag, said) in kinds.chain(times) {
            let (of, rest) = of_cluster(said, names);
            let unknown = rest.split_once(':').filter(|_| of.is_none() && time(rest).is_err());
            if let Some((name, _)) = unknown {
                let told = format!("{flag} {said}: no cluster is called {name}");
                let known: Vec<_> = names.iter().map(|it| &**it).collect();
                return Err(
                    Failure::usage(told).hint(Some(format!("there are {}", known.join(", "))))
                );
            }
        }
        Ok(())
    }

    /// What was said of the files of a cluster: what names it wins over what is said of all.
    pub(super) fn of_cluster(
        &self,
        name: &str,
        names: &BTreeSet<Text>,
        filename: Vec<PathBuf>,
    ) -> Self {
        let times = self.taken_at.iter().map(|it| of_cluster(it, names));
        let said = |wanted: Option<&str>| -> Vec<String> {
            times.clone().filter(|it| it.0 == wanted).map(|it| it.1.to_owned()).collect()
        };
        let own = said(Some(name));
        let taken_at = if own.is_empty() { said(None) } else { own };
        let mut complete = Vec::new();
        for said in &self.complete {
            // Kinds are of the last cluster that was named before them.
            let mut of = None;
            for part in said.split(',') {
                let (cluster, kind) = of_cluster(part, names);
                of = cluster.or(of);
                if of.is_none_or(|it| it == name) {
                    complete.push(kind.to_owned());
                }
            }
        }
        Self { filename, taken_at, complete }
    }

    /// Returns the source to read: the dump that was named, else a cluster that is about to be changed.
    pub(super) fn or_watched<'a>(
        &self,
        connection: &'a ConnectionArgs,
        namespace: Option<&'a str>,
    ) -> Result<ClusterSource<'a>, Failure> {
        match self.filename.is_empty() {
            true => Ok(ClusterSource::Watched { connection, namespace }),
            false => Ok(self.from(connection, namespace)?.0),
        }
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
        let taken_at = match &self.taken_at[..] {
            [] => None,
            [one] => Some(&**one),
            _ => return Err(Failure::usage("--taken-at is given twice for one cluster")),
        };
        let complete = self.complete.iter().flat_map(|it| it.split(','));
        let complete: Vec<_> = complete.map(str::to_owned).collect();
        let dumps = dumps(connection, &self.filename, taken_at, &complete)?;
        Ok((dumps, Source::Dump))
    }
}

/// Holds that standard input is named once, among files that are read beside these dumps.
///
/// # Errors
/// When it is named twice.
pub(super) fn standard_input_once(files: &[NamedFile], dumps: &[PathBuf]) -> Result<(), Failure> {
    let is_stdin = |it: &PathBuf| {
        let it = it.to_string_lossy();
        it == "-" || it.ends_with("=-")
    };
    let of_stdin = files.iter().filter(|it| it.path().is_none()).count();
    match of_stdin > 1 || (of_stdin > 0 && dumps.iter().any(is_stdin)) {
        true => Err(Failure::usage("standard input is one file: name - once")),
        false => Ok(()),
    }
}

/// What judgements are made with.
#[derive(Debug, Args)]
pub struct JudgementArgs {
    /// Report volumes that have been Released for at least this long [default: 7d]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    older_than: Option<MinimumAge>,
    /// Change a threshold, such as stuck=2h or nearly-full=10%; can be repeated
    #[arg(long, value_name = "NAME=DURATION", add = ArgValueCandidates::new(completion::finding_thresholds))]
    threshold: Vec<FindingThreshold>,
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
        FindingThreshold::take_all(&self.threshold, settings);
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
    files.iter().try_for_each(|it| is_of_the_one_cluster("-f", &it.to_string_lossy()))?;
    let taken_at = taken_at.map(time).transpose()?;
    let complete = complete.iter().map(|name| kind(name)).collect::<Result<Vec<_>, _>>()?;
    Ok(ClusterSource::Dumps {
        connection,
        inputs: files.iter().map(Input::parse).collect(),
        complete: complete.into_iter().flatten().collect(),
        taken_at,
    })
}

/// The cluster of which something is said, as `NAME:`, and that. Names of contexts have colons themselves.
fn of_cluster<'a>(said: &'a str, names: &'a BTreeSet<Text>) -> (Option<&'a str>, &'a str) {
    let of = |name: &'a Text| Some((&**name, said.strip_prefix(&**name)?.strip_prefix(':')?));
    let longest = names.iter().filter_map(of).max_by_key(|(name, _)| name.len());
    longest.map_or((None, said), |(name, rest)| (Some(name), rest))
}

/// Whether a text can be the name that the user gives a cluster.
pub(super) fn is_cluster_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c);
    !name.is_empty() && name.chars().all(is_part)
}

/// Holds that a file is not named as that of one of several clusters, where one is read.
pub(super) fn is_of_the_one_cluster(flag: &str, typed: &str) -> Result<(), Failure> {
    match typed.split_once('=').filter(|it| is_cluster_name(it.0)) {
        Some((name, file)) if !Path::new(typed).exists() => {
            let [typed, file] = [typed, file].map(escape_control);
            let told = format!(
                "{flag} {typed}: one cluster is read, and {name} is the name of one of several"
            );
            Err(Failure::usage(told).hint(Some(format!("pass {flag} {file}"))))
        }
        _ => Ok(()),
    }
}

/// Holds that each `NAME=FILE` has a file, and a name that is one.
pub(super) fn are_legible(files: &[PathBuf]) -> Result<(), Failure> {
    for typed in files {
        let Some((name, file)) = typed.to_str().and_then(|it| it.split_once('=')) else { continue };
        let shown = escape_control(&typed.to_string_lossy()).into_owned();
        let why = match is_cluster_name(name) {
            true if file.is_empty() => "no file is named",
            false if !typed.exists() && Path::new(file).exists() => {
                "a name of a cluster has only a-z, 0-9, . and -"
            }
            _ => continue,
        };
        return Err(Failure::usage(format!("{shown}: {why}")));
    }
    Ok(())
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

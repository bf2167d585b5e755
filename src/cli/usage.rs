//! `--usage`: from where it is known how full volumes are.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;

use super::{
    Exit, Failure,
    clusters::ClusterInput,
    collect::{UsageSources, unmeasured},
    reading::{DumpSourceArgs, is_of_the_one_cluster, standard_input_once},
    terminal,
};
use crate::{
    listings::NamedFile,
    model::{Text, escape_control, program},
    usage,
};

/// How to get figures.
pub(super) const PRINTED: &str =
    "kubectl storage explain usage prints the commands whose answers are read";
/// The word that stands for the kubelets of the cluster.
const KUBELET: &str = "kubelet";

/// From where it is known how full volumes are.
#[derive(Debug, Default, Args)]
pub(super) struct UsageArgs {
    /// Read how full volumes are from a FILE (see `explain usage`), - or `kubelet`, which asks those of the
    /// cluster; NAME=FILE of several
    #[arg(long, value_name = "SOURCE", value_hint = clap::ValueHint::FilePath)]
    usage: Vec<String>,
}

impl UsageArgs {
    /// Whether anything was asked for.
    pub(super) fn is_asked_for(&self) -> bool {
        !self.usage.is_empty()
    }

    /// Returns the sources of `df`, which asks the kubelets of a cluster unless the user knows better.
    pub(super) fn or_kubelets(&self, is_live: bool) -> Self {
        let of_cluster = is_live.then(|| KUBELET.to_owned());
        let usage =
            if self.is_asked_for() { self.usage.clone() } else { of_cluster.into_iter().collect() };
        Self { usage }
    }

    /// Returns the files that are read.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let files = self.usage.iter().filter(|it| *it != KUBELET);
        files.map(|it| it.split_once('=').map_or(&**it, |it| it.1).into()).collect()
    }

    /// Reads the files of the one cluster. One that cannot be read is a gap beside others.
    ///
    /// # Errors
    /// When none can be read, they are about several clusters, or a dump is to have kubelets.
    pub(super) fn read(&self, dump: &DumpSourceArgs) -> Result<Option<UsageSources>, Failure> {
        if !self.is_asked_for() {
            return Ok(None);
        }
        self.usage.iter().try_for_each(|it| is_of_the_one_cluster("--usage", it))?;
        self.holds_stdin_once(dump.files())?;
        let typed = self.usage.iter().map(String::as_str);
        let mut sources = read_sources(typed, !dump.files().is_empty())?;
        sources.measured_at(dump.time_said()?);
        Ok(Some(sources))
    }

    /// Reads the files of several clusters, by their names.
    ///
    /// # Errors
    /// As [`Self::read`]; also when a file is of no cluster.
    pub(super) fn of_clusters(
        &self,
        inputs: &[ClusterInput],
        dump: &DumpSourceArgs,
    ) -> Result<BTreeMap<Text, UsageSources>, Failure> {
        self.holds_stdin_once(dump.files())?;
        let mut typed: Vec<Vec<&str>> = vec![Vec::new(); inputs.len()];
        for source in &self.usage {
            if source == KUBELET {
                let of_inputs = typed.iter_mut().zip(inputs);
                of_inputs.filter(|it| it.1.is_live()).for_each(|it| it.0.push(KUBELET));
                continue;
            }
            // Names may begin with one another.
            let of = |(number, input): (usize, &ClusterInput)| {
                let file = source.strip_prefix(&**input.name())?.strip_prefix('=')?;
                Some((number, file))
            };
            let found = inputs.iter().enumerate().filter_map(of).min_by_key(|it| it.1.len());
            let Some((number, file)) = found else {
                let told = format!("--usage {}: of which cluster is it?", escape_control(source));
                let names: Vec<_> = inputs.iter().map(|it| escape_control(it.name())).collect();
                let hint = format!("write NAME=FILE; there are {}", names.join(", "));
                return Err(Failure::usage(told).hint(Some(hint)));
            };
            typed[number].push(file);
        }
        let mut read: BTreeMap<Text, UsageSources> = BTreeMap::new();
        for (input, sources) in inputs.iter().zip(typed).filter(|it| !it.1.is_empty()) {
            let name = input.name();
            let mut sources = read_sources(sources.into_iter(), !input.is_live())?;
            sources.measured_at(input.time_said()?);
            for (other, known) in &read {
                if let Some(label) = known.figures.same_cluster(&sources.figures) {
                    let [one, other] = [other, name].map(|it| escape_control(it));
                    let told = format!(
                        "--usage: the figures of {one} and of {other} are of one cluster, by {label}"
                    );
                    return Err(Failure::usage(told));
                }
            }
            read.insert(Text::clone(name), sources);
        }
        Ok(read)
    }

    fn holds_stdin_once(&self, dumps: &[PathBuf]) -> Result<(), Failure> {
        let files = self.files();
        let files: Vec<_> =
            files.iter().map(|it| NamedFile::parse(&it.to_string_lossy())).collect();
        standard_input_once(&files, dumps)
    }
}

fn read_sources<'a>(
    typed: impl Iterator<Item = &'a str>,
    of_dump: bool,
) -> Result<UsageSources, Failure> {
    let refused = |error| Failure::error(error).hint(Some(PRINTED.to_owned()));
    let mut sources = UsageSources::default();
    let (mut broken, mut is_any_read) = (Vec::new(), false);
    for source in typed {
        if source == KUBELET {
            if of_dump {
                let told = "--usage kubelet: a dump has no kubelets";
                return Err(Failure::usage(told).hint(Some(
                    "dump --usage kubelet keeps their figures in the dump".to_owned(),
                )));
            }
            sources.asks_kubelets = true;
            continue;
        }
        sources.has_files = true;
        match usage::read(&NamedFile::parse(source)) {
            Ok(file) => {
                is_any_read = true;
                let partial = |it: &String| {
                    unmeasured(format!(
                        "{} is partial, its source says: {}",
                        file.name,
                        escape_control(it)
                    ))
                };
                sources.gaps.extend(file.warnings.iter().map(partial));
                sources.figures.add(file).map_err(refused)?;
            }
            Err(error) => broken.push(error),
        }
    }
    if !is_any_read && !sources.asks_kubelets && !broken.is_empty() {
        return Err(refused(broken.swap_remove(0)));
    }
    let broken = broken.into_iter().map(|it| unmeasured(format!("{:#}", anyhow::Error::new(it))));
    sources.gaps.extend(broken);
    Ok(sources)
}

/// What `explain usage` prints, at most 80 columns wide.
const COMMANDS: &str = r#"From Prometheus, Thanos or Mimir, now; no right in the cluster is needed:
  curl -sG "$PROMETHEUS/api/v1/query" \
    --data-urlencode 'query={__name__=~"kubelet_volume_stats_.*"}' > usage.json

The last 30 days, which also tell when a volume will be full:
  curl -sG "$PROMETHEUS/api/v1/query_range" \
    --data-urlencode 'query={__name__=~"kubelet_volume_stats_.*"}' \
    --data-urlencode "start=$(($(date +%s) - 2592000))" \
    --data-urlencode "end=$(date +%s)" --data-urlencode step=1h > usage.json

If it has several clusters, choose one by its label:
  'query={__name__=~"kubelet_volume_stats_.*",cluster="NAME"}'

From the kubelet of a node; a file for each node, or one after the other in one:
  kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary > usage-NODE.json
  That needs get on nodes/proxy, with which one may also run commands in every
  pod of the node: use rights that you have, and grant them to no role for this.
"#;

/// Prints the commands whose answers `df` reads.
///
/// # Errors
/// When writing fails.
pub(super) fn explain_usage() -> Result<Exit, Failure> {
    let name = program();
    terminal::print(|out| writeln!(out, "{COMMANDS}\nThen: {name} df --usage usage.json"))
        .map_err(Failure::error)?;
    Ok(Exit::Done)
}

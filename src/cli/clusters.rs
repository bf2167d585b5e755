//! Which clusters a command reads: several in one look, or some beside the one that is changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use clap::Args;

use super::{
    Failure,
    args::ConnectionArgs,
    collect::{ClusterSource, connect},
    reading::{DumpSourceArgs, are_legible, is_cluster_name},
    terminal,
};
use crate::{
    client::{Reader, cluster_uid, context_names},
    dump,
    model::{Beside, Text, Time, counted, did_you_mean, escape_control, nearest},
    output::wire::{Gap, Source},
    sources::DumpHeader,
};

/// Most characters of a name that a dump gives a cluster.
const LONGEST_NAME: usize = 63;

/// Which clusters are read in one report.
#[derive(Debug, Args)]
pub(super) struct ClustersArgs {
    /// Read the clusters of these contexts: a,b, or quoted patterns 'prod-*'
    #[arg(long, value_name = "CONTEXT", value_delimiter = ',', conflicts_with_all = [
        "context", "server", "cluster", "user", "token", "client_certificate", "client_key",
        "certificate_authority", "insecure_skip_tls_verify", "tls_server_name",
    ])]
    contexts: Vec<String>,
    /// Read each file and each folder in this folder as the dump of a cluster
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, group = "dumps")]
    each: Vec<PathBuf>,
}

/// Which clusters are compared in one report, and which of them are several although they have one UID.
#[derive(Debug, Args)]
pub(super) struct DistinctArgs {
    #[command(flatten)]
    clusters: ClustersArgs,
    /// Assert that clusters of one UID are several: one is a clone of another
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    distinct: Vec<String>,
}

/// A cluster that was read, as it is told from others.
pub(super) trait Identified {
    /// Returns the name that the user gave it.
    fn name(&self) -> &Text;
    /// Returns its uid, if it is known.
    fn uid(&self) -> Option<&str>;
    /// Returns when it was read, as text that sorts by time.
    fn taken_at(&self) -> Option<&str>;
}

impl DistinctArgs {
    /// The clusters that were named; `None` where there is one, which needs no name.
    ///
    /// # Errors
    /// When a context or a folder does not exist, two clusters have one name, or what is said of one is said of none.
    pub(super) fn inputs(
        &self,
        source: &DumpSourceArgs,
        connection: &ConnectionArgs,
    ) -> Result<Option<Vec<ClusterInput>>, Failure> {
        let inputs = self.clusters.inputs(source, connection)?;
        self.belongs_to(inputs.as_deref())?;
        Ok(inputs)
    }

    /// Returns the folders in which each file is the dump of a cluster.
    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.clusters.each
    }

    /// Holds that the names are those of clusters that are read.
    fn belongs_to(&self, inputs: Option<&[ClusterInput]>) -> Result<(), Failure> {
        let Some(inputs) = inputs else {
            return match self.distinct.first() {
                Some(name) => {
                    Err(Failure::usage(format!("--distinct {name}: there is one cluster")))
                }
                None => Ok(()),
            };
        };
        let is_known = |name: &String| inputs.iter().any(|it| *it.name == **name);
        match self.distinct.iter().find(|name| !is_known(name)) {
            Some(name) => {
                Err(Failure::usage(format!("--distinct {name}: no cluster is called that")))
            }
            None => Ok(()),
        }
    }

    /// Holds that no two clusters are one.
    ///
    /// # Errors
    /// When two have one uid, and the user does not say that one was cloned.
    pub(super) fn holds<'a>(
        &self,
        clusters: impl IntoIterator<Item = &'a (impl Identified + 'a)>,
    ) -> Result<(), Failure> {
        let mut by_uid = BTreeMap::new();
        for cluster in clusters {
            let Some(uid) = cluster.uid() else { continue };
            let Some(first) = by_uid.insert(uid, cluster) else { continue };
            if self.says([first.name(), cluster.name()]) {
                continue;
            }
            let newer = match (first.taken_at(), cluster.taken_at()) {
                (Some(one), Some(other)) if one != other => {
                    let newer = if one > other { first } else { cluster };
                    format!("; the newer one is {}", escape_control(newer.name()))
                }
                _ => String::new(),
            };
            let [first, second] = [first, cluster].map(|it| escape_control(it.name()));
            let told = format!(
                "{first} and {second} are one cluster (uid {}){newer}",
                escape_control(uid)
            );
            return Err(Failure::usage(told).hint(Some(pass_one(&first, &second))));
        }
        Ok(())
    }

    /// Whether the user says that these clusters are several.
    pub(super) fn says(&self, names: [&str; 2]) -> bool {
        names.iter().all(|name| self.distinct.iter().any(|it| it == name))
    }
}

/// What to do where two inputs are one cluster.
pub(super) fn pass_one(first: &str, second: &str) -> String {
    format!("pass one of them; or --distinct {first},{second}, if one was cloned from the other")
}

/// One of several clusters that are to be read.
#[derive(Debug)]
pub(super) struct ClusterInput {
    /// What the report calls it.
    name: Text,
    place: ClusterPlace,
}

impl ClusterInput {
    /// Returns what the report calls it.
    pub(super) fn name(&self) -> &Text {
        &self.name
    }

    /// Returns its connection; `None` of a dump.
    pub(super) fn connection(&self) -> Option<&ConnectionArgs> {
        match &self.place {
            ClusterPlace::Context(connection) => Some(connection),
            ClusterPlace::Dump(_) => None,
        }
    }

    /// Whether it is read over the network.
    pub(super) fn is_live(&self) -> bool {
        self.connection().is_some()
    }

    /// Returns its name as that of a file.
    pub(super) fn file_name(&self) -> String {
        legible(&self.name)
    }

    /// Returns its uid, which is asked for; `None` of a dump.
    ///
    /// # Errors
    /// When the cluster does not answer, or does not tell.
    pub(super) async fn uid(&self) -> Result<Option<String>, Failure> {
        let Some(connection) = self.connection() else { return Ok(None) };
        let reader = Reader::new(&connect(connection, None).await?);
        let uid = cluster_uid(&reader).await.map_err(Failure::error)?;
        let unknown = || {
            anyhow::anyhow!(
                "you may not read namespace kube-system, whose uid tells clusters apart"
            )
        };
        uid.map(Some).ok_or_else(|| Failure::error(unknown()))
    }

    /// Returns the dumps that are read.
    pub(super) fn files(&self) -> &[PathBuf] {
        match &self.place {
            ClusterPlace::Dump(dump) => dump.files(),
            ClusterPlace::Context(_) => &[],
        }
    }

    /// Returns when its dump was taken, if that was said.
    ///
    /// # Errors
    /// When it is no time.
    pub(super) fn time_said(&self) -> Result<Option<Time>, Failure> {
        match &self.place {
            ClusterPlace::Dump(dump) => dump.time_said(),
            ClusterPlace::Context(_) => Ok(None),
        }
    }

    /// Returns what is read of it; of dumps, `connection` is that of printed commands.
    pub(super) fn source<'a>(
        &'a self,
        connection: &'a ConnectionArgs,
        namespace: Option<&'a str>,
    ) -> Result<(ClusterSource<'a>, Source), Failure> {
        match &self.place {
            ClusterPlace::Context(connection) => {
                DumpSourceArgs::plain(Vec::new()).from(connection, namespace)
            }
            ClusterPlace::Dump(dump) => dump.from(connection, namespace),
        }
    }
}

#[derive(Debug)]
enum ClusterPlace {
    Context(Box<ConnectionArgs>),
    Dump(Box<DumpSourceArgs>),
}

/// The name in `NAME=FILE`, and the file.
fn named(typed: &Path) -> Option<(&str, &str)> {
    let (name, file) = typed.to_str()?.split_once('=')?;
    is_cluster_name(name).then_some((name, file))
}

/// The name of a file or a folder without the endings of a dump, as that of a cluster.
fn base_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let ending = |name: &str| {
        name.rsplit_once('.').filter(|it| ENDINGS.contains(&it.1)).map(|it| it.0.to_owned())
    };
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    legible(&ending(plain).unwrap_or_else(|| plain.to_owned()))
}

/// A name with `-` in place of all characters but letters, digits, `.` and `-`.
fn legible(name: &str) -> String {
    let plain =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || ".-".contains(c) { c } else { '-' });
    let plain: String = plain.take(LONGEST_NAME).collect();
    // It would be hidden.
    match plain.strip_prefix('.') {
        Some(rest) => format!("-{rest}"),
        None => plain,
    }
}

/// The name that the header of a dump gives its cluster; of any other file or folder, its own name.
fn name_of_dump(path: &Path) -> String {
    let header = dump::header::<DumpHeader>(path);
    let name = header.and_then(|it| it.metadata.cluster.name).map(|it| legible(&it));
    name.filter(|it| !it.is_empty()).unwrap_or_else(|| base_name(path))
}

/// Whether a name fits a pattern, in which `*` stands for any text.
fn fits(pattern: &str, name: &str) -> bool {
    let parts: Vec<_> = pattern.split('*').collect();
    let [first, middle @ .., last] = &parts[..] else { return pattern == name };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    // The first place of each is as good as any later one.
    for part in middle {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

impl ClustersArgs {
    /// The clusters that were named; `None` where there is one, which needs no name.
    ///
    /// # Errors
    /// When a context or a folder does not exist, or two clusters have one name.
    pub(super) fn inputs(
        &self,
        source: &DumpSourceArgs,
        connection: &ConnectionArgs,
    ) -> Result<Option<Vec<ClusterInput>>, Failure> {
        are_legible(source.files())?;
        let any_named = source.files().iter().any(|it| named(it).is_some());
        if self.contexts.is_empty() && self.each.is_empty() && !any_named {
            return Ok(None);
        }
        let mut inputs = Vec::new();
        for context in contexts(&self.contexts, connection)? {
            inputs.push(context_input(&context, connection));
        }
        for (name, files) in grouped(source.files()) {
            inputs.push(dump_input(name, files));
        }
        for folder in &self.each {
            inputs.extend(each(folder)?);
        }
        let names = are_named_once(&inputs)?;
        let read_stdin =
            inputs.iter().filter(|it| it.files().iter().any(|it| it.as_os_str() == "-"));
        if read_stdin.count() > 1 {
            return Err(Failure::usage("stdin is the dump of one cluster"));
        }
        source.belongs_to(&names)?;
        for input in &mut inputs {
            if let ClusterPlace::Dump(its) = &mut input.place {
                **its = source.of_cluster(&input.name, &names, its.files().to_vec());
            }
        }
        Ok(Some(inputs))
    }
}

/// The clusters that `--beside` names, without the context of the one that is changed where a pattern fits it.
///
/// # Errors
/// When there is no such context, or two clusters have one name.
pub(super) fn beside(
    typed: &Beside,
    connection: &ConnectionArgs,
    own: Option<&str>,
) -> Result<Vec<ClusterInput>, Failure> {
    let (dumps, typed): (Vec<_>, Vec<_>) = typed
        .clusters
        .iter()
        .map(ToString::to_string)
        .partition(|it| named(Path::new(it)).is_some());
    let names_own = typed.iter().any(|it| Some(&**it) == own);
    let contexts = contexts(&typed, connection)?.into_iter();
    let others = contexts.filter(|it| names_own || Some(&**it) != own);
    let mut inputs: Vec<_> = others.map(|it| context_input(&it, connection)).collect();
    let dumps: Vec<PathBuf> = dumps.into_iter().map(PathBuf::from).collect();
    inputs.extend(grouped(&dumps).into_iter().map(|(name, files)| dump_input(name, files)));
    are_named_once(&inputs)?;
    Ok(inputs)
}

/// Holds that no two clusters have one name, and returns the names.
fn are_named_once(inputs: &[ClusterInput]) -> Result<BTreeSet<Text>, Failure> {
    let mut names = BTreeSet::new();
    match inputs.iter().find(|it| !names.insert(Text::clone(&it.name))) {
        None => Ok(names),
        Some(twice) => {
            let told = format!("two clusters are called {}", escape_control(&twice.name));
            Err(Failure::usage(told).hint(Some("name them: -f NAME=FILE")))
        }
    }
}

/// The contexts of the kubeconfig that were named, each once.
fn contexts(typed: &[String], connection: &ConnectionArgs) -> Result<Vec<String>, Failure> {
    if typed.is_empty() {
        return Ok(Vec::new());
    }
    let known = context_names(&connection.options(None)).map_err(Failure::error)?;
    let mut contexts: Vec<String> = Vec::new();
    for typed in typed {
        if !typed.contains('*') {
            if contexts.contains(typed) {
                return Err(Failure::usage(format!("context {typed} is named twice")));
            }
            if !known.contains(typed) {
                let hint = did_you_mean(&nearest(typed, known.clone()));
                return Err(Failure::usage(format!("no context is called {typed}")).hint(hint));
            }
            contexts.push(typed.clone());
            continue;
        }
        let mut fitting = known.iter().filter(|it| fits(typed, it)).peekable();
        if fitting.peek().is_none() {
            return Err(Failure::usage(format!("no context fits {typed:?}")));
        }
        for context in fitting {
            if !contexts.contains(context) {
                contexts.push(context.clone());
            }
        }
    }
    Ok(contexts)
}

/// Files by the name of their cluster; those without a name are one cluster.
fn grouped(files: &[PathBuf]) -> Vec<(String, Vec<PathBuf>)> {
    let mut groups: Vec<(String, Vec<PathBuf>)> = Vec::new();
    let plain: Vec<PathBuf> = files.iter().filter(|it| named(it).is_none()).cloned().collect();
    if let Some(first) = plain.first() {
        groups.push((base_name(first), plain.clone()));
    }
    let unnamed = groups.len();
    for (name, file) in files.iter().filter_map(|it| named(it)) {
        match groups[unnamed..].iter_mut().find(|it| it.0 == name) {
            Some(group) => group.1.push(file.into()),
            None => groups.push((name.to_owned(), vec![file.into()])),
        }
    }
    groups
}

fn context_input(context: &str, connection: &ConnectionArgs) -> ClusterInput {
    let connection = Box::new(connection.in_context(context));
    let name = Text::from(&*escape_control(context));
    ClusterInput { name, place: ClusterPlace::Context(connection) }
}

fn dump_input(name: String, files: Vec<PathBuf>) -> ClusterInput {
    let dump = Box::new(DumpSourceArgs::plain(files));
    ClusterInput { name: name.into(), place: ClusterPlace::Dump(dump) }
}

/// Endings of files that can be dumps.
const ENDINGS: [&str; 8] = ["gz", "json", "jsonl", "ndjson", "tar", "tgz", "yaml", "yml"];

/// Each file and each folder in a folder, as one cluster. Hidden ones, and files that cannot be dumps, are left out.
fn each(folder: &Path) -> Result<Vec<ClusterInput>, Failure> {
    let shown = folder.display();
    let unread = |error: std::io::Error| {
        Failure::error(anyhow::Error::new(error).context(format!("failed to read {shown}")))
    };
    let paths = dump::entries(folder).map_err(unread)?.into_iter().map(|it| it.0);
    let is_dump = |path: &PathBuf| {
        let ending = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
        path.is_dir() || ending.is_some_and(|it| ENDINGS.contains(&&*it))
    };
    let (paths, others): (Vec<_>, Vec<_>) = paths.partition(is_dump);
    let is_special =
        |path: &PathBuf| std::fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir());
    let (special, paths): (Vec<_>, Vec<_>) = paths.into_iter().partition(is_special);
    let of_another_name = format!("a dump ends in {}", ENDINGS.join(", "));
    let left_out = others.iter().map(|it| (it, &*of_another_name));
    for (path, why) in left_out.chain(special.iter().map(|it| (it, "it is not a file"))) {
        let told = format!("note: {} is not read: {why}", path.display());
        terminal::note(&escape_control(&told));
    }
    if paths.is_empty() {
        return Err(Failure::usage(format!("{shown} holds no dump")));
    }
    let mut names = BTreeSet::new();
    let inputs = paths.into_iter().map(|path| {
        let name = name_of_dump(&path);
        // Of one name there may be several, as of prod_eu and prod-eu.
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut free = std::iter::once(name.clone()).chain(numbered);
        let name = free.find(|it| names.insert(it.clone())).unwrap_or(name);
        dump_input(name, vec![path])
    });
    Ok(inputs.collect())
}

/// Tells what was not read of one of several clusters: all of it with -v.
pub(super) fn tell_gaps(name: &str, gaps: &[Gap]) {
    let Some(first) = gaps.first() else { return };
    if terminal::is_verbose() {
        for gap in gaps {
            terminal::note(&format!("not read: {}", escape_control(&gap.told())));
        }
    }
    let more = match gaps.len() - 1 {
        0 => String::new(),
        more => format!(" and {}", counted(more, "more gap")),
    };
    let (name, told) = (escape_control(name), escape_control(&first.reason));
    terminal::note(&format!("Incomplete: {name}: {}: {told}{more}", first.resource));
}

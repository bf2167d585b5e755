//! An audit of several clusters: which ones, what is kept of each, and what they name in common.

mod counting;
mod telling;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use clap::Args;
use counting::{counts, limited_between};
use futures::{StreamExt as _, stream};
use telling::{ClustersProgress, absent_namespaces};

use super::{Reported, SelectionArgs, checks};
use crate::{
    cli::{
        Exit, Failure,
        args::ConnectionArgs,
        collect::{Collected, collect, kinds, notes},
        reading::{DumpSourceArgs, is_cluster_name},
        terminal,
    },
    client::context_names,
    cluster::{ReferencesOfClusters, StorageReference},
    dump,
    model::{
        Kind, RuleId, Settings, Severity, Text, Time, counted, did_you_mean, escape_control,
        nearest,
    },
    output::{
        publish::{self, ReportOrigin},
        repeated::RepeatedFlags,
        wire::{Finding, Gap, NamedFinding, ReportMetadata, ReportTail, ReportedCluster, Source},
    },
    rules::{
        self, SharedBetweenClusters, Totals, UnreadGap, shared_between_clusters, storage_references,
    },
    watch::report::report_metrics,
};

/// How many clusters are read at once over the network.
const AT_ONCE: usize = 8;
/// Most characters of a name that a dump gives a cluster.
const LONGEST_NAME: usize = 63;

/// Which clusters are read in one report.
#[derive(Debug, Args)]
pub(in crate::cli) struct ClustersArgs {
    /// Read the clusters of these contexts in one report: names, and quoted patterns such as 'prod-*'
    #[arg(long, value_name = "CONTEXT", value_delimiter = ',', conflicts_with_all = [
        "watch", "context", "server", "cluster", "user", "token", "client_certificate", "client_key",
        "certificate_authority", "insecure_skip_tls_verify", "tls_server_name",
    ])]
    contexts: Vec<String>,
    /// Read each file and each folder in this folder as the dump of one cluster
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, conflicts_with = "watch", group = "dumps")]
    each: Vec<PathBuf>,
    /// Assert that these clusters are several although they have one UID: one was cloned from the other
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    distinct: Vec<String>,
}

/// One of several clusters that are to be read.
#[derive(Debug)]
pub(in crate::cli) struct ClusterInput {
    /// What the report calls it.
    name: Text,
    place: ClusterPlace,
}

impl ClusterInput {
    /// Returns the dumps that are read.
    pub(super) fn files(&self) -> &[PathBuf] {
        match &self.place {
            ClusterPlace::Dump(dump) => dump.files(),
            ClusterPlace::Context(_) => &[],
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

/// The name of a file or a folder without the ending of a dump, as that of a cluster.
fn base_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let endings = [".json", ".yaml", ".yml"];
    let name = endings.iter().find_map(|it| name.strip_suffix(it)).unwrap_or(name);
    let legible =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || ".-".contains(c) { c } else { '-' });
    legible.take(LONGEST_NAME).collect()
}

/// Whether a name fits a pattern, in which `*` stands for any text.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices()
                .map(|it| it.0)
                .chain([rest.len()])
                .any(|at| fits(after, &rest[at..]))
        }),
    }
}

impl ClustersArgs {
    /// The clusters that were named; `None` where there is one, which needs no name.
    ///
    /// # Errors
    /// When a context or a folder does not exist, or two clusters have one name.
    pub(in crate::cli) fn inputs(
        &self,
        source: &DumpSourceArgs,
        connection: &ConnectionArgs,
    ) -> Result<Option<Vec<ClusterInput>>, Failure> {
        let any_named = source.files().iter().any(|it| named(it).is_some());
        if self.contexts.is_empty() && self.each.is_empty() && !any_named {
            if let Some(name) = self.distinct.first() {
                return Err(Failure::usage(format!("--distinct {name}: there is one cluster")));
            }
            return Ok(None);
        }
        let mut inputs = Vec::new();
        for context in self.contexts(connection)? {
            let connection = Box::new(connection.in_context(&context));
            inputs.push(ClusterInput {
                name: (&*escape_control(&context)).into(),
                place: ClusterPlace::Context(connection),
            });
        }
        for (name, files) in grouped(source.files()) {
            inputs.push(dump_input(name, files));
        }
        for folder in &self.each {
            inputs.extend(each(folder)?);
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = inputs.iter().find(|it| !names.insert(Text::clone(&it.name))) {
            let told = format!("two clusters are called {}", escape_control(&twice.name));
            let hint = "name them: -f NAME=FILE".to_owned();
            return Err(Failure::usage(told).hint(Some(hint)));
        }
        source.belongs_to(&names)?;
        for input in &mut inputs {
            if let ClusterPlace::Dump(its) = &mut input.place {
                **its = source.of_cluster(&input.name, its.files().to_vec());
            }
        }
        if let Some(name) = self.distinct.iter().find(|it| !names.contains(&***it)) {
            return Err(Failure::usage(format!("--distinct {name}: no cluster is called that")));
        }
        Ok(Some(inputs))
    }

    /// The contexts that were named, each once.
    fn contexts(&self, connection: &ConnectionArgs) -> Result<Vec<String>, Failure> {
        if self.contexts.is_empty() {
            return Ok(Vec::new());
        }
        let known = context_names(&connection.options(None)).map_err(Failure::error)?;
        let mut contexts: Vec<String> = Vec::new();
        for typed in &self.contexts {
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

    /// Holds that no two inputs are one cluster.
    fn are_distinct(&self, clusters: &[JudgedCluster]) -> Result<(), Failure> {
        let mut by_uid: BTreeMap<&str, &JudgedCluster> = BTreeMap::new();
        for cluster in clusters {
            let Some(uid) = &cluster.metadata.cluster.uid else { continue };
            let Some(first) = by_uid.insert(uid, cluster) else { continue };
            let is_distinct =
                |it: &JudgedCluster| self.distinct.iter().any(|name| **name == *it.name);
            if is_distinct(first) && is_distinct(cluster) {
                continue;
            }
            let newer = match first.metadata.taken_at >= cluster.metadata.taken_at {
                true => first,
                false => cluster,
            };
            let names = format!("{},{}", first.name, cluster.name);
            let told = format!(
                "{} and {} are one cluster (uid {uid}); the newer one is {}",
                first.name, cluster.name, newer.name
            );
            let hint = format!(
                "pass one of them; or --distinct {names}, if one was cloned from the other"
            );
            return Err(Failure::usage(told).hint(Some(hint)));
        }
        Ok(())
    }
}

/// Files by the name of their cluster; those without a name are one cluster.
fn grouped(files: &[PathBuf]) -> Vec<(String, Vec<PathBuf>)> {
    let mut groups: Vec<(String, Vec<PathBuf>)> = Vec::new();
    let plain: Vec<PathBuf> = files.iter().filter(|it| named(it).is_none()).cloned().collect();
    if let Some(first) = plain.first() {
        groups.push((base_name(first), plain.clone()));
    }
    for (name, file) in files.iter().filter_map(|it| named(it)) {
        match groups.iter_mut().find(|it| it.0 == name) {
            Some(group) => group.1.push(file.into()),
            None => groups.push((name.to_owned(), vec![file.into()])),
        }
    }
    groups
}

fn dump_input(name: String, files: Vec<PathBuf>) -> ClusterInput {
    let dump = Box::new(DumpSourceArgs::plain(files));
    ClusterInput { name: name.into(), place: ClusterPlace::Dump(dump) }
}

/// Each file and each folder in a folder, as one cluster. Hidden ones are left out.
fn each(folder: &Path) -> Result<Vec<ClusterInput>, Failure> {
    let shown = folder.display();
    let unread = |error: std::io::Error| {
        Failure::error(anyhow::Error::new(error).context(format!("failed to read {shown}")))
    };
    let paths = dump::entries(folder).map_err(unread)?;
    if paths.is_empty() {
        return Err(Failure::usage(format!("{shown} holds no dump")));
    }
    Ok(paths.into_iter().map(|(path, _)| dump_input(base_name(&path), vec![path])).collect())
}

/// What is kept of one of several clusters.
struct JudgedCluster {
    name: Text,
    metadata: ReportMetadata,
    totals: Totals,
    exempted: Vec<NamedFinding>,
    findings: Vec<Finding>,
    gaps: Vec<Gap>,
    limited: BTreeSet<RuleId>,
    /// The kinds that were not all read.
    unread: BTreeSet<Kind>,
    clock: Option<Time>,
    /// The given namespaces that it lacks, each with those that may be meant.
    absent: Vec<(String, Vec<String>)>,
    notes: Vec<String>,
    references: Vec<StorageReference>,
}

impl JudgedCluster {
    /// Reads and judges a cluster.
    async fn read(
        input: &ClusterInput,
        connection: &ConnectionArgs,
        selection: &SelectionArgs,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let (from, source) = match &input.place {
            ClusterPlace::Context(connection) => {
                DumpSourceArgs::plain(Vec::new()).from(connection, selection.namespace())?
            }
            ClusterPlace::Dump(dump) => dump.from(connection, selection.namespace())?,
        };
        let mut collected = collect(from, settings, None).await?;
        let absent = selection.absent_namespaces(&mut collected, settings).await?;
        Ok(Self { absent, ..Self::of(&input.name, &collected, settings, source) })
    }

    fn of(name: &Text, collected: &Collected, settings: &Settings, source: Source) -> Self {
        let cluster = &collected.intake.cluster;
        let origin = ReportOrigin { source, journal: None };
        let exempted = collected.assessor.exempted(cluster, settings);
        let named = |mut it: Finding| {
            it.cluster = Some(name.to_string());
            it
        };
        let findings = collected.assessor.findings(cluster, settings);
        let gaps = publish::tail(&collected.blind).gaps.into_iter().zip(&collected.blind);
        let gap = |(mut gap, unread): (Gap, &UnreadGap)| {
            gap.cluster = Some(name.to_string());
            gap.ids.extend(limited_between(unread).map(str::to_owned));
            gap
        };
        let mut exempted = publish::scope(&settings.scope, &exempted).exempted;
        exempted.iter_mut().for_each(|it| it.cluster = Some(name.to_string()));
        Self {
            name: Text::clone(name),
            metadata: publish::metadata(cluster, settings, origin),
            totals: collected.assessor.totals(cluster, settings),
            exempted,
            findings: findings.map(|it| named(collected.public(it))).collect(),
            gaps: gaps.map(gap).collect(),
            limited: limited(collected),
            unread: collected.blind.iter().map(|it| it.gap.kind).collect(),
            clock: cluster.clock(),
            absent: Vec::new(),
            notes: notes(collected),
            references: storage_references(&collected.assessor, cluster, settings),
        }
    }

    /// A cluster that could not be read.
    fn unread(input: &ClusterInput, settings: &Settings, failure: &Failure) -> Self {
        let source = match input.place {
            ClusterPlace::Context(_) => Source::Live,
            ClusterPlace::Dump(_) => Source::Dump,
        };
        let gap = Gap {
            cluster: Some(input.name.to_string()),
            resource: Gap::ALL_KINDS.to_owned(),
            namespace: None,
            reason: format!("{:#}", failure.error),
            ids: rules::all().map(|it| it.id.to_owned()).collect(),
        };
        let origin = ReportOrigin { source, journal: None };
        Self {
            name: Text::clone(&input.name),
            metadata: publish::metadata(&crate::cluster::Cluster::default(), settings, origin),
            totals: Totals::default(),
            exempted: Vec::new(),
            findings: Vec::new(),
            gaps: vec![gap],
            limited: rules::all().map(|it| it.id).collect(),
            unread: kinds().into_iter().collect(),
            clock: None,
            absent: Vec::new(),
            notes: Vec::new(),
            references: Vec::new(),
        }
    }

    fn listed(&self) -> ReportedCluster {
        ReportedCluster {
            name: self.name.to_string(),
            identity: self.metadata.cluster.clone(),
            taken_at: self.metadata.taken_at.clone(),
            source: self.metadata.source,
            volumes: self.totals.in_scope.0,
            claims: self.totals.in_scope.1,
            findings: self.findings.len(),
            by_severity: counts(&self.totals.by_severity, |it| it.name()),
            by_id: counts(&self.totals.by_rule, |it| it),
            gaps: self.gaps.len(),
        }
    }
}

/// The checks that what was not seen of a cluster limits.
fn limited(collected: &Collected) -> BTreeSet<RuleId> {
    let blind = collected.blind.iter();
    blind.flat_map(|it| it.rules.iter().copied().chain(limited_between(it))).collect()
}

/// Several clusters, judged.
pub(super) struct JudgedClusters {
    clusters: Vec<JudgedCluster>,
    listed: Vec<ReportedCluster>,
    findings: Vec<Finding>,
    totals: Totals,
    /// Notes about several of them.
    notes: Vec<String>,
}

impl JudgedClusters {
    /// Reads and judges all of them: those behind a network at once, dumps on as many threads as there are cores.
    ///
    /// # Errors
    /// When none can be read, or two of them are one.
    pub(super) async fn read(
        args: &ClustersArgs,
        inputs: &[ClusterInput],
        connection: &ConnectionArgs,
        selection: &SelectionArgs,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let is_live = |it: &&ClusterInput| matches!(it.place, ClusterPlace::Context(_));
        let progress = RefCell::new(ClustersProgress::of(inputs.iter().filter(is_live).count()));
        let live = inputs.iter().filter(is_live).map(async |input| {
            progress.borrow_mut().begin(&input.name);
            let judged = JudgedCluster::read(input, connection, selection, settings).await;
            progress.borrow_mut().end(&input.name);
            (input, judged)
        });
        let mut judged: Vec<_> = stream::iter(live).buffered(AT_ONCE).collect().await;
        drop(progress);
        let dumps: Vec<_> = inputs.iter().filter(|it| !is_live(it)).collect();
        judged.extend(read_dumps(&dumps, connection, selection, settings));
        let mut clusters = Vec::new();
        let (mut first, mut unread) = (None, 0);
        for (input, judged) in judged {
            match judged {
                Ok(cluster) => clusters.push(cluster),
                // What was typed is wrong for all of them.
                Err(failure) if failure.exit == Exit::Usage => return Err(failure),
                Err(failure) => {
                    clusters.push(JudgedCluster::unread(input, settings, &failure));
                    first.get_or_insert(failure);
                    unread += 1;
                }
            }
        }
        if let Some(failure) = first.filter(|_| unread == clusters.len()) {
            return Err(failure);
        }
        let place = |it: &JudgedCluster| inputs.iter().position(|input| input.name == it.name);
        clusters.sort_by_key(place);
        args.are_distinct(&clusters)?;
        let notes = absent_namespaces(&clusters)?;
        Ok(Self { notes, ..Self::compare(clusters) })
    }

    /// Adds up what was found, and adds what they name in common.
    fn compare(mut clusters: Vec<JudgedCluster>) -> Self {
        let names: Vec<Text> = clusters.iter().map(|it| Text::clone(&it.name)).collect();
        let references = clusters.iter_mut().map(|it| std::mem::take(&mut it.references)).collect();
        let references = ReferencesOfClusters::new(references);
        for shared in shared_between_clusters(&references, &names) {
            let cluster = &mut clusters[shared.cluster];
            if shared.is_exempt {
                let SharedBetweenClusters { finding, .. } = shared;
                let named = publish::named_finding(finding.rule, &finding.object);
                let named = NamedFinding { cluster: Some(cluster.name.to_string()), ..named };
                cluster.exempted.push(named);
                cluster.totals.exempted += 1;
                continue;
            }
            cluster.totals.count(&shared.finding, shared.at_risk);
            let mut finding = publish::finding(shared.finding, None);
            finding.cluster = Some(cluster.name.to_string());
            for (object, of) in finding.related.iter_mut().zip(&shared.related) {
                object.cluster = Some(names[*of].to_string());
            }
            cluster.findings.push(finding);
        }
        let mut totals = Totals::default();
        for cluster in &clusters {
            totals.absorb(&cluster.name, &cluster.totals);
        }
        let listed = clusters.iter().map(JudgedCluster::listed).collect();
        let findings = clusters.iter_mut().flat_map(|it| std::mem::take(&mut it.findings));
        let mut findings: Vec<_> = findings.collect();
        let rank = |it: &Finding| (Severity::parse(&it.severity), it.id.clone());
        findings.sort_by_cached_key(rank);
        Self { clusters, listed, findings, totals, notes: Vec::new() }
    }

    /// What a report about them says.
    pub(super) fn reported<'a>(
        &'a self,
        settings: &'a Settings,
        repeated: &'a RepeatedFlags,
    ) -> Reported<'a> {
        let clusters = &self.clusters;
        let limited: BTreeSet<RuleId> =
            clusters.iter().flat_map(|it| it.limited.iter().copied()).collect();
        let is_complete = clusters.iter().all(|it| it.gaps.is_empty());
        let checks = checks(rules::all(), &limited, is_complete, settings);
        let is_live = clusters.iter().any(|it| it.metadata.source == Source::Live);
        let taken_at = clusters.iter().filter_map(|it| it.metadata.taken_at.clone()).min();
        let source = if is_live { Source::Live } else { Source::Dump };
        let origin = ReportOrigin { source, journal: None };
        let empty = crate::cluster::Cluster::default();
        let metadata = ReportMetadata {
            taken_at,
            clusters: self.listed.clone(),
            ..publish::metadata(&empty, settings, origin)
        };
        let mut scope = publish::scope(&settings.scope, &[]);
        scope.exempted = clusters.iter().flat_map(|it| it.exempted.iter().cloned()).collect();
        Reported {
            totals: self.totals.clone(),
            scope,
            tail: ReportTail {
                gaps: clusters.iter().flat_map(|it| it.gaps.iter().cloned()).collect(),
            },
            metadata,
            checks,
            findings: Box::new(|| Box::new(self.findings.iter().cloned())),
            metrics: Box::new(|_| {
                report_metrics(clusters.iter().map(JudgedCluster::measured).collect())
            }),
            repeated,
            tell: Box::new(|| self.tell()),
        }
    }

    /// Tells on stderr what was read, and what was not.
    fn tell(&self) {
        for note in &self.notes {
            terminal::note(&format!("note: {}", escape_control(note)));
        }
        for cluster in &self.clusters {
            for note in &cluster.notes {
                let (name, note) = (escape_control(&cluster.name), escape_control(note));
                terminal::note(&format!("note: {name}: {note}"));
            }
        }
        for cluster in self.clusters.iter().filter(|it| !it.gaps.is_empty()) {
            let name = escape_control(&cluster.name);
            if terminal::is_verbose() {
                for gap in &cluster.gaps {
                    terminal::note(&format!("not read: {}", escape_control(&gap.told())));
                }
            }
            let first = &cluster.gaps[0];
            let more = match cluster.gaps.len() - 1 {
                0 => String::new(),
                more => format!(" and {}", counted(more, "more gap")),
            };
            let told = escape_control(&first.reason).into_owned();
            terminal::note(&format!("Incomplete: {name}: {}: {told}{more}", first.resource));
        }
    }
}

/// Reads and judges dumps, one after the other on each core.
fn read_dumps<'a>(
    dumps: &[&'a ClusterInput],
    connection: &ConnectionArgs,
    selection: &SelectionArgs,
    settings: &Settings,
) -> Vec<(&'a ClusterInput, Result<JudgedCluster, Failure>)> {
    let next = AtomicUsize::new(0);
    let judged = Mutex::new(Vec::with_capacity(dumps.len()));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        while let Some(input) = dumps.get(next.fetch_add(1, Ordering::Relaxed)) {
            let read = match &runtime {
                Ok(runtime) => {
                    runtime.block_on(JudgedCluster::read(input, connection, selection, settings))
                }
                Err(error) => {
                    Err(Failure::error(anyhow::anyhow!("no thread can be started: {error}")))
                }
            };
            judged.lock().unwrap_or_else(PoisonError::into_inner).push((*input, read));
        }
    };
    thread::scope(|scope| {
        for _ in 0..cores.min(dumps.len()) {
            scope.spawn(work);
        }
    });
    judged.into_inner().unwrap_or_else(PoisonError::into_inner)
}

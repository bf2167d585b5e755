//! An audit of several clusters: what is kept of each, and what they name in common.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use super::{
    packed::{PackedFindings, Rank, in_order},
    reported::{Reported, checks, unmeasured_or_unjudged},
};
use crate::{
    cli::{
        Failure,
        args::ConnectionArgs,
        clusters::{ClusterInput, DistinctArgs, Identified, pass_one, tell_gaps},
        collect::{Collected, UsageSources, collect_measured, kinds, notes, unmeasured},
        parallel::{on_all_cores, read_each},
        terminal,
    },
    cluster::{Cluster, CommonKeys, PackedReferences, ReferencesOfClusters},
    facts::DisksOfCluster,
    model::{
        Bytes, InventorySystem, Kind, RuleId, Settings, Text, Time, Volume, did_you_mean,
        escape_control, first_of,
    },
    output::{
        publish::{self, Elsewhere, ReportOrigin},
        repeated::RepeatedFlags,
        wire::{Finding, Gap, NamedFinding, ReportMetadata, ReportTail, ReportedCluster, Source},
    },
    rules::{
        BETWEEN_CLUSTERS, NamedElsewhere, ReportContents, Rule, SharedBetweenClusters, Totals,
        USAGE, UnreadGap, disks_of_cluster, of_report, shared_between_clusters, storage_references,
    },
    watch::report::{MeasuredCluster, report_metrics},
};

/// What a report about several clusters has at least.
const BETWEEN: ReportContents = ReportContents { clusters: true, inventory: false, usage: false };

/// What is kept of one of several clusters.
struct JudgedCluster<T> {
    name: Text,
    /// What else the command takes from it; none of a cluster that was not read.
    taken: Option<T>,
    metadata: ReportMetadata,
    totals: Totals,
    exempted: Vec<NamedFinding>,
    findings: PackedFindings,
    gaps: Vec<Gap>,
    limited: BTreeSet<RuleId>,
    /// The kinds that were not all read.
    unread: BTreeSet<Kind>,
    clock: Option<Time>,
    notes: Vec<String>,
    references: PackedReferences,
    elsewhere: Elsewhere,
    /// What it names of the disks of providers, if that is compared.
    disks: Option<DisksOfCluster>,
}

impl<T> JudgedCluster<T> {
    /// Reads and judges a cluster.
    async fn read(
        input: &ClusterInput,
        settings: &Settings,
        ClustersLook { connection, namespace, take, keeps_disks, usage, .. }: &ClustersLook<
            '_,
            impl TakeFromCluster<T>,
        >,
    ) -> Result<Self, Failure> {
        let mut settings = settings.clone();
        let (from, source) = input.source(connection, *namespace)?;
        let of_cluster = usage.get(input.name()).cloned();
        let mut collected = collect_measured(from, &settings, None, of_cluster).await?;
        if !usage.is_empty() && collected.intake.cluster.figures().is_none() {
            collected
                .unmeasured
                .push(unmeasured("no figures of this cluster were given".to_owned()));
        }
        let taken = take(&mut collected, &mut settings, source).await?;
        let cluster = &collected.intake.cluster;
        let name = Some(input.name());
        let disks = || disks_of_cluster(name, &collected.assessor, cluster, &settings);
        Ok(Self {
            taken: Some(taken),
            disks: (*keeps_disks || keeps_own(cluster, &settings)).then(disks),
            ..Self::of(input.name(), &collected, &settings, source)
        })
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
        let totals = collected.assessor.totals(cluster, settings);
        let unmeasured = unmeasured_or_unjudged(collected, &totals);
        let mut limited = limited(collected);
        if !unmeasured.is_empty() {
            limited.extend(USAGE.iter().map(|it| it.id));
        }
        let unmeasured = unmeasured.into_iter().map(|mut it| {
            it.cluster = Some(name.to_string());
            it
        });
        let mut exempted = publish::scope(&settings.scope, &exempted).exempted;
        for it in &mut exempted {
            it.cluster = Some(name.to_string());
        }
        Self {
            name: Text::clone(name),
            taken: None,
            metadata: publish::metadata(cluster, settings, origin),
            totals,
            exempted,
            findings: PackedFindings::new(findings.map(|it| named(collected.public(it)))),
            gaps: gaps.map(gap).chain(unmeasured).collect(),
            limited,
            unread: collected.blind.iter().map(|it| it.gap.kind).collect(),
            clock: cluster.clock(),
            notes: notes(collected),
            references: PackedReferences::new(&storage_references(
                &collected.assessor,
                cluster,
                settings,
            )),
            elsewhere: Elsewhere::default(),
            disks: None,
        }
    }

    /// A cluster that could not be read.
    fn unread(input: &ClusterInput, settings: &Settings, failure: &Failure) -> Self {
        let source = if input.is_live() { Source::Live } else { Source::Dump };
        let gap = Gap {
            cluster: Some(input.name().to_string()),
            resource: Gap::ALL_KINDS.to_owned(),
            namespace: None,
            reason: format!("{:#}", failure.error),
            ids: of_report(BETWEEN).map(|it| it.id.to_owned()).collect(),
        };
        let origin = ReportOrigin { source, journal: None };
        Self {
            name: Text::clone(input.name()),
            taken: None,
            metadata: publish::metadata(&crate::cluster::Cluster::default(), settings, origin),
            totals: Totals::default(),
            exempted: Vec::new(),
            findings: PackedFindings::default(),
            gaps: vec![gap],
            limited: of_report(BETWEEN).map(|it| it.id).collect(),
            unread: kinds().into_iter().collect(),
            clock: None,
            notes: Vec::new(),
            references: PackedReferences::default(),
            elsewhere: Elsewhere::default(),
            disks: Some(DisksOfCluster::unread(input.name(), format!("{:#}", failure.error))),
        }
    }

    /// Adds what a comparison with the other clusters, which have these names, has found.
    fn add(
        &mut self,
        shared: Vec<SharedBetweenClusters>,
        elsewhere: Vec<NamedElsewhere>,
        names: &[Text],
        keeps: bool,
    ) {
        for it in elsewhere {
            self.elsewhere.add(it);
        }
        if !self.elsewhere.is_empty() {
            let mut withdrawn: Bytes = 0;
            self.findings.change(Elsewhere::concerns, |findings| {
                withdrawn = withdrawn.saturating_add(self.elsewhere.withdraw(findings));
            });
            self.totals.reclaimable = self.totals.reclaimable.saturating_sub(withdrawn);
        }
        if !keeps {
            self.elsewhere = Elsewhere::default();
        }
        let mut compared = Vec::new();
        for SharedBetweenClusters { finding, related, at_risk, is_exempt, .. } in shared {
            if is_exempt {
                let exempted = publish::named_finding(finding.rule, &finding.object);
                let of = Some(self.name.to_string());
                self.exempted.push(NamedFinding { cluster: of, ..exempted });
                self.totals.exempted += 1;
                continue;
            }
            self.totals.count(&finding, at_risk);
            let mut finding = publish::finding(finding, None);
            finding.cluster = Some(self.name.to_string());
            for (object, of) in finding.related.iter_mut().zip(&related) {
                object.cluster = Some(names[*of].to_string());
            }
            compared.push(finding);
        }
        self.findings.add(compared);
    }

    /// Returns the numbers of the cluster for metrics.
    fn measured(&self) -> MeasuredCluster {
        MeasuredCluster {
            name: self.name.to_string(),
            totals: self.totals.clone(),
            gaps: self.unread.clone(),
            taken_at: self.clock,
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

/// What a command takes from a cluster that was read, before it is judged for the last time.
pub(in crate::cli) trait TakeFromCluster<T>:
    AsyncFn(&mut Collected, &mut Settings, Source) -> Result<T, Failure> + Sync
{
}

impl<T, F: AsyncFn(&mut Collected, &mut Settings, Source) -> Result<T, Failure> + Sync>
    TakeFromCluster<T> for F
{
}

/// How clusters are read and judged.
pub(in crate::cli) struct ClustersLook<'a, F> {
    pub(in crate::cli) distinct: &'a DistinctArgs,
    /// The connection, of which each context is taken.
    pub(in crate::cli) connection: &'a ConnectionArgs,
    /// The namespace that is read where not all may be.
    pub(in crate::cli) namespace: Option<&'a str>,
    pub(in crate::cli) take: F,
    /// Whether it is kept what each names of the others' storage, which takes memory.
    pub(in crate::cli) keeps_elsewhere: bool,
    /// Whether it is kept what each names of the disks of providers.
    pub(in crate::cli) keeps_disks: bool,
    /// How full their volumes are, by their names.
    pub(in crate::cli) usage: BTreeMap<Text, UsageSources>,
}

/// Several clusters, judged.
pub(in crate::cli) struct JudgedClusters<T> {
    clusters: Vec<JudgedCluster<T>>,
    listed: Vec<ReportedCluster>,
    totals: Totals,
    /// Notes about several of them.
    notes: Vec<String>,
}

/// The given namespaces that a cluster lacks, each with those that may be meant.
pub(super) type AbsentNamespaces = Vec<(String, Vec<String>)>;

impl JudgedClusters<AbsentNamespaces> {
    /// Notes the given namespaces that some clusters lack.
    ///
    /// # Errors
    /// When all of them lack one.
    pub(super) fn note_absent_namespaces(&mut self) -> Result<(), Failure> {
        self.notes.extend(absent_namespaces(&self.clusters)?);
        Ok(())
    }
}

impl<T: Send> JudgedClusters<T> {
    /// Reads and judges all of them: those behind a network at once, dumps on as many threads as there are cores.
    ///
    /// # Errors
    /// When none can be read, or two of them are one.
    pub(in crate::cli) async fn read(
        inputs: &[ClusterInput],
        settings: &Settings,
        look: &ClustersLook<'_, impl TakeFromCluster<T>>,
    ) -> Result<Self, Failure> {
        let read = async |input: &'_ ClusterInput| JudgedCluster::read(input, settings, look).await;
        let judged = read_each(inputs, read).await?.into_iter();
        let clusters = judged.map(|(input, judged)| {
            judged.unwrap_or_else(|failure| JudgedCluster::unread(input, settings, &failure))
        });
        let clusters: Vec<_> = clusters.collect();
        look.distinct.holds(&clusters)?;
        Self::compare(clusters, look.distinct, look.keeps_elsewhere)
    }

    /// Adds up what was found, and adds what they name in common.
    ///
    /// # Errors
    /// When two of them are one by their volumes, of which one does not tell its uid.
    fn compare(
        mut clusters: Vec<JudgedCluster<T>>,
        distinct: &DistinctArgs,
        keeps: bool,
    ) -> Result<Self, Failure> {
        let names: Vec<Text> = clusters.iter().map(|it| Text::clone(&it.name)).collect();
        let references: Vec<_> =
            clusters.iter_mut().map(|it| std::mem::take(&mut it.references)).collect();
        let common = on_all_cores(0..CommonKeys::PARTS, |it| CommonKeys::of_part(&references, it));
        let common = CommonKeys::joined(common);
        let references = on_all_cores(references, |it| it.unpack(&common));
        let references = ReferencesOfClusters::new(references);
        let have_uid: Vec<bool> = clusters.iter().map(|it| it.uid().is_some()).collect();
        let compared = on_all_cores(clusters.iter_mut().enumerate(), |(number, cluster)| {
            let (shared, elsewhere) = shared_between_clusters(&references, number, &names);
            for it in &shared {
                let Some(twin) = it.twin else { continue };
                let [first, second] = [number, twin].map(|it| &*names[it]);
                let are_told = have_uid[number] && have_uid[twin];
                if !are_told && !distinct.says([first, second]) {
                    let [first, second] = [first, second].map(escape_control);
                    let object = escape_control(&it.finding.object.to_string()).into_owned();
                    let told = format!(
                        "{first} and {second} are one cluster: {object} has the same uid in both"
                    );
                    return Err(Failure::usage(told).hint(Some(pass_one(&first, &second))));
                }
            }
            cluster.add(shared, elsewhere, &names, keeps);
            Ok(())
        });
        compared.into_iter().collect::<Result<(), _>>()?;
        let mut totals = Totals::default();
        for cluster in &clusters {
            totals.absorb(&cluster.name, &cluster.totals);
        }
        let listed = clusters.iter().map(JudgedCluster::listed).collect();
        Ok(Self { clusters, listed, totals, notes: Vec::new() })
    }

    /// Returns what was taken of each cluster, with its description and what the comparison found about it: findings,
    /// and what other clusters name.
    pub(in crate::cli) fn into_taken(
        self,
    ) -> impl Iterator<Item = (ReportedCluster, T, Vec<Finding>, Elsewhere)> {
        self.clusters.into_iter().zip(self.listed).filter_map(move |(cluster, listed)| {
            let is_compared = |it: &&Rank| BETWEEN_CLUSTERS.iter().any(|rule| rule.id == it.1);
            let ranks = cluster.findings.ranks().filter(is_compared);
            let compared = ranks.flat_map(|it| cluster.findings.of(it)).collect();
            Some((listed, cluster.taken?, compared, cluster.elsewhere))
        })
    }

    /// Whether disks lie in one of them.
    pub(super) fn has_own_disks(&self) -> bool {
        let mut own = self.clusters.iter().filter_map(|it| it.disks.as_ref());
        own.any(|it| it.own.counts.listed > 0)
    }

    /// Returns their names.
    pub(super) fn names(&self) -> Vec<Text> {
        self.clusters.iter().map(|it| Text::clone(&it.name)).collect()
    }

    /// Takes what each names of the disks of providers.
    pub(super) fn take_disks(&mut self) -> Vec<DisksOfCluster> {
        self.clusters.iter_mut().map(|it| it.disks.take().unwrap_or_default()).collect()
    }

    /// Whether everything of all clusters was read.
    pub(in crate::cli) fn is_complete(&self) -> bool {
        self.clusters.iter().all(|it| it.gaps.is_empty())
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
        let usage = self.totals.usage.is_some();
        let contents = ReportContents { usage, ..BETWEEN };
        let checks = checks(of_report(contents), &limited, self.is_complete(), settings);
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
            findings: Box::new(|| Box::new(in_order(clusters.iter().map(|it| &it.findings)))),
            metrics: Box::new(|_| {
                report_metrics(clusters.iter().map(JudgedCluster::measured).collect())
            }),
            inventory: None,
            money: None,
            repeated,
            tell: Box::new(|| self.tell()),
        }
    }

    /// Tells on stderr what was read, and what was not.
    pub(in crate::cli) fn tell(&self) {
        for note in &self.notes {
            terminal::note(&format!("note: {}", escape_control(note)));
        }
        for cluster in &self.clusters {
            for note in &cluster.notes {
                let (name, note) = (escape_control(&cluster.name), escape_control(note));
                terminal::note(&format!("note: {name}: {note}"));
            }
        }
        for cluster in &self.clusters {
            tell_gaps(&cluster.name, &cluster.gaps);
        }
    }
}

/// Whether it is kept what a cluster names: disks lie in it, or it may name those that lie in another one.
fn keeps_own(cluster: &Cluster, settings: &Settings) -> bool {
    let names = |volume: &Volume| {
        volume.backend.as_ref().is_some_and(|it| InventorySystem::of_driver(&it.driver).is_some())
    };
    settings.reads_inventories
        && (cluster.has_inventory_disks() || cluster.volumes().any(|(_, volume)| names(volume)))
}

impl<T> Identified for JudgedCluster<T> {
    fn name(&self) -> &Text {
        &self.name
    }

    fn uid(&self) -> Option<&str> {
        self.metadata.cluster.uid.as_deref()
    }

    fn taken_at(&self) -> Option<&str> {
        self.metadata.taken_at.as_deref()
    }
}

/// Numbers of findings by a name.
fn counts<K>(counts: &BTreeMap<K, usize>, name: fn(&K) -> &str) -> BTreeMap<String, usize> {
    counts.iter().map(|(key, count)| (name(key).to_owned(), *count)).collect()
}

/// The checks that compare clusters and that a gap limits.
fn limited_between(unread: &UnreadGap) -> impl Iterator<Item = RuleId> + '_ {
    let is_lost = move |rule: &&&'static Rule| rule.needs.contains(&unread.gap.kind);
    BETWEEN_CLUSTERS.iter().filter(is_lost).map(|it| it.id)
}

/// How many clusters or namespaces are named in one line.
const NAMED: usize = 3;

/// Returns notes on the given namespaces that some clusters lack.
///
/// # Errors
/// When all of them lack one.
fn absent_namespaces(clusters: &[JudgedCluster<AbsentNamespaces>]) -> Result<Vec<String>, Failure> {
    let mut lacking: BTreeMap<&str, (Vec<&str>, BTreeSet<&String>)> = BTreeMap::new();
    for cluster in clusters {
        for (namespace, near) in cluster.taken.iter().flatten() {
            let (names, meant) = lacking.entry(namespace).or_default();
            names.push(&cluster.name);
            meant.extend(near);
        }
    }
    let note = |(namespace, (names, near)): (&str, (Vec<&str>, BTreeSet<&String>))| {
        if names.len() < clusters.len() {
            let names = first_of(&names, NAMED);
            return Ok(format!("namespace {namespace} does not exist in {names}"));
        }
        let told = format!("no namespace {namespace} in any of these clusters");
        let near: Vec<_> = near.into_iter().take(NAMED).cloned().collect();
        let error = io::Error::new(io::ErrorKind::NotFound, told);
        Err(Failure::error(error).hint(did_you_mean(&near)))
    };
    lacking.into_iter().map(note).collect()
}

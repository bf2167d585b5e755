//! Metrics: their names, types, labels and help texts, which `docs/watch-reports.md` shows; and their current numbers.

mod of_report;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::Utc;
pub(crate) use of_report::{MeasuredCluster, report_metrics};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::super::acting::{ActingCounts, ActingNumbers};
use super::super::leader::Leadership;
use super::queue::SinkCounts;
use crate::model::{Kind, RuleId, Severity, Text, Time};
use crate::rules::{StoragePool, StorageTotals, Totals, Waste};
use crate::sources::live::WatchHealth;

/// Buckets of the duration of a judgement, in seconds.
const BUCKETS: [f64; 9] = [0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0];
/// Label of all namespaces that have none of their own.
const OTHER: &str = "other";

/// Current numbers of the metrics. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Metrics(Arc<Mutex<Numbers>>);

#[derive(Debug)]
struct Numbers {
    per_namespace: Option<NonZeroUsize>,
    /// The namespaces that have a label of their own.
    labelled: BTreeSet<Text>,
    findings: BTreeMap<(RuleId, Severity, Option<Text>), usize>,
    storage: BTreeMap<StoragePool, StorageTotals>,
    gaps: BTreeSet<Kind>,
    last_judgement: Option<Time>,
    judgements: Histogram,
    judged: u64,
    full_passes: u64,
    defects: u64,
    health: Option<WatchHealth>,
    acting: Option<ActingCounts>,
    leadership: Leadership,
    sinks: Vec<(&'static str, Arc<SinkCounts>)>,
}

impl Metrics {
    /// Returns metrics of nothing yet, beside who leads and the outcomes of reports to these sinks.
    pub(super) fn new(leadership: Leadership, sinks: Vec<(&'static str, Arc<SinkCounts>)>) -> Self {
        Self(Arc::new(Mutex::new(Numbers {
            per_namespace: None,
            labelled: BTreeSet::new(),
            findings: BTreeMap::new(),
            storage: BTreeMap::new(),
            gaps: BTreeSet::new(),
            last_judgement: None,
            judgements: Histogram::new(BUCKETS),
            judged: 0,
            full_passes: 0,
            defects: 0,
            health: None,
            acting: None,
            leadership,
            sinks,
        })))
    }

    /// Sets how many namespaces have a label on findings and bytes, if any.
    pub(super) fn label_namespaces(&self, most: Option<NonZeroUsize>) {
        let mut numbers = self.numbers();
        numbers.per_namespace = most;
        numbers.label();
    }

    /// Follows the watches of a loop.
    pub(super) fn follow(&self, health: &WatchHealth) {
        self.numbers().health = Some(health.clone());
    }

    /// Follows the counters of changes and announcements.
    pub(super) fn act(&self, counts: &ActingCounts) {
        self.numbers().acting = Some(counts.clone());
    }

    /// Notes a judgement, how long it took, as far as that was measured, and the gaps.
    pub(super) fn judged(&self, took: Option<Duration>, gaps: BTreeSet<Kind>) {
        let mut numbers = self.numbers();
        if let Some(took) = took {
            numbers.judgements.observe(took.as_secs_f64());
        }
        numbers.last_judgement = Some(Utc::now());
        numbers.gaps = gaps;
    }

    /// Notes the numbers of judged objects and full passes, and adds the findings that only a full pass has changed.
    pub(super) fn worked(&self, judged: u64, full_passes: u64, defects: usize) {
        let mut numbers = self.numbers();
        numbers.judged = judged;
        numbers.full_passes = full_passes;
        numbers.defects += defects as u64;
    }

    /// Replaces the totals of findings and bytes.
    pub(super) fn total(&self, totals: Totals) {
        let mut numbers = self.numbers();
        numbers.findings = totals.by_namespace;
        numbers.storage = totals.storage;
        numbers.label();
    }

    /// Returns the exposition in the text format of `OpenMetrics`.
    pub(super) fn open_metrics(&self) -> String {
        exposition(self.clone())
    }

    /// Returns the metrics in the older text format.
    pub(super) fn text(&self) -> String {
        older_text(&self.open_metrics())
    }

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Numbers {
    /// Chooses the namespaces that have a label of their own: those with the most bytes, and then those with the most
    /// findings. One that has a label keeps it as long as there are any: a series is not moved to `other` and back.
    fn label(&mut self) {
        let Some(most) = self.per_namespace else { return self.labelled.clear() };
        let mut there: BTreeMap<&Text, (u64, usize)> = BTreeMap::new();
        for (pool, totals) in &self.storage {
            if let Some(namespace) = &pool.namespace {
                let (bytes, _) = there.entry(namespace).or_default();
                *bytes = bytes.saturating_add(totals.sum());
            }
        }
        for ((_, _, namespace), count) in &self.findings {
            if let Some(namespace) = namespace {
                there.entry(namespace).or_default().1 += count;
            }
        }
        let mut there: Vec<_> = there.into_iter().collect();
        there.sort_by_key(|(it, size)| (!self.labelled.contains(*it), Reverse(*size)));
        self.labelled = there.into_iter().take(most.get()).map(|(it, _)| Text::clone(it)).collect();
    }

    /// Returns the label of a namespace.
    fn label_of<'a>(&self, namespace: Option<&'a Text>) -> &'a str {
        match (namespace, self.per_namespace) {
            (None, _) | (_, None) => "",
            (Some(name), _) if self.labelled.contains(name) => name,
            _ => OTHER,
        }
    }

    /// Returns the numbers of findings by id, severity and the label of their namespace.
    fn labelled_findings(&self) -> BTreeMap<(RuleId, Severity, &str), usize> {
        let mut labelled = BTreeMap::new();
        for ((rule, severity, namespace), count) in &self.findings {
            let label = self.label_of(namespace.as_ref());
            *labelled.entry((*rule, *severity, label)).or_default() += count;
        }
        labelled
    }

    /// Returns bytes by class, driver and the label of their namespace.
    fn labelled_bytes(&self, waste: Waste) -> BTreeMap<[&str; 3], u64> {
        let mut labelled: BTreeMap<[&str; 3], u64> = BTreeMap::new();
        for (pool, totals) in self.storage.iter().filter(|(_, it)| it.of(waste) > 0) {
            let class = pool.class.as_deref().unwrap_or_default();
            let driver = pool.driver.as_deref().unwrap_or_default();
            let label = self.label_of(pool.namespace.as_ref());
            let sum = labelled.entry([class, driver, label]).or_default();
            *sum = sum.saturating_add(totals.of(waste));
        }
        labelled
    }

    /// Returns since when the volume is Released that has been for longest, by class.
    fn oldest_released(&self) -> BTreeMap<&str, Time> {
        let mut oldest: BTreeMap<&str, Time> = BTreeMap::new();
        for (pool, totals) in &self.storage {
            if let Some(since) = totals.oldest_released {
                let known =
                    oldest.entry(pool.class.as_deref().unwrap_or_default()).or_insert(since);
                *known = since.min(*known);
            }
        }
        oldest
    }

    fn encode(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        encode_report(encoder, &[("", self)])?;
        let now = Utc::now();
        let silences = self.health.as_ref().map(WatchHealth::silences).unwrap_or_default();
        let heard = silences
            .iter()
            .map(|(kind, silence)| (vec![kind.plural()], seconds(now) - silence.as_secs_f64()));
        gauges(encoder, &VIEW, heard)?;
        let restarts = self.health.as_ref().map(WatchHealth::restarts).unwrap_or_default();
        let restarts = restarts.iter().map(|(kind, count)| (vec![kind.plural()], *count));
        counters(encoder, &WATCH_RESTARTS, restarts)?;
        let last = self.last_judgement.map(|it| (vec![], seconds(it)));
        gauges(encoder, &LAST_JUDGEMENT, last)?;
        self.judgements.encode(describe(encoder, &JUDGEMENTS)?)?;
        counters(encoder, &JUDGED, [(vec![], self.judged)])?;
        counters(encoder, &FULL_PASSES, [(vec![], self.full_passes)])?;
        counters(encoder, &DEFECTS, [(vec![], self.defects)])?;
        // Asked now: a loop that is stuck would not tell that it leads no more.
        let leads = f64::from(u8::from(self.leadership.leads()));
        let lease = self.leadership.lease();
        let leads = lease.map(|it| (vec![&*it.namespace, &*it.name], leads));
        gauges(encoder, &LEADER, leads)?;
        let reports = self.sinks.iter().flat_map(|(sink, counts)| {
            counts.by_outcome().map(|(outcome, count)| (vec![*sink, outcome], count))
        });
        counters(encoder, &REPORTS, reports)?;
        self.acting.as_ref().map_or(Ok(()), |it| encode_acting(encoder, &it.now()))
    }
}

/// Encodes the metrics of one report: the numbers of each cluster, with its label, which is empty where there is one.
fn encode_report(encoder: &mut DescriptorEncoder, clusters: &[(&str, &Numbers)]) -> fmt::Result {
    let version = env!("CARGO_PKG_VERSION");
    gauges(encoder, &BUILD_INFO, [(vec![version], 1.0)])?;
    let mut findings = Vec::new();
    for &(cluster, numbers) in clusters {
        let its = numbers.labelled_findings().into_iter();
        findings.extend(its.map(|((rule, severity, namespace), count)| {
            (vec![rule, severity.name(), namespace, cluster], number(count as u64))
        }));
    }
    gauges(encoder, &FINDINGS, findings)?;
    for waste in Waste::ALL {
        let family = match waste {
            Waste::Leaking => &LEAKING,
            Waste::Released => &RELEASED,
            Waste::Unused => &UNUSED,
        };
        let mut samples = Vec::new();
        for &(cluster, numbers) in clusters {
            let its = numbers.labelled_bytes(waste).into_iter();
            samples.extend(its.map(|([class, driver, namespace], bytes)| {
                (vec![class, driver, namespace, cluster], number(bytes))
            }));
        }
        gauges(encoder, family, samples)?;
    }
    let mut oldest = Vec::new();
    let mut gaps = Vec::new();
    for &(cluster, numbers) in clusters {
        let its = numbers.oldest_released().into_iter();
        oldest.extend(its.map(|(class, since)| (vec![class, cluster], seconds(since))));
        gaps.extend(numbers.gaps.iter().map(|kind| (vec![kind.resource(), cluster], 1.0)));
    }
    gauges(encoder, &OLDEST_RELEASED, oldest)?;
    gauges(encoder, &GAP, gaps)
}

/// Encodes the counters of changes and announcements.
fn encode_acting(encoder: &mut DescriptorEncoder, acting: &ActingNumbers) -> fmt::Result {
    let changes = acting.changes.iter();
    let changes =
        changes.map(|((reconciler, outcome), count)| (vec![*reconciler, *outcome], *count));
    counters(encoder, &CHANGES, changes)?;
    let last = acting.last_change.map(|it| (vec![], seconds(it)));
    gauges(encoder, &LAST_CHANGE, last)?;
    let known = acting.announcements;
    gauges(encoder, &ANNOUNCED, known.map(|it| (vec![], number(it.announced))))?;
    gauges(encoder, &DUE, known.map(|it| (vec![], number(it.due))))?;
    gauges(encoder, &VETOED, known.map(|it| (vec![], number(it.vetoed))))?;
    let flag = |it: Option<bool>| it.map(|it| (vec![], f64::from(u8::from(it))));
    gauges(encoder, &PAUSED, flag(acting.paused))?;
    gauges(encoder, &BREAKER_OPEN, flag(acting.breaker_open))
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        self.numbers().encode(&mut encoder)
    }
}

/// Returns the metrics of a collector, in the text format of `OpenMetrics`.
fn exposition(collector: impl Collector + 'static) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(collector));
    let mut text = String::new();
    text::encode(&mut text, &registry).expect("because writing to a string does not fail");
    text
}

#[expect(clippy::cast_precision_loss, reason = "a metric is a float")]
fn number(count: u64) -> f64 {
    count as f64
}

/// Returns a time as seconds since 1970.
#[expect(clippy::cast_precision_loss, reason = "a metric is a float")]
fn seconds(time: Time) -> f64 {
    time.timestamp_millis() as f64 / 1000.0
}

fn describe<'a>(
    encoder: &'a mut DescriptorEncoder,
    family: &'static MetricFamily,
) -> Result<MetricEncoder<'a>, fmt::Error> {
    encoder.encode_descriptor(family.name, family.help, None, family.kind)
}

fn gauges<'a>(
    encoder: &mut DescriptorEncoder,
    family: &'static MetricFamily,
    samples: impl IntoIterator<Item = (Vec<&'a str>, f64)>,
) -> fmt::Result {
    encode_all(encoder, family, samples.into_iter().map(|(it, value)| (it, ConstGauge::new(value))))
}

fn counters<'a>(
    encoder: &mut DescriptorEncoder,
    family: &'static MetricFamily,
    samples: impl IntoIterator<Item = (Vec<&'a str>, u64)>,
) -> fmt::Result {
    let samples = samples.into_iter().map(|(it, count)| (it, ConstCounter::new(count)));
    encode_all(encoder, family, samples)
}

/// The label of the cluster, which the samples of a report about several have beside those of their family.
const CLUSTER: &str = "cluster";

/// Encodes the samples of a family: the values of its labels, maybe the cluster after these, and the number. What has no
/// samples is not described, and an empty label is none.
fn encode_all<'a, T: EncodeMetric>(
    encoder: &mut DescriptorEncoder,
    family: &'static MetricFamily,
    samples: impl IntoIterator<Item = (Vec<&'a str>, T)>,
) -> fmt::Result {
    let mut samples = samples.into_iter().peekable();
    if samples.peek().is_none() {
        return Ok(());
    }
    let mut encoder = describe(encoder, family)?;
    for (values, sample) in samples {
        let labels = family.labels.iter().copied().chain([CLUSTER]).zip(values);
        let labels: Vec<(&str, &str)> = labels.filter(|(_, value)| !value.is_empty()).collect();
        if family.labels.is_empty() && labels.is_empty() {
            return sample.encode(encoder);
        }
        sample.encode(encoder.encode_family(&labels)?)?;
    }
    Ok(())
}

/// Family of the samples with one name.
#[derive(Debug)]
pub(super) struct MetricFamily {
    /// Name of the family, of a counter without `_total`.
    pub(super) name: &'static str,
    /// Type of the family.
    pub(super) kind: MetricType,
    /// Names of the labels.
    pub(super) labels: &'static [&'static str],
    /// Help text.
    pub(super) help: &'static str,
}

macro_rules! families {
    ($($name:ident: $kind:ident $text:literal [$($label:literal),*] $help:literal;)+) => {
        $(pub(super) static $name: MetricFamily = MetricFamily {
            name: concat!("kubectl_storage_", $text),
            kind: MetricType::$kind,
            labels: &[$($label),*],
            help: $help,
        };)+

        /// All families, in the order of an exposition.
        pub(super) static FAMILIES: &[&MetricFamily] = &[$(&$name),+];
    };
}

families! {
    BUILD_INFO: Gauge "build_info" ["version"] "Which version this is.";
    FINDINGS: Gauge "findings" ["id", "severity", "namespace"]
        "Findings that are there, as in the summary of an audit.";
    LEAKING: Gauge "leaking_bytes" ["storageclass", "driver", "namespace"]
        "Capacity of backend volumes that are leaked or about to be.";
    RELEASED: Gauge "released_bytes" ["storageclass", "driver", "namespace"]
        "Capacity of Released volumes.";
    UNUSED: Gauge "unused_bytes" ["storageclass", "driver", "namespace"]
        "Capacity of volumes whose claims are Bound and used by nothing; not of claims that a paused StatefulSet keeps.";
    OLDEST_RELEASED: Gauge "oldest_released_timestamp_seconds" ["storageclass"]
        "Since when the volume is Released that has been for longest, where that is known.";
    GAP: Gauge "gap" ["resource"] "Whether not all of this resource could be read.";
    VIEW: Gauge "view_timestamp_seconds" ["resource"]
        "When the watch of this resource heard from the API server last.";
    WATCH_RESTARTS: Counter "watch_restarts" ["resource"]
        "How often a watch of this resource began anew, which the API server asks for now and then.";
    LAST_JUDGEMENT: Gauge "last_judgement_timestamp_seconds" []
        "When changed objects were last checked.";
    JUDGEMENTS: Histogram "judgement_duration_seconds" []
        "How long a judgement took, with the questions that it asked.";
    JUDGED: Counter "judged_subjects" [] "Objects that were checked, counted each time.";
    FULL_PASSES: Counter "full_passes" [] "How often every object was checked from scratch.";
    DEFECTS: Counter "defects" []
        "Findings that only a full pass changed, which is a defect of this program.";
    LEADER: Gauge "leader" ["lease_namespace", "lease"]
        "Whether this process sends reports, where there is an election: only the one that holds this Lease does.";
    REPORTS: Counter "reports" ["sink", "outcome"]
        "Findings that were sent to a sink, given up after errors, or left out for want of room.";
    CHANGES: Counter "watch_changes" ["reconciler", "outcome"]
        "Changes that reconcilers made or did not make, by what came of each.";
    LAST_CHANGE: Gauge "watch_last_change_timestamp_seconds" [] "When a reconciler changed something last.";
    ANNOUNCED: Gauge "watch_announced" [] "Volumes that are announced and whose grace period runs.";
    DUE: Gauge "watch_due" [] "Volumes that are announced, unchanged, and whose grace period is over.";
    VETOED: Gauge "watch_vetoed" [] "Volumes whose announcement was vetoed.";
    PAUSED: Gauge "watch_paused" [] "Whether reconcilers that could act may change nothing, because of `watch pause`.";
    BREAKER_OPEN: Gauge "watch_breaker_open" []
        "Whether nothing is announced or reclaimed: too many volumes became reclaimable within an hour, or it is uncertain what time it is, or what happened.";
}

impl MetricFamily {
    /// Returns the name of the family in the older text format, and in queries.
    pub(super) fn full_name(&self) -> String {
        match self.kind {
            MetricType::Counter => format!("{}_total", self.name),
            _ => self.name.to_owned(),
        }
    }
}

/// Converts the text of `OpenMetrics` into the older one that every Prometheus reads: counters are described by their
/// full names, and there is no end mark.
pub(super) fn older_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines().filter(|line| *line != "# EOF") {
        let described = ["# HELP ", "# TYPE "].into_iter().find_map(|mark| {
            let (name, rest) = line.strip_prefix(mark)?.split_once(' ')?;
            Some((mark, FAMILIES.iter().find(|it| it.name == name)?, rest))
        });
        let _ = match described {
            Some((mark, family, rest)) => writeln!(text, "{mark}{} {rest}", family.full_name()),
            None => writeln!(text, "{line}"),
        };
    }
    text
}
